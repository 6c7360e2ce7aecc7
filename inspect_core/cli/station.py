"""`station`: take parts from a controller, and answer each with a verdict."""

import argparse
import itertools
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from inspect_core.audit.log import AuditLog
from inspect_core.cli.console import ACCEPTED, STOPPED, path_argument, print_line, print_verdict
from inspect_core.datasets.listing import photos_in
from inspect_core.runtime import users
from inspect_core.station.line_station import Station
from inspect_core.station.parts import JudgedPart
from inspect_core.station.register_map import register_map
from inspect_core.station.serving import require_packages, serve
from inspect_core.station.settings import EXAMPLE, ModbusPort, read_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings = "YAML file of the station; --example prints one with every setting"
    parser.add_argument("settings", type=path_argument, nargs="?", metavar="CONFIG", help=settings)
    parser.add_argument("--example", action="store_true", help="print a commented example of CONFIG, and end")
    parser.add_argument("--registers", action="store_true", help="print the register map in Markdown, and end")
    simulate = (
        "a belt without a line: parts are the photos of this folder, taken in turn, and a model of a controller "
        "rejects a part when no answer comes"
    )
    parser.add_argument("--simulate", type=path_argument, metavar="PHOTOS", help=simulate)
    parser.add_argument("--parts", type=int, metavar="N", help="with --simulate: stop after N parts")
    every = "with --simulate: between two parts (default: %(default)s)"
    parser.add_argument("--every", type=float, metavar="SECONDS", default=1.0, help=every)


def run(options: argparse.Namespace) -> int:
    """Run until Ctrl-C. Settings, recipes, folders, cameras and ports are checked before the first part is taken."""
    if options.example:
        print(EXAMPLE, end="")
        return ACCEPTED
    if options.registers:
        print(register_map())
        return ACCEPTED
    if options.settings is None:
        raise ValueError("give the station's CONFIG; `loupe station --example` prints one")
    settings = read_settings(options.settings)
    if (settings.modbus or settings.opcua or settings.coupler) is None and not options.simulate:
        raise ValueError(
            f"{options.settings.name} names no modbus, opcua or coupler: no controller reaches the station"
        )
    if options.simulate:
        settings = replace(settings, modbus=settings.modbus or ModbusPort(), opcua=None, coupler=None)
    require_packages(settings)
    with AuditLog.open() as log, ExitStack() as until_the_end:
        station = Station(settings, log, users.local_user(), on_part=_tell, say=_say)
        until_the_end.callback(station.close)
        for served in serve(station, settings, log):
            until_the_end.enter_context(closing(served))
        print_line(f"Station {settings.name} is ready with recipe {settings.recipe}.")
        try:
            if options.simulate and settings.modbus is not None:
                _simulate(station, options)
            else:
                station.stopped.wait()
        except KeyboardInterrupt:
            return STOPPED
    return ACCEPTED


def _simulate(station: Station, options: argparse.Namespace) -> None:
    """Parts on a belt: a photo is copied into the first view's folder when its trigger is acknowledged."""
    from inspect_core.station.controller import Controller, ModbusLink

    paths = [path for _, path in photos_in([options.simulate])]
    if not paths:
        raise ValueError(f"there are no photos in {options.simulate}; name a folder of photos")
    belt: Iterator[Path] = itertools.cycle(paths)
    folder = Path(station.settings.views[0].folder)
    with closing(ModbusLink(station.settings.modbus or ModbusPort())) as link:

        def photograph(part: int) -> None:
            path = next(belt)
            hidden = folder / f".{part}{path.suffix}"
            shutil.copyfile(path, hidden)
            hidden.replace(folder / f"{part:06d} {path.name}")

        controller = Controller(link, in_place=photograph)
        accepted = 0
        for number in itertools.count(1) if options.parts is None else range(1, options.parts + 1):
            outcome = controller.run_part(number)
            if outcome is None:
                print_line("PLC: the station is not ready; the belt waits", sys.stderr)
            else:
                accepted += outcome.accepted
                gate = "passes" if outcome.accepted else f"is taken off the belt ({outcome.words})"
                print_line(f"PLC: part {number} {gate}, {1000 * outcome.seconds:.0f} ms; {accepted} of {number} passed")
            if station.stopped.wait(options.every):
                return


def _tell(part: JudgedPart) -> None:
    _, row = part.worst
    print_verdict(
        f"part {part.part or part.number}", part.verdict, row.score, row.reason or part.reason_code.name.lower()
    )


def _say(words: str) -> None:
    print_line(f"loupe: {words}", sys.stderr)
