"""One detector of anomalib, taught and run by anomalib's own engine, or deployed: `python anomalib_side.py ORDER.json`.

Runs in an environment of its own, that `race` and `deployed` call; imports nothing of Loupe. Writes where told.
"""

import json
import logging
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def race(order: dict) -> None:
    """Teach on train/good, judge test/. The libraries are those of the peer's environment alone."""
    import torch
    from anomalib.data import Folder, PredictDataset
    from anomalib.engine import Engine
    from anomalib.models import Padim, Patchcore
    from anomalib.pre_processing import PreProcessor
    from torchvision.transforms.v2 import Compose, Normalize, Resize

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    size = tuple(order["size"])
    shared = {
        "backbone": order["network"],
        "layers": order["layers"],
        "pre_trained": False,
        "pre_processor": PreProcessor(Compose([Resize(size, antialias=True), Normalize(order["mean"], order["sd"])])),
        "post_processor": False,
        "evaluator": False,
        "visualizer": False,
    }
    model = Padim(n_features=100, **shared) if order["detector"] == "padim" else Patchcore(**shared)
    network = model.model.feature_extractor.feature_extractor
    missing, _ = network.load_state_dict(torch.load(order["weights"], weights_only=True), strict=False)
    assert not missing, missing
    root = Path(order["folder"])
    photos = {"normal_test_dir": "test/good", "val_split_mode": "same_as_test", "train_batch_size": 8, "num_workers": 0}
    good = Folder("race", "train/good", root, abnormal_dir=_defects(root), **photos)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "limit_val_batches": 0}
    engine = Engine(accelerator="cpu", devices=1, default_root_dir=order["scratch"], **quiet)
    started = time.perf_counter()
    engine.fit(model=model, datamodule=good)
    fitted = time.perf_counter()
    photos = PredictDataset(root / "test", image_size=size)
    batches = engine.predict(model=model, dataset=photos, return_predictions=True) or []
    scored = time.perf_counter()
    weights = Path(order["scratch"]) / "model.pt"
    torch.save(model.model.state_dict(), weights)
    maps = np.concatenate([batch.anomaly_map.numpy().reshape(-1, *size) for batch in batches])
    scores = np.concatenate([batch.pred_score.numpy().reshape(-1) for batch in batches])
    names = [Path(path).relative_to(root / "test").as_posix() for b in batches for path in b.image_path]
    np.savez(order["maps"], names=np.array(names), scores=scores, maps=maps)
    figures = {
        "fit_s": fitted - started,
        "photos_a_second": len(names) / (scored - fitted),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "model_mb": weights.stat().st_size / 1e6,
    }
    Path(order["figures"]).write_text(json.dumps(figures))
    if "line" in order:
        engine.export(model=model, export_type="openvino", export_root=order["line"], input_size=size)


def line(order: dict) -> None:
    """Judge test/ with anomalib's own inferencer on OpenVINO, one photo after the other, from the file on."""
    import cv2
    from anomalib.data.utils import read_image
    from anomalib.deploy import OpenVINOInferencer

    (model,) = Path(order["line"]).rglob("*.xml")
    inferencer = OpenVINOInferencer(model, device="CPU", config={"INFERENCE_NUM_THREADS": order["threads"]})
    photos = sorted(path for folder in (Path(order["folder"]) / "test").iterdir() for path in folder.iterdir())
    size = tuple(order["size"][::-1])  # the inferencer gives photos to the network at their own size, which it refuses
    for path in photos[: order["warm_up"]]:
        inferencer.predict(cv2.resize(read_image(path), size, interpolation=cv2.INTER_AREA))
    started = time.perf_counter()
    for path in photos:
        inferencer.predict(cv2.resize(read_image(path), size, interpolation=cv2.INTER_AREA))
    figures = {
        "photos_a_second": len(photos) / (time.perf_counter() - started),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "model_mb": sum(file.stat().st_size for file in model.parent.iterdir()) / 1e6,
    }
    Path(order["figures"]).write_text(json.dumps(figures))


def _defects(root: Path) -> list[str]:
    return [f"test/{folder.name}" for folder in sorted((root / "test").iterdir()) if folder.name != "good"]


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    (line if order.get("stage") == "line" else race)(order)
