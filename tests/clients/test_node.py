"""The client for Node.js, written from docs/RUNNER.md: it gets the pixels, scores and verdicts of the Python runner."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, measure_quality
from inspect_core.images.photo_reader import read, squash
from inspect_core.images.photo_setup import EMPTY, SHADED
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_io import onnx_export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.verdict import Limits
from tests.clients.node import CLIENT, check_golden_images, exported_with_png, node
from tests.clients.squashing import CASES, photo
from tests.stains import stained

pytestmark = pytest.mark.usefixtures("unhurried")


def test_the_squash_gives_the_bytes_of_pillow():
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ squash }} from "{CLIENT.as_uri()}/squash.js";
        const bytes = readFileSync(0);
        let place = 0;
        for (const [size, to] of {json.dumps(CASES)}) {{
          const end = place + size[0] * size[1] * 3;
          process.stdout.write(squash(bytes.subarray(place, end), size, to));
          place = end;
        }}"""
    photos = [photo(size) for size, _ in CASES]
    done = node("--input-type=module", "--eval", code, stdin=b"".join(map(np.ndarray.tobytes, photos)))
    assert done.returncode == 0, done.stderr
    expected = b"".join(squash(pixels, to).tobytes() for pixels, (_, to) in zip(photos, CASES, strict=True))
    assert done.stdout == expected


def pictures() -> dict[str, np.ndarray]:
    """Stored values of PNG files by their names: each kind of PNG that a camera or its software writes."""
    rng = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray:
        return rng.integers(0, 256, shape, np.uint8)

    return {
        "black and white": noise(9, 8) > 99,
        "grey": noise(9, 8),
        "colour": noise(9, 8, 3),
        "transparent": noise(9, 8, 4),
        "grey and transparent": noise(9, 8, 2),
        "deep": rng.integers(0, 65536, (9, 8), np.uint16),
        "twelve": rng.integers(300, 4096, (9, 8), np.uint16),
    }


def rgb_of(depth, *files):
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ photoOf }} from "{CLIENT.as_uri()}/photo.js";
        for (const path of process.argv.slice(1)) {{
          process.stdout.write(photoOf(readFileSync(path), {json.dumps(depth and vars(depth))}).rgb);
        }}"""
    return node("--input-type=module", "--eval", code, *files)


@pytest.mark.parametrize("depth", [None, Depth.full(12), Depth(16, 12, False, 400, 3000, 3900)])
def test_a_photo_is_read_as_in_python(tmp_path, depth):
    files = []
    for name, values in pictures().items():
        if depth is None or name == "twelve":
            files.append(tmp_path / f"{name}.png")
            Image.fromarray(values).save(files[-1])
    done = rgb_of(depth, *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"".join(read(path, depth).pixels.tobytes() for path in files)


OTHER_DEPTHS = [("colour", Depth.full(16)), ("deep", Depth(8, 8, False, 0, 255)), ("deep", Depth.full(12))]
OTHER_DEPTHS += [("twelve", Depth.full(12, left_aligned=True)), ("twelve", Depth.full(16, min_peak=60000))]


@pytest.mark.parametrize(("name", "depth"), OTHER_DEPTHS)
def test_a_photo_of_another_depth_is_refused_as_in_python(tmp_path, name, depth):
    Image.fromarray(pictures()[name]).save(tmp_path / "photo.png")
    with pytest.raises(ValueError, match="restore the camera settings"):
        read(tmp_path / "photo.png", depth)
    done = rgb_of(depth, tmp_path / "photo.png")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Error: it" in done.stderr


@pytest.mark.slow
def test_golden_images_get_the_verdicts_of_the_app(small_recipe, tmp_path):
    """Half of them are stopped by the product check, which is fused with the class scores."""
    recipe = small_recipe("corp")
    network = onnx_export.loaded_backbone(None, "cpu")
    paths = find_photos(recipe).paths
    pictures = np.stack([squash(read(path).pixels, network.size) for path in paths])
    _, embedding, logits = network.describe(pictures)
    limit = float(np.median(recipe.product_check.score(embedding.numpy(), logits.numpy())))
    stopping = replace(recipe, product_check=replace(recipe.product_check.with_mode("stop"), limit=limit))
    exported_with_png(stopping, tmp_path / "line")
    check_golden_images(tmp_path / "line")


@pytest.mark.slow
def test_what_the_score_accepts_goes_to_review_as_in_the_app(small_recipe, tmp_path):
    """A stain without an edge, and a picture of nothing."""
    recipe = small_recipe("pca")
    good = [read(path).pixels for path in find_photos(recipe).paths]
    size = recipe.backbone.size
    quality = QualityRange.from_qualities([measure_quality(squash(photo, size), photo) for photo in good])
    lenient = replace(recipe, limits=Limits(1e9, 1e9), product_check=None, quality=quality)
    exported_with_png(lenient, tmp_path / "line", (stained(good[0], 0.6), np.full_like(good[0], 90)))
    check_golden_images(tmp_path / "line")
    reasons = {image.reason for image in golden_images.read_table(recipe_package.check(tmp_path / "line"))}
    assert reasons >= {EMPTY, SHADED}
    (tmp_path / "line" / recipe_package.REVIEW).unlink()
    done = node(CLIENT / "inspect.js", tmp_path / "line")
    assert (done.returncode, done.stdout) == (2, b""), "without it nothing is judged"


@pytest.mark.slow
def test_a_recipe_that_it_cannot_prove_or_apply_is_refused(small_recipe, tmp_path):
    line = tmp_path / "line"
    exported_with_png(small_recipe("corp"), line)
    first = golden_images.read_table(recipe_package.check(line))[0]
    for name, old, new, words in (
        (recipe_package.EXPECTED, repr(first.score), repr(first.score * 1.01), f"{first.file} gets "),
        (recipe_package.EXPECTED, first.file, "golden/none.png", "no such file"),
        (recipe_package.RECIPE, '"alignment": null', '"alignment": {}', "use the Python runner"),
    ):
        text = (line / name).read_text()
        assert old in text
        (line / name).write_text(text.replace(old, new, 1))
        done = node(CLIENT / "inspect.js", line, line / first.file)
        assert (done.returncode, done.stdout) == (2, b"")
        assert words in done.stderr.decode()
        (line / name).write_text(text)
