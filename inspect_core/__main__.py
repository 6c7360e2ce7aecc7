"""`python -m inspect_core`: the command line."""

import os
import sys

# Before torch and NumPy are loaded: threads that spin, or share small products, cost more than they bring.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from inspect_core.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
