"""A batch of photos by the runner against one at a time in the app: photos a second, and memory as they grow in number.

One at a time is what the app does with a photo: read it, judge it, then the next. The batch, by the exported recipe,
writes its table, journal and log as well; beside it stands the same batch by the app's own detector. All take turns at
the same photos, so that a busy machine slows them alike. The photos are the sample's, shifted and re-lit; memory is
this process's own at a fifth and at the end of one batch.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.main_job.memory import make_photos
from benchmarks.main_job.setting import QUICK, Setting, study, taught, with_head
from benchmarks.measure import resident_mb, spread
from inspect_core.audit.log import AuditLog
from inspect_core.features.store import FeatureStore
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import Outputs, Photo, photos_of, run
from inspect_core.line.inspector import Inspector
from inspect_core.line.photo_inspection import inspect_photo
from inspect_core.recipe import LoadedRecipe, Recipe
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runner import Runner
from inspect_core.tuning.product_check_training import train_product_check

PHOTOS, A_TURN = 1000, 100


def figures(setting: Setting) -> dict:
    """Photos a second of each, their ratio turn by turn, and own MB after a fifth and after all photos."""
    count, a_turn = (20, 4) if setting == QUICK else (PHOTOS, A_TURN)
    with tempfile.TemporaryDirectory(prefix="loupe-batch-") as folder:
        root = Path(folder)
        app = _inspector(setting, root / "features")
        line = app if setting == QUICK else _exported(app.recipe, root / "line")
        make_photos(root / "photos", count)
        photos = photos_of([root / "photos"])
        with AuditLog.open(f"sqlite:///{root / 'log.sqlite'}") as log:
            record = AuditRecord(log, line, "benchmark")
            rates = against_one_at_a_time(app, line, photos[:a_turn], record, root, setting)
        return {"engine": line.engine, "photos": count, **rates, "memory": memory(line, photos, root)}


def against_one_at_a_time(
    app: Inspector, line: Inspector, photos: list[Photo], record: AuditRecord, root: Path, setting: Setting
) -> dict:
    """Turn about, after one of each that is not counted."""
    rates_of: dict[str, list[float]] = {"one_at_a_time": [], "batch": [], "batch_of_the_app": []}
    for turn in range(max(2, setting.runs + 1)):
        table = Outputs(root / f"{turn}.csv"), Outputs(root / f"{turn}-app.csv")
        rates_of["one_at_a_time"].append(_rate(len(photos), lambda: [inspect_photo(app, *photo) for photo in photos]))
        rates_of["batch"].append(_rate(len(photos), partial(run, line, photos, table[0], record=record)))
        rates_of["batch_of_the_app"].append(_rate(len(photos), partial(run, app, photos, table[1])))
    pairs = zip(rates_of["one_at_a_time"][1:], rates_of["batch"][1:], strict=True)
    return {name: spread(rates[1:], "photos_per_s") for name, rates in rates_of.items()} | {
        "batch_to_one_at_a_time": spread([many / single for single, many in pairs], "ratio")
    }


def memory(inspector: Inspector, photos: list[Photo], root: Path) -> dict[str, float]:
    resident: list[float] = []

    def told(row: Inspection) -> None:
        resident.append(resident_mb().get("own", 0.0))

    run(inspector, photos, Outputs(root / "memory.csv"), on_row=told)
    fifth = resident[len(resident) // 5]
    return {
        "after_a_fifth_mb": fifth,
        "after_all_mb": resident[-1],
        "growth": resident[-1] / fifth - 1 if fifth else 0.0,
    }


def _rate(count: int, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


def _exported(recipe: Recipe, path: Path) -> Runner:
    export(recipe, path, check_images=find_photos(recipe).paths)
    return Runner(path, threads=1)


def _inspector(setting: Setting, features: Path) -> LoadedRecipe:
    photos = taught(setting)
    backbone = with_head(setting)
    product_check = train_product_check(backbone, photos.train, photos.calibration)
    recipe = study(setting, photos, setting.sides[0], FeatureStore(features)).fit().recipe(product_check=product_check)
    return LoadedRecipe(recipe, backbone)
