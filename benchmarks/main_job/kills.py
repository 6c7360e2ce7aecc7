"""Killed at any moment, batch, watch and saving lose nothing, double nothing and misplace nothing: 200 kills of each.

Each does its work in a process of its own, which is killed at a random moment and started again, at last without a
kill. Photos are judged by an inspector that reads serial number and verdict from their bytes, so every file shows where
it belongs. The watched folder is filled meanwhile by three cameras, ten photos a second together: each renames whole
photos over the same two names in turn. What it replaces so is its own loss, and it says which. Linux only.
"""

import contextlib
import ctypes
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.main_job.setting import QUICK, SAMPLE, study, taught
from benchmarks.measure import machine, parser, write
from inspect_core.audit.log import AuditLog
from inspect_core.features.store import FeatureStore
from inspect_core.images.depth import Depth
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.journal import journal_of
from inspect_core.line.map_folder import MapFolder
from inspect_core.line.verdict_table import read_table
from inspect_core.line.watch import FOLDERS, Watch, watching
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.recorded_photos import ChallengePart
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runtime import atomic_write
from inspect_core.verdict import Limits, Verdict

PHOTOS, CAMERAS, NAMES, EVERY_S = 40, 3, 2, 0.3
STEADY_S, LOOK_S, JUDGED_S = 0.1, 0.05, 0.1
LEARNED_KILLS = 50
OTHER_DISK = Path("/dev/shm")
_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2

Work = Callable[[], object]


@dataclass
class ByBytes:
    """Judges a photo of `make` by its level, in as many seconds: an `Inspector`."""

    seconds: float = 0.002
    product: str = "tile"
    digest: str = "d" * 64
    limits: Limits = field(default_factory=lambda: Limits(100.0, 200.0))
    area: int = 2
    engine: str = "nothing"
    release: str = ""
    good_scores: np.ndarray = field(default_factory=lambda: np.arange(10.0, 90.0, 10.0))
    calibration_digests: frozenset[str] = frozenset()
    challenge_parts: tuple[ChallengePart, ...] = ()
    depth: Depth | None = None

    at_once = 1

    def prepare(self, image: np.ndarray) -> np.ndarray:
        return image

    def compute(self, photos: list[np.ndarray]) -> list[np.ndarray]:
        return photos

    def judge(self, image: np.ndarray) -> Verdict:
        time.sleep(self.seconds)
        score = float(image[-1, -1, 0])
        return Verdict(score, self.limits.decide(score)[0], np.full((4, 6), score, np.float32))


def make(path: Path, serial: int) -> None:
    """A photo whose first pixel is its serial number and whose others are its level."""
    pixels = np.full((16, 20, 3), level_of(serial), np.uint8)
    pixels[0, 0] = list(serial.to_bytes(3))
    with path.open("wb") as file:
        Image.fromarray(pixels).save(file, "PNG")


def serial_of(path: Path) -> int:
    with Image.open(path) as photo:
        return int.from_bytes(np.asarray(photo)[0, 0].tobytes())


def level_of(serial: int) -> int:
    return serial * 37 % 256


def batch(folder: Path, kills: int, *, within: float = 0.7) -> dict:
    """Counts of a batch of PHOTOS photos, with log, maps and report, begun anew whenever it has finished."""
    (folder / "photos").mkdir()
    for serial in range(PHOTOS):
        make(folder / "photos" / f"{serial:02d}.png", serial)
    photos = photos_of([folder / "photos"])
    table = folder / "v.csv"
    counts = Counter(finished=0)

    def work() -> None:
        with _log(folder) as log:
            outputs = Outputs(table, MapFolder(folder / "maps"), folder / "r.html")
            run(ByBytes(), photos, outputs, record=AuditRecord(log, ByBytes(), "benchmark"))

    def check(*, was_killed: bool) -> None:
        if was_killed and (journal_of(table).exists() or not table.exists()):
            return
        rows = read_table(table)
        table.unlink()
        names = {row.name for row in rows}
        counts.update(finished=1, lost=PHOTOS - len(names), doubled=len(rows) - len(names))
        counts["misplaced"] += sum(row.score != level_of(int(row.name[:2])) for row in rows)
        counts["maps missing"] += 2 * PHOTOS - len(list((folder / "maps").glob("*.*[yg]")))

    _killed_often(work, kills, within, check)
    facts, problems = _inspections(folder)
    counts["recorded"] = len(facts)
    counts["records too many or too few"] = abs(len(facts) - PHOTOS * counts["finished"])
    return {"kills": kills, **counts, "problems of the log": problems}


def watch(folder: Path, out: Path, kills: int, *, within: float = 0.9) -> dict:
    """Counts of a watch while three cameras write; out: the output folder."""
    (folder / "in").mkdir()

    def work(*, to_the_end: bool = False) -> None:
        atomic_write.clear()
        with _log(folder) as log, watching(folder / "in", out):
            record = AuditRecord(log, ByBytes(), "benchmark")
            watcher = Watch(ByBytes(JUDGED_S), folder / "in", out, record, settle_seconds=STEADY_S, give_up_seconds=0.0)
            while watcher.poll() or watcher.waiting or not to_the_end:
                time.sleep(LOOK_S)

    with _cameras(folder) as journals:
        for _ in range(kills):
            _killed(_begun(work), within)
    _wait(_begun(lambda: work(to_the_end=True)))
    atomic_write.clear()
    sent, replaced = ({int(word) for path in journals for word in _words(path, sign)} for sign in "+-")
    files = [path for path in out.rglob("*") if path.is_file()]
    lying = {str(path): serial_of(path) for path in files}
    times = Counter(lying.values())
    facts, problems = _inspections(folder)
    places = Counter(str(fact["path"]) for fact in facts)
    scores = {str(fact["path"]): fact["score"] for fact in facts}
    deserved = {path: FOLDERS[ByBytes().limits.decide(level_of(serial))[0]] for path, serial in lying.items()}
    return {
        "kills": kills,
        "on another disk": os.stat(folder).st_dev != os.stat(out).st_dev,
        "sent": len(sent),
        "replaced by their camera": len(replaced - times.keys()),
        "placed": len(lying),
        "lost": len(sent - replaced - times.keys()),
        "doubled": sum(number - 1 for number in times.values()),
        "misplaced": sum(path.relative_to(out).parts[0] != deserved[str(path)] for path in files),
        "placed with the record of another": sum(scores.get(path) != level_of(lying[path]) for path in lying),
        "records without a photo": len(places.keys() - lying.keys()),
        "records doubled": len(facts) - len(places),
        "left in the watched folder": sum(path.is_file() for path in (folder / "in").rglob("*")),
        "problems of the log": problems,
    }


def saving(recipe: Recipe, folder: Path, kills: int, *, within: float = 0.04) -> dict:
    """Counts of a recipe that is saved over itself: after each kill the old or the new one lies there, and no other."""
    place = folder / "r.zip"
    counts = Counter(saves=0, killed=0)
    save(recipe, place)
    while counts["killed"] < kills:
        new = replace(recipe, product=str(counts["saves"]))
        before = load(place).product
        was_killed = _killed(_begun(lambda new=new: save(new, place)), within)
        atomic_write.clear()
        counts["neither the old nor the new"] += load(place).product not in (
            (before, new.product) if was_killed else (new.product,)
        )
        counts["left over"] += len(list(folder.iterdir())) - 1
        counts.update(saves=1, killed=was_killed)
    return {"kills": kills, **counts}


def learning(recipe: Path, good: Path, folder: Path, kills: int) -> dict:
    """Counts of `extend` as a command, killed at any moment between its start and its end, over a recipe at --out."""
    place = folder / "r.zip"
    counts = Counter(finished=0, killed=0)
    old = recipe.read_bytes()
    shutil.copy(recipe, place)
    command = [sys.executable, "-m", "inspect_core", "extend", str(recipe), str(good), "--out", str(place)]

    def begun() -> int:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid

    began = time.monotonic()
    parent = load(recipe).digest
    _wait(begun())
    whole_run = time.monotonic() - began
    while counts["killed"] < kills:
        before = load(place).digest
        was_killed = _killed(begun(), whole_run)
        atomic_write.clear()
        now = load(place)
        counts["neither the old nor the new"] += now.digest != before and now.provenance.parent != parent
        counts["left over"] += len(list(folder.iterdir())) - 1
        counts["the recipe it learns from changed"] += recipe.read_bytes() != old
        counts.update(finished=not was_killed, killed=was_killed)
    return {"kills": kills, "seconds of a whole run": round(whole_run, 1), **counts}


def _killed_often(work: Work, kills: int, within: float, check: Callable[..., None]) -> None:
    """Kill `work` that often, at last let it end, and `check` what is there each time."""
    while kills:
        kills -= (was_killed := _killed(_begun(work), within))
        atomic_write.clear()
        check(was_killed=was_killed)
    _wait(_begun(work))
    check(was_killed=False)


def _killed(child: int, within: float) -> bool:
    """Kill a process at a random moment up to `within` seconds from now; False if it had ended."""
    ends = time.monotonic() + random.uniform(0, within)
    while time.monotonic() < ends:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            _wait(child)
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return _wait(child) != 0


def _begun(work: Work) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    return child


def _wait(child: int) -> int:
    """Its exit code. Raises RuntimeError when it failed by itself."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the work failed by itself, exit code {code}; its error is above")
    return code


@contextlib.contextmanager
def _cameras(folder: Path) -> Generator[list[Path]]:
    """Cameras at work until the block ends; where each tells what it sent (+) and replaced (-)."""
    stop = folder / "stop"
    journals = [folder / f"camera-{number}.txt" for number in range(CAMERAS)]
    children = [
        _begun(lambda number=number: _photograph(folder, number, journals[number], stop)) for number in range(CAMERAS)
    ]
    try:
        yield journals
    finally:
        stop.touch()
        for child in children:
            _wait(child)


def _photograph(folder: Path, camera: int, journal: Path, stop: Path) -> None:
    new = folder / f"new-{camera}.png"
    names = folder / "in" / f"camera {camera}"
    serial = camera
    names.mkdir()
    with journal.open("w", buffering=1) as file:
        while not stop.exists():
            make(new, serial)
            file.write(f"+{serial}\n")
            if _put(new, names / f"{serial // CAMERAS % NAMES}.png"):
                file.write(f"-{serial_of(new)}\n")
            serial += CAMERAS
            time.sleep(random.uniform(0, 2 * EVERY_S))


def _put(new: Path, place: Path) -> bool:
    """Rename `new` to `place`, in one step; whether it replaced a photo, which then lies at `new`."""
    libc = ctypes.CDLL(None, use_errno=True)
    while True:
        for flag, other in ((_EXCHANGE, errno.ENOENT), (_NOREPLACE, errno.EEXIST)):
            if libc.renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(place), flag) == 0:
                return flag == _EXCHANGE
            if (code := ctypes.get_errno()) != other:
                raise OSError(code, os.strerror(code), str(place))


def _words(path: Path, sign: str) -> list[str]:
    return [line[1:] for line in path.read_text().splitlines() if line.startswith(sign)]


def _log(folder: Path) -> AuditLog:
    return AuditLog.open(f"sqlite:///{folder / 'log.sqlite'}")


def _inspections(folder: Path) -> tuple[list[dict], list[str]]:
    """The facts of all inspections, and what `verify` finds wrong with the log."""
    with _log(folder) as log:
        return [entry.facts for entry in log.entries(kind="inspection")], log.verify()


def _recipe(root: Path) -> Recipe:
    return study(QUICK, taught(QUICK), 8, FeatureStore(root / "features")).fit().recipe()


def _further(folder: Path) -> Path:
    """Photos of good parts that were not learned."""
    folder.mkdir()
    for photo in sorted((SAMPLE / "train/good").iterdir())[-2:]:
        shutil.copy(photo, folder)
    return folder


def figures(kills: int) -> dict:
    with contextlib.ExitStack() as until_the_end:
        root, other = (
            Path(until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="loupe-kills-", dir=place)))
            for place in (None, OTHER_DISK)
        )
        os.environ["LOUPE_WORKSPACE"] = str(root / "workspace")
        for name in ("batch", "watch", "saving", "learning"):
            (root / name).mkdir()
        saved = root / "taught.zip"
        _wait(_begun(lambda: save(_recipe(root), saved)))  # no thread of the network may be here when others fork
        return {
            "batch": batch(root / "batch", kills),
            "watch": watch(root / "watch", other, kills),
            "saving": saving(load(saved), root / "saving", kills),
            "learning": learning(saved, _further(root / "good"), root / "learning", min(kills, LEARNED_KILLS)),
        }


def main() -> None:
    asked = parser("kills", __doc__)
    asked.add_argument("--kills", type=int, default=200, help="of each")
    options = asked.parse_args()
    measured_on = machine()
    warnings.simplefilter("ignore", UserWarning)
    write(options.name, figures(options.kills), measured_on=measured_on)


if __name__ == "__main__":
    main()
