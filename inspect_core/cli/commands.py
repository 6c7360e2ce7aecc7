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

from inspect_core.cli.console import COULD_NOT_RUN, STOPPED, say
from inspect_core.detectors.warned import FitWarning
from inspect_core.images.samples import shown
from inspect_core.runtime import atomic_write, workspace

VERBS = {
    "fit": "teach from a folder of good photos and save a recipe",
    "learn": "add good parts to a recipe, after showing which verdicts change",
    "look": "list unusual good photos before teaching",
    "inspect": "inspect photos with a recipe",
    "watch": "inspect photos as they arrive in a folder and sort them by verdict",
    "evaluate": "teach from a folder and measure how well good and defective parts are separated",
    "export": "export a recipe for the line and verify that it gives the same verdicts",
    "verify": "check the integrity of the audit log",
    "challenge": "check that the challenge parts at the line still get their expected verdicts",
    "measure": "measurement system analysis: agreement and gauge study from a table of appraisals",
    "doctor": "show versions, the device in use and what is missing",
    "synthetic": "generate the sample products",
}
KEEP_NOTHING = ("doctor", "measure", "synthetic")
"""Verbs that need no workspace."""


def main(arguments: Sequence[str] | None = None, *, loaded: Callable[[], object] = lambda: None) -> int:
    """Run one verb; the exit code. Errors that the user can fix are one line on standard error.

    loaded: called when the modules of the verb are loaded, before it does anything.
    """
    options = _parser().parse_args(arguments)
    warnings.formatwarning = lambda message, *_: f"Note: {shown(str(message))}\n"  # ty: ignore[invalid-assignment]
    warnings.simplefilter("ignore", FitWarning)
    try:
        loaded()
        if options.verb not in KEEP_NOTHING:
            workspace.require_writable()
        atomic_write.clear()
        return options.run(options)
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        say(f"loupe: {error}", sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("loupe: stopped; nothing was saved", file=sys.stderr)
        return STOPPED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


class _Verb(_Parser):
    """Imports the module of a verb when the verb is called: most need torch, which takes seconds to load."""

    def parse_known_args(self, args=None, namespace=None):
        module = import_module(f"inspect_core.cli.{self.prog.split()[-1]}")
        module.add_arguments(self)
        self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="loupe", description="Learns from good parts and shows where a new part differs.")
    verbs = parser.add_subparsers(required=True, metavar="VERB", dest="verb", parser_class=_Verb)
    for verb, description in VERBS.items():
        verbs.add_parser(verb, help=description)
    return parser
