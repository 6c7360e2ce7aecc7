"""Whether photos are accepted from which the part was taken away: python -m benchmarks.methods.removed_parts
[NAME=FOLDER ...] --store S

Each folder in MVTec AD layout is taught with at most 60 of its good photos, as a new folder would be. From other good
ones the part is painted over: with the brightness of the border and a camera's noise, all of the photo, its middle or a
half; or from its surroundings by OpenCV, the middle. Counted: photos accepted by their scores, and photos accepted.
Real photos without their part are counted where the folder has a type MISPLACED.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np

from benchmarks.measure import folder_parser, machine, sets, write
from benchmarks.methods.limits_from_few import drawn
from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.recipe import LoadedRecipe
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach

PHOTOS, SHOWN = 60, 12
MISPLACED = "misplaced"
NOISE, RIM = 2.0, 0.04
"""Standard deviation of the noise in grey levels, and the share of the shorter side that is the border."""

Painter = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _even(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rim = max(1, round(RIM * min(pixels.shape[:2])))
    border = np.concatenate([pixels[:rim].reshape(-1, 3), pixels[-rim:].reshape(-1, 3)])
    surface = np.median(border, axis=0) + rng.normal(0, NOISE, pixels.shape)
    return np.clip(surface, 0, 255).astype(np.uint8)


def _middle(shape: tuple[int, ...]) -> tuple[slice, slice]:
    return slice(shape[0] // 5, -(shape[0] // 5)), slice(shape[1] // 5, -(shape[1] // 5))


def _within(pixels: np.ndarray, rng: np.random.Generator, place: tuple[slice, ...]) -> np.ndarray:
    painted = pixels.copy()
    painted[place] = _even(pixels, rng)[place]
    return painted


def _from_around(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mask = np.zeros(pixels.shape[:2], np.uint8)
    mask[_middle(pixels.shape)] = 1
    return cv2.inpaint(pixels, mask, 5, cv2.INPAINT_TELEA)


PAINTERS: dict[str, Painter] = {
    "all": _even,
    "middle": lambda pixels, rng: _within(pixels, rng, _middle(pixels.shape)),
    "half": lambda pixels, rng: _within(pixels, rng, (slice(None), slice(pixels.shape[1] // 2))),
    "middle from around": _from_around,
}


def figures(name: str, folder: Path, store: FeatureStore) -> dict[str, dict[str, int]]:
    """By way of removing: photos shown, those accepted by their scores, and those accepted."""
    samples = scan(folder)
    photos = drawn(name, samples, min(PHOTOS, len(samples.good) // 2), seed=0)
    if photos is None:
        return {}
    product = teach(TeachingConfig(name, photos), store, lambda fraction, words: None)
    study = product.study
    limits = study.default_limits()
    inspector = LoadedRecipe(study.recipe(limits, product=name, **study.live), study.extractor.backbone)
    good = [photo for photo in photos.test if photo.label == "good"][:SHOWN]
    rng = np.random.default_rng(0)

    def shown() -> Iterator[tuple[str, np.ndarray]]:
        for photo in good:
            pixels = read(photo.path).pixels
            yield from ((way, paint(pixels, rng)) for way, paint in PAINTERS.items())
        yield from ((MISPLACED, read(photo.path).pixels) for photo in samples.defects if photo.label == MISPLACED)

    results: dict[str, dict[str, int]] = {}
    for way, pixels in shown():
        verdict = inspector.inspect(pixels)
        row = results.setdefault(way, {"shown": 0, "accepted_by_score": 0, "accepted": 0})
        row["shown"] += 1
        row["accepted_by_score"] += verdict.score is not None and verdict.score <= limits.review
        row["accepted"] += verdict.verdict == "accept"
    return {way: {key: int(value) for key, value in row.items()} for way, row in results.items()}


def main() -> None:
    options = folder_parser("removed_parts", __doc__).parse_args()
    measured_on = machine()
    results = {}
    for name, folder in sets(options.sets).items():
        if row := figures(name, folder, FeatureStore(options.store)):
            results[name] = row
            write(options.name, results, measured_on=measured_on)
            print(name, row, flush=True)


if __name__ == "__main__":
    main()
