"""The client for Node.js in docs/clients/node, run on exported recipes and compared with Python."""

import csv
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.images.photo_reader import read
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_io.onnx_export import Parity, export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runner import Runner

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "docs/clients/node"


def node(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess:
    """Runs Node.js in a process of its own; the test is skipped where it or a package is missing."""
    for package in ("onnxruntime-web", "pngjs"):
        if not (ROOT / "node_modules" / package).is_dir():
            pytest.skip(f"{package} is not installed: `npm ci` does that where Node.js 20 or newer is")
    try:
        return subprocess.run(["node", *map(str, arguments)], input=stdin, capture_output=True, cwd=ROOT, check=False)
    except FileNotFoundError:
        pytest.skip("Node.js is not installed")


def exported_with_png(recipe, folder: Path, further: Sequence[np.ndarray] = ()) -> Parity:
    """Exports the recipe, proved with its photos and further ones as PNG: the same pixels, without another decoder of
    JPEG.
    """
    copies = []
    photos = (read(path).pixels for path in find_photos(recipe).paths)
    for number, pixels in enumerate([*photos, *further]):
        copies.append(folder.parent / f"photo, {number}.png")
        Image.fromarray(pixels).save(copies[-1])
    return export(recipe, folder, check_images=copies)


def inspected(line: Path, *photos: Path) -> tuple[list[list[str]], list[float]]:
    """Rows that the client prints, and from its proof: number of golden images, largest difference, allowed one."""
    done = node(CLIENT / "inspect.js", line, *photos)
    assert done.returncode in (0, 1), done.stderr
    scores = [float(word) for word in done.stderr.decode().split() if word[0].isdigit()]
    return list(csv.reader(done.stdout.decode().splitlines(), delimiter="\t")), scores


def check_golden_images(line: Path) -> None:
    """The client proves the recipe, and on its golden images says what Python does."""
    images = golden_images.read_table(recipe_package.check(line))
    rows, (count, difference, allowed) = inspected(line, *(line / image.file for image in images))
    runner = Runner(line)
    assert (count, len(rows)) == (len(images), len(images))
    assert difference <= allowed == pytest.approx(golden_images.tolerance(runner.good_scores, runner.limits))
    for image, (_, word, score, note) in zip(images, rows, strict=True):
        assert (word, float(score)) == (image.verdict, pytest.approx(image.score, abs=allowed))
        assert note == image.reason
