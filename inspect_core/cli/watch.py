"""`watch`: inspect photos as they arrive in a folder, and move them by verdict."""

import argparse
import re
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options
from inspect_core.cli.console import ACCEPTED, NOT_ACCEPTED, STOPPED, path_argument, print_line, print_verdict
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import BatchInspector
from inspect_core.line.camera import Camera, Trigger
from inspect_core.line.drift_watch import DriftMonitor
from inspect_core.line.inspector import Inspector
from inspect_core.line.watch import FOLDERS, GIVE_UP_SECONDS, UnprocessedPhotos, Watch, watching
from inspect_core.line.watch_session import POLL_SECONDS, WatchSession, recorded_watch, require_challenge
from inspect_core.runtime import users
from inspect_core.sharding import worker_selection
from inspect_core.spc.drift_signals import SignalAlarm
from inspect_core.verdict import ALL_VERDICTS

_NUMBER = re.compile(r"\d+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inspector_options.add_options(parser)
    inspector_options.add_strict(parser)
    inspector_options.add_trial(parser)
    parser.add_argument("folder", type=path_argument, help="input folder, including its subfolders")
    out = f"photos are moved into its folders {', '.join(FOLDERS.values())}; existing files are never replaced"
    parser.add_argument("--out", type=path_argument, required=True, help=out)
    parser.add_argument("--once", action="store_true", help="inspect the photos already there, then stop")
    source = "capture photos into the folder from a camera number, an address such as rtsp://…, or a video file"
    parser.add_argument(
        "--camera", metavar="SOURCE", help=f"{source}. Without --every or --at-rest, press Enter to take a photo"
    )
    parser.add_argument("--every", type=seconds, metavar="SECONDS", help="with --camera: seconds between photos")
    parser.add_argument("--at-rest", action="store_true", help="with --camera: take a photo when the part stops moving")


def run(options: argparse.Namespace) -> int:
    """Watch until Ctrl-C. Errors of a folder or of the log are printed and the watch continues; --once ends there."""
    processes = worker_selection.worthwhile_processes()
    options.workers = processes if processes > 1 else None  # the network as workers have it, so that bits are equal
    with watching(options.folder, options.out), _camera(options):
        inspector = inspector_options.open_inspector(options)
        with AuditLog.open() as log, ExitStack() as until_the_end:
            record = AuditRecord(log, inspector, users.local_user())
            require_challenge(record)
            judging = until_the_end.enter_context(_for_a_backlog(inspector, options))
            modes = {"strict": options.strict, "trial": options.trial}
            watch = Watch(inspector, options.folder, options.out, record, judging=judging, **modes)
            shift = WatchSession(watch, DriftMonitor(record), _tell)
            print_line(
                f"Watching {options.folder} for {inspector.product} {inspector.digest[:12]}, {inspector.engine}."
            )
            try:
                with recorded_watch(watch, record):
                    (_once if options.once else _on_and_on)(shift)
                stopped = False
            except KeyboardInterrupt:
                stopped = True
    print_line(", ".join(f"{shift.counts[outcome]} {outcome}" for outcome in ALL_VERDICTS))
    for words in dict.fromkeys(alarm.words for alarm in shift.following.alarms):
        print_line(f"Drift: {words}")
    if stopped:
        return STOPPED
    return ACCEPTED if shift.counts.total() == shift.counts["accept"] else NOT_ACCEPTED


def _for_a_backlog(inspector: Inspector, options: argparse.Namespace) -> AbstractContextManager[BatchInspector | None]:
    if options.workers is None:
        return nullcontext()
    # Imported where it is used: a PC at the line has not all that it needs.
    from inspect_core.sharding.inspection_tasks import for_a_backlog

    return for_a_backlog(inspector, options.recipe)


def seconds(text: str) -> float:
    """A number of seconds above 0, for argparse."""
    if not (value := float(text)) > 0:
        raise ValueError
    return value


@contextmanager
def _camera(options: argparse.Namespace) -> Generator[None]:
    """Photos of a camera arrive in the folder meanwhile; with --once, all of a film or one photo of a camera first."""
    if options.camera is None:
        if options.every or options.at_rest:
            raise ValueError("--every and --at-rest require --camera")
        yield
        return
    trigger = Trigger(options.every, options.at_rest)
    tell_line = partial(print_line, file=sys.stderr)
    camera = Camera(
        options.camera, options.folder, trigger, lambda words: tell_line(f"loupe: {words}"), once=options.once
    )
    taking = threading.Thread(target=camera.run, daemon=True)
    taking.start()
    if not (options.every or options.at_rest):
        threading.Thread(target=_on_enter, args=(trigger,), daemon=True).start()
    try:
        while options.once and taking.is_alive():
            time.sleep(POLL_SECONDS / 5)
        yield
    finally:
        camera.stop.set()
        taking.join(timeout=5)


def _on_enter(trigger: Trigger) -> None:
    for _ in sys.stdin:
        trigger.ask()


def _once(shift: WatchSession) -> None:
    watch = shift.watch
    until = time.monotonic() + watch.settle_seconds + GIVE_UP_SECONDS + 2 * POLL_SECONDS
    last_error = None
    while True:
        try:
            watch.poll(shift.count_photo)
            last_error = None
        except UnprocessedPhotos as error:
            last_error = error
        if not watch.waiting or time.monotonic() >= until:
            break
        time.sleep(POLL_SECONDS)
    for cause in shift.causes:
        print_line(cause)
    if watch.waiting:
        print_line(f"{watch.waiting} photos are still being written; run the command again to inspect them", sys.stderr)
    if last_error is not None:
        raise last_error


def _on_and_on(shift: WatchSession) -> None:
    last_problem = ""
    causes: set[str] = set()
    while True:
        shift.poll_folder()
        if shift.problem and shift.problem != last_problem:  # once, not at every look
            print_line(f"loupe: {shift.problem}; still watching", sys.stderr)
        last_problem = shift.problem
        for cause in shift.causes:
            if _NUMBER.sub("", cause) not in causes:  # once, however many photos it is by now
                print_line(cause)
        causes = {_NUMBER.sub("", cause) for cause in shift.causes}
        time.sleep(POLL_SECONDS)


def _tell(row: Inspection, alarms: list[SignalAlarm]) -> None:
    print_verdict(row.name, row.verdict, row.score, row.reason)
    for alarm in alarms:
        print_verdict(row.name, "drift", None, alarm.words)
