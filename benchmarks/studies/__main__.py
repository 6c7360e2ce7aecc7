"""Runs every study in turn, then writes docs/REPRODUCTION.md: python -m benchmarks.studies [--quick] [--data FOLDER]

Hours; arguments go to each study.
"""

import subprocess
import sys

from benchmarks.studies import reproduction


def main() -> None:
    for section in reproduction.SECTIONS:
        subprocess.run([sys.executable, "-m", f"benchmarks.studies.{section.__name__}", *sys.argv[1:]], check=True)
    reproduction.main()


if __name__ == "__main__":
    main()
