"""`verify`: check that the audit log is complete and unchanged."""

import argparse
import sys

from inspect_core.audit.log import AuditLog
from inspect_core.cli.console import ACCEPTED, COULD_NOT_RUN, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    noted = "last digest recorded earlier; checks that it is still in the log"
    parser.add_argument("--noted", metavar="DIGEST", help=noted)


def run(options: argparse.Namespace) -> int:
    with AuditLog.open() as log:
        problems = log.verify(options.noted)
        for problem in problems:
            say(problem, sys.stderr)
        if problems:
            say(f"{log.name} FAILED verification. Do not change it, and find out who had access.")
            return COULD_NOT_RUN
        number, digest = log.head()
        say(f"{log.name}: {number} entries")
        say(f"last digest {digest or '(none yet)'}; record it elsewhere and pass it to verify --noted later")
    say("The log is intact.")
    return ACCEPTED
