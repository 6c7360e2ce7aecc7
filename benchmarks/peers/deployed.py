"""What is deployed, side by side: Loupe's runner, and PaDiM of anomalib exported to OpenVINO, in its own inferencer.

LOUPE_PEERS=ENVIRONMENT/bin/python python -m benchmarks.peers.deployed [NAME=FOLDER ...]

The environment is that of `race`, with `anomalib[openvino]`. All are taught with the same photos and the same network
at the same size, exported, and then run one after the other, each in a fresh process with two threads: every photo of
test/ from its file to its score, three of them once before. Peak memory is that of the whole process.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.main_job.budgets import refresh
from benchmarks.measure import RESULTS, Others, machine, parser, sets, write
from benchmarks.peers.race import CONTENDERS, COSTS, HERE, run, shared_order
from inspect_core.datasets.folders import scan
from inspect_core.features.backbones import load
from inspect_core.images.shape import input_size

MARKS = ("<!-- deployed -->", "<!-- /deployed -->")
THREADS = 2
NAMES = ("Loupe, localized Mahalanobis, tolerances off", "Loupe, default of a new folder", "anomalib, PaDiM")
COLUMNS = {"photos_a_second": "photos/s", "peak_mb": "memory, MB", "model_mb": "files, MB"}


def deployed(side: str, order: dict, scratch: Path) -> dict:
    """Figures of one contender, taught, exported and run in processes of its own."""
    order |= {"line": str(scratch / "line"), "threads": THREADS, "warm_up": 3}
    run(side, order, scratch)
    (scratch / "order.json").write_text(json.dumps(order | {"stage": "line"}))
    python = sys.executable if side == "loupe" else os.environ["LOUPE_PEERS"]
    script = ["-m", "benchmarks.peers.loupe_line"] if side == "loupe" else [str(HERE / "anomalib_side.py")]
    environment = os.environ | {"OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": str(HERE.parents[1])}
    command = [python, *script, str(scratch / "order.json")]
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{side} failed at the line:\n{done.stderr[-2000:]}")
    return json.loads((scratch / "figures.json").read_text())


def table(figures: dict) -> str:
    """The Markdown table: a line for every contender on every folder."""
    lines = [f"| photos | deployed | {' | '.join(COLUMNS.values())} |", "| --- " * (2 + len(COLUMNS)) + "|"]
    for photos, rows in figures.items():
        for name, row in rows.items():
            where = "OpenVINO" if name.startswith("anomalib") else "runner"
            lines.append(f"| {photos} | {name} ({where}) | {' | '.join(f'{row[key]:,.1f}' for key in COLUMNS)} |")
    return "\n".join(lines)


def main() -> None:
    options = parser("deployed", __doc__)
    options.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    options = options.parse_args()
    others, figures = Others.since(), {}
    with tempfile.TemporaryDirectory(prefix="loupe-deployed-") as scratch:
        weights = Path(scratch) / "weights.pt"
        torch.save(load("efficientnet_lite0", device="cpu")._network().state_dict(), weights)
        for photos, folder in sets(options.folders).items():
            size = input_size([sample.size for sample in scan(folder).good if sample.split_side == "train"])
            for name in NAMES:
                side, orders = CONTENDERS[name]
                if side != "loupe" and "LOUPE_PEERS" not in os.environ:
                    continue
                order = shared_order(weights) | orders | {"folder": str(folder.resolve()), "size": size}
                figures.setdefault(photos, {})[name] = deployed(side, order, Path(tempfile.mkdtemp(dir=scratch)))
                print(photos, name, figures[photos][name], flush=True)
    write(options.name, figures, measured_on=machine() | {"others": others.fraction()})
    if (RESULTS / options.name).parent == RESULTS:
        COSTS.write_text(refresh(COSTS.read_text(encoding="utf-8"), table(figures), MARKS), encoding="utf-8")


if __name__ == "__main__":
    main()
