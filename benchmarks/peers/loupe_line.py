"""An exported recipe at work as on a PC at the line, without torch: `python loupe_line.py ORDER.json`.

A process of its own, that `deployed` calls. Judges test/ from the file on, one photo after the other.
"""

import json
import sys
import time
from pathlib import Path

from benchmarks.measure import own_peak_mb
from inspect_core import Runner, read


def line(order: dict) -> None:
    """Write photos a second, peak memory and the size of what was exported."""
    runner = Runner(order["line"], threads=order["threads"])
    photos = sorted(path for folder in (Path(order["folder"]) / "test").iterdir() for path in folder.iterdir())
    for path in photos[: order["warm_up"]]:
        runner.inspect(read(path).pixels)
    started = time.perf_counter()
    for path in photos:
        runner.inspect(read(path).pixels)
    figures = {
        "photos_a_second": len(photos) / (time.perf_counter() - started),
        "peak_mb": own_peak_mb(),
        "model_mb": sum(file.stat().st_size for file in Path(order["line"]).rglob("*") if file.is_file()) / 1e6,
    }
    Path(order["figures"]).write_text(json.dumps(figures))


if __name__ == "__main__":
    line(json.loads(Path(sys.argv[1]).read_text()))
