"""Returns freed memory to the system."""

import contextlib
import ctypes
import sys


def return_memory() -> None:
    """Freed memory: glibc keeps it per thread, a decoded photo or 60 to 200 MB after teaching."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
