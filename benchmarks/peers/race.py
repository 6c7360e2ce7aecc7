"""Loupe beside anomalib, on the same photos with the same network, one after the other on this machine.

LOUPE_PEERS=ENVIRONMENT/bin/python python -m benchmarks.peers.race [NAME=FOLDER ...] [--without patchcore] [--photos N]

`python -m venv ENVIRONMENT && ENVIRONMENT/bin/pip install anomalib==2.7.0` makes the environment; without it only Loupe
runs. Folders are in MVTec AD layout; the bundled sample parts otherwise. All learn from train/good, or from so many
photos drawn from it, see no defect, and judge test/. Each run is written when it ends, and one that is written does not
run again: remove the result to begin anew. Everybody gets the weights of EfficientNet Lite0, photos at the size that
Loupe proposes for their shape (256 × 256 for square ones) and two threads; anomalib the stages that its authors' choice
of layers (1, 2 and 3 of a residual network; 2 and 3 for PatchCore) corresponds to. Fit is the time from photos to a
model that can judge: for Loupe limits from folds and copies within the tolerances are in it. Good parts stopped and
defects accepted are those at the suggested review limit; anomalib suggests none from good parts alone, so its accepted
are counted where it stops as many good ones as Loupe's default does.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.main_job.budgets import refresh
from benchmarks.measure import RESULTS, Others, kept, machine, parser, sets, write
from inspect_core.datasets.folders import scan
from inspect_core.features.backbones import load
from inspect_core.images.photo_reader import read_mask
from inspect_core.images.shape import input_size
from inspect_core.scoring.masks import mask_at
from inspect_core.scoring.metrics import aupro, auroc

HERE = Path(__file__).parent
COSTS = HERE.parents[1] / "docs/COSTS.md"
MARKS = ("<!-- race -->", "<!-- /race -->")
STAGES = ["blocks.1", "blocks.2", "blocks.4"]
DEFAULT = "Loupe, default of a new folder"
CONTENDERS = {
    "Loupe, localized Mahalanobis, tolerances off": ("loupe", {"detector": "mahalanobis", "tolerances": False}),
    "Loupe, localized Mahalanobis": ("loupe", {"detector": "mahalanobis", "tolerances": True}),
    DEFAULT: ("loupe", {"detector": None, "tolerances": True}),
    "anomalib, PaDiM": ("anomalib", {"detector": "padim", "layers": STAGES}),
    "anomalib, PatchCore": ("anomalib", {"detector": "patchcore", "layers": STAGES[1:]}),
}
"""By name: whose it is, and what it is told (detector None: chosen by a comparison of those that suit)."""
COLUMNS = {"fit_s": "fit, s", "photos_a_second": "photos/s", "peak_mb": "memory, MB", "model_mb": "model, MB"}
QUALITY = {"image_auroc": "image AUROC", "aupro": "AUPRO"}
COUNTS = {"stopped_percent": "good stopped, %", "accepted_percent": "accepted, %"}


def run(side: str, order: dict, scratch: Path) -> dict:
    """Figures of one contender on one folder, taught and run in a process of its own."""
    order |= {"scratch": str(scratch), "maps": str(scratch / "maps.npz"), "figures": str(scratch / "figures.json")}
    (scratch / "order.json").write_text(json.dumps(order))
    python = sys.executable if side == "loupe" else os.environ["LOUPE_PEERS"]
    script = ["-m", "benchmarks.peers.loupe_side"] if side == "loupe" else [str(HERE / "anomalib_side.py")]
    threads = {name: "2" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | threads | {"LOUPE_WORKSPACE": str(scratch / "workspace")}
    done = subprocess.run([python, *script, str(scratch / "order.json")], env=environment, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    figures = json.loads((scratch / "figures.json").read_text())
    return figures | quality(Path(order["folder"]), scratch / "maps.npz", figures.get("review"), order.get("stopped"))


def quality(
    folder: Path, maps: Path, review: float | None = None, stopped: float | None = None
) -> dict[str, float | None]:
    """Image AUROC and AUPRO of saved scores and maps, by one and the same code for all; no AUPRO without masks. In 100,
    the good parts above the limit `review` and the defects that are not; without one, the limit that stops this many.
    """
    samples = scan(folder)
    arrays = np.load(maps)
    by_name = {sample.name.removeprefix("test/"): sample for sample in (*samples.good, *samples.defects)}
    photos = [by_name[name] for name in arrays["names"].tolist()]
    size = arrays["maps"].shape[1:]
    blank = np.zeros(size, bool)
    masks = [mask_at(read_mask(photo.mask, photo.size), size) if photo.mask else blank for photo in photos]
    defect = np.array([photo.label != "good" for photo in photos])
    overlap = aupro(arrays["maps"], np.stack(masks)) if any(mask.any() for mask in masks) else None
    good, bad = arrays["scores"][~defect], arrays["scores"][defect]
    if review is None and stopped is not None:
        review = np.sort(good)[len(good) - 1 - round(stopped * len(good) / 100)]
    counts = {
        "stopped_percent": None if review is None else 100 * float((good > review).mean()),
        "accepted_percent": None if review is None else 100 * float((bad <= review).mean()),
    }
    return {"image_auroc": auroc(arrays["scores"], defect), "aupro": overlap, **counts}


def folder_of(folder: Path, photos: int | None, scratch: Path) -> Path:
    """The folder itself, or a copy of it with so many photos of train/good, drawn with a seed."""
    train = sorted((folder / "train/good").iterdir())
    if photos is None or len(train) <= photos:
        return folder
    drawn = sorted(np.random.default_rng(0).permutation(len(train))[:photos])
    (scratch / "train/good").mkdir(parents=True)
    for number in drawn:
        shutil.copy(train[number], scratch / "train/good")
    for other in ("test", "ground_truth"):
        if (folder / other).is_dir():
            shutil.copytree(folder / other, scratch / other)
    return scratch


def shared_order(weights: Path) -> dict:
    """What everybody is given: the network, its weights and how it wants its input."""
    return {"network": "tf_efficientnet_lite0", "weights": str(weights), "mean": [0.5] * 3, "sd": [0.5] * 3}


def beside_padim(rows: dict[str, dict]) -> None:
    """Add to every row its fit as a multiple of that of anomalib's PaDiM, where that was run."""
    if (padim := rows.get("anomalib, PaDiM")) is not None:
        for row in rows.values():
            row["fit_to_padim"] = row["fit_s"] / padim["fit_s"] if row["fit_s"] and padim["fit_s"] else None


def table(figures: dict) -> str:
    """The Markdown table: a line for every contender on every folder."""
    names = COLUMNS | QUALITY | COUNTS
    lines = [f"| photos | detector | {' | '.join(names.values())} |", "| --- " * (2 + len(names)) + "|"]
    for photos, rows in figures.items():
        for name, row in ((name, rows[name]) for name in CONTENDERS if name in rows):
            values = [_figure(row.get(key), 3 if key in QUALITY else 1) for key in names]
            lines.append(f"| {photos} | {name} | {' | '.join(values)} |")
    return "\n".join(lines)


def _figure(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"


def main() -> None:
    options = parser("race", __doc__)
    options.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    options.add_argument("--without", action="append", default=[], help="detectors to leave out")
    options.add_argument("--photos", type=int, help="of train/good to learn from; all otherwise")
    options = options.parse_args()
    figures = kept(options.name)
    others = Others.since()
    backbone = load("efficientnet_lite0", device="cpu")
    with tempfile.TemporaryDirectory(prefix="loupe-race-") as scratch:
        weights = Path(scratch) / "weights.pt"
        torch.save(backbone._network().state_dict(), weights)
        for photos, folder in sets(options.folders).items():
            folder = folder_of(folder, options.photos, Path(tempfile.mkdtemp(dir=scratch)))
            size = input_size([sample.size for sample in scan(folder).good if sample.split_side == "train"])
            for name, (side, orders) in CONTENDERS.items():
                if orders["detector"] in options.without or (side != "loupe" and "LOUPE_PEERS" not in os.environ):
                    continue
                if name in figures.get(photos, {}):
                    continue
                side_scratch = Path(tempfile.mkdtemp(dir=scratch))
                order = shared_order(weights) | orders | {"folder": str(folder.resolve()), "size": size}
                if side != "loupe" and DEFAULT in figures.get(photos, {}):
                    order["stopped"] = figures[photos][DEFAULT]["stopped_percent"]
                figures.setdefault(photos, {})[name] = run(side, order, side_scratch)
                print(photos, name, figures[photos][name], flush=True)
                beside_padim(figures[photos])
                write(options.name, figures, measured_on=machine() | {"others": others.fraction()})
    if (RESULTS / options.name).parent == RESULTS:
        COSTS.write_text(refresh(COSTS.read_text(encoding="utf-8"), table(figures), MARKS), encoding="utf-8")


if __name__ == "__main__":
    main()
