"""The command line: the same verbs as the pages, one file per verb.

Exit codes: `inspect` gives 0 when every part was accepted, 1 when one was not, 2 when it could not run; the other
verbs give 0 or 2. Ctrl-C gives 130.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from inspect_core.cli.console import COULD_NOT_RUN, STOPPED, print_line
from inspect_core.detectors.warned import FitWarning
from inspect_core.runtime import atomic_write, workspace
from inspect_core.runtime.program_log import log_file, log_unexpected
from inspect_core.runtime.wording import escape_line, shorten

SUBCOMMANDS = {
    "app": "open the app in the browser; the same without a verb",
    "fit": "teach from a folder of good photos and save a recipe",
    "extend": "add good parts to a recipe, after showing which verdicts change",
    "screen": "list unusual good photos before teaching",
    "inspect": "inspect photos with a recipe",
    "watch": "inspect photos as they arrive in a folder and sort them by verdict",
    "station": "take parts from a controller (PLC), and answer each with a verdict",
    "serve": "inspect photos sent by HTTP",
    "evaluate": "teach from a folder and measure how well good and defective parts are separated",
    "export": "export a recipe for the line and verify that it gives the same verdicts",
    "verify": "check the integrity of the audit log",
    "challenge": "check that the challenge parts at the line still get their expected verdicts",
    "msa": "measurement system analysis: agreement and gauge study from a table of appraisals",
    "weights": "list the networks worth having, and fetch their weights",
    "doctor": "show versions, the device in use and what is missing",
    "synthetic": "generate the sample products",
}
NO_WORKSPACE = ("doctor", "msa", "synthetic", "weights")
"""Subcommands that need no workspace."""


def main(arguments: Sequence[str] | None = None, *, loaded: Callable[[], object] = lambda: None) -> int:
    """Run one verb, `app` without any; the exit code. Errors that the user can fix are one line on standard error.

    loaded: called when the modules of the verb are loaded, before it does anything.
    """
    try:
        options = _parser().parse_args((sys.argv[1:] if arguments is None else arguments) or ["app"])
    except (MemoryError, ImportError) as error:
        print_line(f"loupe: {_without_memory(error)}", sys.stderr)
        return COULD_NOT_RUN
    warnings.formatwarning = lambda message, *_: f"Note: {escape_line(str(message))}\n"  # ty: ignore[invalid-assignment]
    warnings.simplefilter("ignore", FitWarning)
    try:
        loaded()
        if options.verb not in NO_WORKSPACE:
            workspace.require_writable()
        atomic_write.clear()
        return options.run(options)
    except (ValueError, OSError, RuntimeError) as error:
        print_line(f"loupe: {shorten(str(error))}", sys.stderr)
        return COULD_NOT_RUN
    except (MemoryError, ImportError) as error:
        print_line(f"loupe: {_without_memory(error)}", sys.stderr)
        return COULD_NOT_RUN
    except Exception as error:
        known = log_unexpected(error, f"running {options.verb}")
        print_line(
            f"loupe: unexpected {type(error).__name__}: {shorten(str(error))} ({known} in {log_file()})", sys.stderr
        )
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("loupe: stopped; nothing was saved", file=sys.stderr)
        return STOPPED


def _without_memory(error: MemoryError | ImportError) -> str:
    """Why a verb could not be loaded or run: a library that does not fit into the memory fails to load."""
    reason = shorten(str(error)) or type(error).__name__
    cause = "it needs more memory than it may have, or its installation is damaged"
    return f"{cause} ({reason}); free memory, or install Loupe again"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(escape_line(message))


class _Subcommand(_Parser):
    """Imports the module of a verb when the verb is called: most need torch, which takes seconds to load."""

    def parse_known_args(self, args=None, namespace=None):
        module = import_module(f"inspect_core.cli.{self.prog.split()[-1]}")
        module.add_arguments(self)
        self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="loupe", description="Learns from good parts and shows where a new part differs.")
    verbs = parser.add_subparsers(required=True, metavar="VERB", dest="verb", parser_class=_Subcommand)
    for verb, description in SUBCOMMANDS.items():
        verbs.add_parser(verb, help=description)
    return parser
