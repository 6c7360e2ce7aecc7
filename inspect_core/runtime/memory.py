"""Freed memory, handed back to the system."""

import contextlib
import ctypes
import sys


def return_memory() -> None:
    """Hand back what was freed: glibc keeps it for each thread, a decoded photo or 60 to 200 MB after a teaching."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
