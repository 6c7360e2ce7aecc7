"""How the benchmarks measure and write down: repeats, median and spread, machine and versions, JSON."""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from inspect_core.versions import library_versions

RESULTS = Path(__file__).parent / "results"


def timed(work: Callable[[], object], *, repeats: int = 9, warm_up: int = 2) -> dict[str, float]:
    """Median, least and largest milliseconds of `repeats` calls after `warm_up` unmeasured ones."""
    for _ in range(warm_up):
        work()
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - began))
    return {"median_ms": statistics.median(took), "least_ms": min(took), "largest_ms": max(took), "repeats": repeats}


def peak_memory(arguments: list[str]) -> float:
    """Peak resident MB of `python -m <arguments>` in a process of its own, which prints it as its last line."""
    done = subprocess.run([sys.executable, "-m", *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout.strip().splitlines()[-1])


def own_peak_mb() -> float:
    """Peak resident MB of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def machine() -> dict[str, object]:
    """The machine and the versions a figure belongs to."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "versions": library_versions(),
    }


def write(name: str, figures: dict) -> Path:
    """benchmarks/results/<name>.json with machine and versions beside the figures; the path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n")
    return path


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
