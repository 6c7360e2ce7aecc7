"""Runs benchmarks: python -m benchmarks [NAME ...] [--all] [--quick]

Without names, those of the main job, whose figures stand in docs/COSTS.md beside their budgets. Each writes
benchmarks/results/<name>.json with machine and versions. --quick sees that all of them run, in little time on little
data, and keeps nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

from benchmarks.main_job import batch, budgets, feeding, inspection, memory, moving, recipe_size, start, teaching
from benchmarks.main_job.setting import FULL, QUICK, Setting
from benchmarks.measure import RESULTS, Others, machine, write

COSTS = Path(__file__).resolve().parents[1] / "docs/COSTS.md"

MAIN_JOB: dict[str, tuple[ModuleType, str]] = {
    "inspection": (inspection, "one image: decode, backbone, detector, map, verdict, and the ratio to the backbone"),
    "batch": (batch, "a batch of 1,000 photos against one at a time: photos a second, memory"),
    "feeding": (feeding, "beside a network that costs nothing: photos a second from file to verdict, CPU a photo"),
    "moving": (
        moving,
        "a move of k, q or the limit with 100 photos, on the page and in a browser; previews of γ and σ",
    ),
    "teaching": (teaching, "the fit alone, extraction, and teaching a sample part"),
    "recipe_size": (recipe_size, "recipes on disk, and what 16-bit storage does to scores"),
    "start": (start, "from the command to the first page"),
    "memory": (memory, "peak memory of teaching 200 and 5,000 photos"),
}
METHODS: dict[str, tuple[str, str]] = {
    "alignment": ("methods", "parts on a conveyor: error against exact poses, time, what the detector gains"),
    "tiles": ("methods", "12 megapixels, small defects: in tiles beside squashed, time against the tiles, memory"),
    "line": ("main_job", "the exported recipe: graph against the backbone alone, differences to the app, cold start"),
    "sharding": ("methods", "teaching by workers: 100,000 simulated photos and 5,000 real ones; about an hour"),
    "photo_memory": ("main_job", "peak memory of a 64-megapixel photo by kind of file, beside its bound"),
    "station": ("main_job", "a station at the line under 200 kills: what passed, what was lost, latency"),
    "kills": ("main_job", "batch, watch and saving killed 200 times each: what is lost, doubled or misplaced"),
    "quadrics_costs": ("methods", "what fitting and scoring quadrics cost, beside the forecast"),
    "defects_among_good": ("methods", "defects among the good photos: does the first look show them, their cost"),
    "deployed": ("peers", "the runner beside anomalib's PaDiM in OpenVINO: photos a second, memory"),
    "race": ("peers", "beside anomalib's PaDiM and PatchCore on the same photos: fit, speed, memory, size, quality"),
}
"""Modules that run by themselves: name -> its folder; what it measures, in words."""


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    chosen = options.names or ([*MAIN_JOB, *METHODS] if options.all else list(MAIN_JOB))
    # Few photos for many dimensions are warned of in the app; here only time and memory are read.
    warnings.simplefilter("ignore", UserWarning)
    if options.quick:
        with tempfile.TemporaryDirectory(prefix="loupe-quick-") as folder:
            results = measure([name for name in chosen if name in MAIN_JOB], QUICK, Path(folder))
            print(json.dumps({name: result["figures"] for name, result in results.items()}, indent=1))
        return
    measure([name for name in chosen if name in MAIN_JOB], FULL, options.results)
    for name in (name for name in chosen if name in METHODS):
        run_alone(name, options.results)
    contents = budgets.table(budgets.read_results(options.results))
    COSTS.write_text(budgets.refresh(COSTS.read_text(encoding="utf-8"), contents), encoding="utf-8")
    print(contents)


def measure(names: list[str], setting: Setting, folder: Path) -> dict[str, dict]:
    """Run benchmarks of the main job one after the other and write each result as it comes."""
    results = {}
    for name in names:
        print(f"{name}: {MAIN_JOB[name][1]}", file=sys.stderr, flush=True)
        measured_on = machine()
        others = Others.since()
        figures = MAIN_JOB[name][0].figures(setting)
        path = write(name, figures, measured_on=measured_on | {"others": others.fraction()}, folder=folder)
        results[name] = json.loads(path.read_text())
    return results


def run_alone(name: str, folder: Path) -> None:
    """One of METHODS in a process of its own. Raises CalledProcessError when it fails."""
    room, what = METHODS[name]
    print(f"{name}: {what}", file=sys.stderr, flush=True)
    arguments = ["--name", os.fspath(folder.resolve() / name)]
    subprocess.run([sys.executable, "-m", f"benchmarks.{room}.{name}", *arguments], check=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    names = "\n".join(f"{name:28}{what}" for name, (_, what) in (MAIN_JOB | METHODS).items())
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__, epilog=names, formatter_class=plain)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; below")
    parser.add_argument("--all", action="store_true", help="those of single methods too: about an hour")
    parser.add_argument("--quick", action="store_true", help="only see that those of the main job run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - {*MAIN_JOB, *METHODS})
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; choose from {', '.join((*MAIN_JOB, *METHODS))}")
    if options.quick and (set(options.names) & set(METHODS)):
        parser.error("--quick is for those of the main job; run the others by name without it")
    return options


if __name__ == "__main__":
    main()
