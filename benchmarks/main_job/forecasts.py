"""How well the time left is told: the forecast before a job, and what the job says while it runs.

For each set of photos, teaching as the page does it and comparing all detectors: seconds forecast and taken; the
largest factor by which the time left was wrong, either way, from the first tenth of the time to the last; the largest
share by which it rose above the least that had been said, after the first tenth.

Run: python -m benchmarks.main_job.forecasts [NAME=FOLDER ...] [--good 60 300]
"""

import json
import math
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import parser, sets, write
from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import train_on_all
from inspect_core.methods.registry import ALL
from inspect_core.runtime.jobs import Job, JobState
from inspect_core.runtime.progress import Report
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.detector_comparison import compare
from inspect_core.tuning.forecast import forecast
from inspect_core.tuning.teaching import teach

FIRST, LEAST = 0.1, 3.0
"""Share of the time before which, and seconds below which, what was said does not count."""


def order_of(folder: Path, good: int | None) -> TeachingConfig:
    """What Teach would ask for by itself; good: the number of good photos to learn from, None for all."""
    samples = scan(folder)
    parts = train_on_all(split(samples, seed=0, blind=False))
    if good is not None:
        parts = parts.without([sample.name for sample in parts.train[good:]])
    return TeachingConfig(folder.name, parts)


def told(work: Callable[[Report], object], expected: float) -> dict[str, Any]:
    """The figures of one job; work: called with its report; expected: the seconds forecast."""
    job = Job("", "", "")
    reports = []
    job.state = JobState.RUNNING
    job._began = time.monotonic()

    def report(fraction: float, step: str) -> None:
        job.report(fraction, step)
        if (left := job.seconds_left) is not None:
            reports.append((job.seconds, left, job.fraction, step))

    work(report)
    total = job.seconds
    wrong = [1.0]
    rises = [0.0]
    least = math.inf
    for at, left, *_ in reports:
        if FIRST * total <= at <= total - LEAST:
            wrong.append(max(left / (total - at), (total - at) / left))
            if left - least > LEAST:
                rises.append(left / least - 1)
            least = min(least, left)
    return {
        "forecast_s": round(expected, 1),
        "took_s": round(total, 1),
        "forecast_factor": round(max(expected / total, total / expected), 2),
        "worst_factor": round(max(wrong), 2),
        "largest_rise": round(max(rises), 2),
        "told": [(round(at, 1), round(left, 1), round(share, 3), step) for at, left, share, step in reports],
    }


def main() -> None:
    options = parser("forecasts", __doc__)
    options.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    options.add_argument("--good", type=int, nargs="+", help="good photos to learn from; all by default")
    options.add_argument("--only", choices=("teach", "compare"), help="one of the two jobs")
    options.add_argument("--traces", type=Path, help="a folder for what was said when")
    arguments = options.parse_args()
    figures = {}
    for name, folder in sets(arguments.folders).items():
        for good in arguments.good or [None]:
            for kind, detectors in (("teach", ()), ("compare", ALL)):
                if arguments.only not in (None, kind):
                    continue
                with tempfile.TemporaryDirectory(prefix="loupe-features-") as features:
                    order = order_of(folder, good)
                    store = FeatureStore(features)
                    expected = forecast(order, store, detectors).seconds
                    work = partial(compare, order, store) if detectors else partial(teach, order, store)
                    trace = told(work, expected)
                key = f"{name} {len(order.photos.train)} {kind}"
                if arguments.traces:
                    (arguments.traces / f"{key}.json").write_text(json.dumps(trace["told"]))
                del trace["told"]
                figures[key] = trace
                print(key, trace, flush=True)
    write(arguments.name, figures)


if __name__ == "__main__":
    main()
