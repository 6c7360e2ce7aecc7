"""`python -m inspect_core`: the command line."""

import os
import signal
import sys

from inspect_core.runtime.process_settings import set_up_process


def _end(*_: object) -> None:
    """While modules load: an exception would come up in the middle of one, and be shown as its fault."""
    os.write(2, b"loupe: stopped; nothing was saved\n")
    os._exit(130)  # cli.console.STOPPED, which is not loaded yet


HEEDED = signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""Not where Ctrl-C is to be ignored, as in the background of a shell."""
if HEEDED:
    signal.signal(signal.SIGINT, _end)
set_up_process()


def main() -> int:
    """Run the command line; Ctrl-C ends it with one line and 130, whenever it comes."""
    from inspect_core.cli import commands

    try:
        return commands.main(loaded=lambda: HEEDED and signal.signal(signal.SIGINT, signal.default_int_handler))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to stop


if __name__ == "__main__":
    sys.exit(main())
