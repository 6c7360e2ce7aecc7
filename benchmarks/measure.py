"""How the benchmarks measure and write down: repeats, median and spread, memory, machine and versions, JSON."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from inspect_core.runtime.versions import library_versions

RESULTS = Path(__file__).parent / "results"
SAMPLES = Path(__file__).resolve().parent.parent / "sample_data"
PACED_BY = "efficientnet_lite0"
"""The network whose time for one photo on the CPU says how fast a machine is."""


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """For a benchmark that runs by itself; `name` is how its result is called unless --name says otherwise."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--name", default=name, help="of the result in benchmarks/results, or its path without .json"
    )
    return arguments


def folder_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """As `parser`, for one that measures folders of photos (`sets`) and keeps their features in a store."""
    arguments = parser(name, description)
    arguments.add_argument("sets", nargs="*", metavar="NAME=FOLDER", help="instead of the sample parts")
    arguments.add_argument("--store", type=Path, required=True, help="folder for the features")
    return arguments


def sets(folders: Sequence[str]) -> dict[str, Path]:
    """Folders of photos by name from texts NAME=FOLDER, or FOLDER for its own name; the sample parts without any."""
    split = ((Path(text).name, text) if "=" not in text else text.split("=", 1) for text in folders)
    named = {name: Path(folder) for name, folder in split}
    return named or {path.name: path for path in sorted(SAMPLES.iterdir()) if (path / "train").is_dir()}


def kept(name: str) -> dict:
    """The figures of the result that is called so, none if there is none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def figures_of_sets(options: argparse.Namespace, of_set: Callable[[Path], dict]) -> Iterator[tuple[str, dict]]:
    """Name and figures of each set of `folder_parser`, after they were added to the result."""
    results = kept(options.name).get("sets", {})
    for name, folder in sets(options.sets).items():
        results[name] = of_set(folder)
        write(options.name, {"sets": results})
        yield name, results[name]


def spread(values: Sequence[float], unit: str) -> dict[str, float]:
    """Median, least and largest of some figures, their unit in the keys, and how many they are."""
    return {
        f"median_{unit}": statistics.median(values),
        f"least_{unit}": min(values),
        f"largest_{unit}": max(values),
        "repeats": len(values),
    }


def timed(work: Callable[[], object], *, repeats: int = 9, warm_up: int = 2) -> dict[str, float]:
    """Median, least and largest milliseconds of `repeats` calls after `warm_up` unmeasured ones."""
    for _ in range(warm_up):
        work()
    watch = Stopwatch()
    for _ in range(repeats):
        watch.start()
        work()
        watch.lap("work")
    return spread(watch.took["work"], "ms")


class Stopwatch:
    """Milliseconds between marks, by name, over any number of rounds: the steps of one piece of work as it runs."""

    def __init__(self) -> None:
        self.took: dict[str, list[float]] = defaultdict(list)
        self._last = 0.0

    def start(self) -> None:
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Book the time since the last mark under `name`."""
        now = time.perf_counter()
        self.took[name].append(1000 * (now - self._last))
        self._last = time.perf_counter()


def in_own_process(arguments: Sequence[str], *, workspace: Path) -> dict:
    """What `python -m <arguments>` prints, as JSON, run in a process and a workspace of its own."""
    environment = os.environ | {"LOUPE_WORKSPACE": str(workspace)}
    done = subprocess.run([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    done.check_returncode()
    return json.loads(done.stdout)


def own_peak_mb() -> float:
    """Peak resident MB (2^20 bytes) of this process so far.

    On Linux from /proc: what getrusage tells a process on Linux begins at the peak of the one that started it.
    """
    if sys.platform == "linux":
        return status_of("VmHWM") / 1024
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def resident_mb() -> dict[str, float]:
    """Resident MB of this process now: its own pages, and pages of files it has mapped. Linux; elsewhere empty."""
    if sys.platform != "linux":
        return {}
    return {"own": status_of("RssAnon") / 1024, "files": status_of("RssFile") / 1024}


def status_of(field: str, process: int | str = "self") -> int:
    """A number that Linux tells of a process, memory in kB. Raises OSError when it has none, or the process ended."""
    path = Path(f"/proc/{process}/status")
    for line in path.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise OSError(f"{path} has no {field}; measure memory on another kernel")


def cpu_seconds(process: int) -> float:
    """Seconds of CPU that a process has used so far, in it and in the system for it. Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine() -> dict[str, object]:
    """The machine and the versions a figure belongs to, and the least that the network takes there (`PACED_BY`): a
    machine that is disturbed for a moment must not loosen the budgets.
    """
    import numpy as np  # here, as processes whose memory is measured have none of these

    from inspect_core.features.backbones import load

    backbone = load(PACED_BY, device="cpu")
    grey = np.full((1, *backbone.size, 3), 128, np.uint8)
    return {
        "network_ms": timed(lambda: backbone.tap_maps(grey), repeats=20)["least_ms"],
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()}",
        "versions": library_versions() | {"scikit-learn": version("scikit-learn")},
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The commit of the checkout, with "-dirty" where files differ from it; None outside one."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


@dataclass(frozen=True)
class Others:
    """Share of all cores that other processes use, from `since()` on: a busy machine gives figures of little worth."""

    wall: float
    busy: float
    own_busy: float

    @classmethod
    def since(cls) -> "Others":
        return cls(time.perf_counter(), _busy_seconds(), sum(os.times()[:4]))

    def fraction(self) -> float | None:
        """0 to 1; None where the system does not tell."""
        now = Others.since()
        available = (now.wall - self.wall) * (os.cpu_count() or 1)
        if not now.busy or not available:
            return None
        return min(1.0, max(0.0, (now.busy - self.busy - (now.own_busy - self.own_busy)) / available))


def write(name: str, figures: dict, *, measured_on: dict[str, object] | None = None, folder: Path = RESULTS) -> Path:
    """<folder>/<name>.json with machine and versions (those of now if none are given) beside the figures; the path."""
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": measured_on or machine(), "figures": figures}, indent=1) + "\n")
    return path


def _busy_seconds() -> float:
    """Seconds that all cores together were busy since the machine started, time taken by its host among them."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
