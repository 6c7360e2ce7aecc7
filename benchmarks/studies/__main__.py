"""Runs every study in turn, then writes docs/REPRODUCTION.md and docs/FEW_PHOTOS.md: python -m benchmarks.studies

Arguments go to each study: --quick, --data FOLDER.
"""

import argparse
import subprocess
import sys

from benchmarks.studies import reproduction


def main() -> None:
    arguments = argparse.ArgumentParser("benchmarks.studies", description=__doc__).parse_known_args()[1]
    for study in (*reproduction.STUDIES, *reproduction.NOT_DRAWN):
        subprocess.run([sys.executable, "-m", f"benchmarks.studies.{study}", *arguments], check=True)
    reproduction.write()


if __name__ == "__main__":
    main()
