"""`python -m inspect_core`: the command line."""

import sys

from inspect_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
