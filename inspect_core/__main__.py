"""`python -m inspect_core`: the command line."""

import os
import sys

# Before torch is loaded: idle threads that spin take the cores from each other on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from inspect_core.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
