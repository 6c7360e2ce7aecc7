"""`app`: open the app in the browser; also what `loupe` without a verb does."""

import argparse
import runpy
import sys

from inspect_core.cli.console import ACCEPTED, print_line, whole_argument
from inspect_core.runtime import workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    port = "port of the app on this machine (default: 8501, or the next free one)"
    parser.add_argument("--port", type=whole_argument(1, 65535), help=port)


def run(options: argparse.Namespace) -> int:
    """Serve the app until Ctrl-C."""
    print_line(f"Workspace: {workspace.root()}")
    print_line("Loupe opens in your browser. Press Ctrl-C to end it.")
    sys.stdout.flush()
    sys.argv = ["streamlit", "run", str(workspace.app_folder() / "app.py")]
    sys.argv += [] if options.port is None else ["--server.port", str(options.port)]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return ACCEPTED
