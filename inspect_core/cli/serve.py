"""`serve`: inspect photos sent by HTTP, for those without a controller."""

import argparse
from contextlib import closing

from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options
from inspect_core.cli.console import STOPPED, print_line
from inspect_core.line.audit_record import AuditRecord
from inspect_core.runtime import users
from inspect_core.station.http_inspection import HttpInspection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inspector_options.add_options(parser)
    inspector_options.add_trial(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8600, help="port to listen on (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    inspector = inspector_options.open_inspector(options)
    with AuditLog.open() as log:
        record = AuditRecord(log, inspector, users.local_user())
        with closing(HttpInspection(inspector, record, options.host, options.port, trial=options.trial)) as server:
            print_line(f"Inspecting {inspector.product} {inspector.digest[:12]} at {server.address}.")
            try:
                server.run()
            except KeyboardInterrupt:
                return STOPPED
    return 0
