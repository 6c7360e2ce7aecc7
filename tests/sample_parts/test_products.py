from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sample_data.make import products

BUNDLED = Path(__file__).parents[2] / "sample_data"
DEFECTS = [(product, kind) for product in products.PRODUCTS for kind in products.KINDS[product]]
pytestmark = pytest.mark.usefixtures("unhurried")


@pytest.fixture(autouse=True, scope="module")
def good_part_shot_once():
    """Drawing a part takes a second; the good one of a pair stays in memory for the next defect on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_shoot", lru_cache(maxsize=2)(products._shoot))
        yield


@pytest.fixture
def drawn_at_random(monkeypatch):
    """Noise in place of a part and its mask, different for every argument."""

    def render(product: str, index: int, *, seed: int = 0, defect: str | None = None, conveyor=None):
        rng = np.random.default_rng([index, seed, *f"{product} {defect} {conveyor or ''}".encode()])
        image = rng.integers(0, 256, (products.SIZE, products.SIZE, 3), dtype=np.uint8)
        return image, rng.random(image.shape[:2]) < (0 if defect is None else 0.1)

    monkeypatch.setattr(products, "render", render)


@pytest.mark.parametrize("product", products.PRODUCTS)
def test_a_part_depends_on_its_seed_and_index_alone(product):
    first, _ = products.render(product, 3, seed=5)
    products._shoot.cache_clear()
    repeated, _ = products.render(product, 3, seed=5)
    np.testing.assert_array_equal(first, repeated)
    for index, seed in ((4, 5), (3, 6)):
        assert (first != products.render(product, index, seed=seed)[0]).mean() > 0.5


@settings(max_examples=4, deadline=None)
@given(product=st.sampled_from(products.PRODUCTS), index=st.integers(0, 10_000))
def test_good_part_has_an_empty_mask_and_full_grey_range(product, index):
    image, mask = products.render(product, index)
    assert (image.shape, image.dtype) == ((products.SIZE, products.SIZE, 3), np.uint8)
    assert (mask.shape, mask.dtype, mask.any()) == (image.shape[:2], bool, False)
    dark, bright = np.percentile(image, (1, 99))
    assert bright - dark > 90
    assert (image == 255).mean() < 0.02


@pytest.mark.parametrize(("product", "defect"), DEFECTS)
def test_the_mask_is_where_the_pair_differs(product, defect):
    good, _ = products.render(product, 82)
    image, mask = products.render(product, 82, defect=defect)
    difference = np.abs(image.astype(int) - good).max(axis=2)
    visible = difference >= products.VISIBLE
    assert mask.any()
    assert (visible & mask).sum() > 0.5 * mask.sum(), "closing and filling add what a person would outline"
    assert (visible & ~mask).sum() <= max(6, 0.06 * mask.sum())
    rows, columns = np.nonzero(mask)
    far = np.ones_like(mask)
    far[max(rows.min() - 40, 0) : rows.max() + 41, max(columns.min() - 40, 0) : columns.max() + 41] = False
    assert difference[far].max(initial=0) <= 1


@settings(max_examples=4, deadline=None)
@given(which=st.sampled_from(DEFECTS), index=st.integers(100, 10_000))
def test_every_defect_is_visible_wherever_it_falls(which, index):
    product, defect = which
    _, mask = products.render(product, index, defect=defect)
    assert 10 <= mask.sum() < 0.2 * mask.size


def test_plan_numbers_the_parts_through():
    for product in products.PRODUCTS:
        numbers, places, defects = zip(*products.plan(product), strict=True)
        assert numbers == tuple(range(100))
        assert sum(place.startswith("train/good/") for place in places) == 60
        assert sum(place.startswith("test/good/") for place in places) == 20
        assert defects.count(None) == 80
        assert set(filter(None, defects)) == set(products.KINDS[product])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"product": "gear"}, "product is 'gear'"),
        ({"defect": "dent"}, "defect is 'dent'; for linen"),
        ({"index": -1}, "index is -1"),
        ({"seed": -2}, "seed is -2"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        products.render(**{"product": "linen", "index": 0} | arguments)


def test_write_follows_the_plan_and_gives_the_same_bytes_again(drawn_at_random, tmp_path, tree, monkeypatch):
    rows = products.plan("flange")
    monkeypatch.setattr(products, "plan", lambda product: [rows[0], rows[60], rows[99]])
    for run in ("first", "second"):
        products.write(tmp_path / run, products=("flange",), seed=4)
    assert tree(tmp_path / "first") == tree(tmp_path / "second")
    root = tmp_path / "first" / "flange"
    assert {path.relative_to(root).as_posix() for path in root.rglob("*.*")} == {
        "ground_truth/stain/part_099_mask.png",
        "test/stain/part_099.jpg",
        *(place for _, place, _ in (rows[0], rows[60])),
    }
    stored = np.asarray(Image.open(root / "ground_truth/stain/part_099_mask.png"))
    np.testing.assert_array_equal(stored == 255, products.render("flange", 99, seed=4, defect="stain")[1])


def test_bundled_folder_is_complete_small_and_graded():
    stains = sorted((BUNDLED / "flange/ground_truth/stain").iterdir())
    areas = [np.count_nonzero(Image.open(mask)) for mask in stains]
    assert len(areas) == products.TEST_EACH_KIND
    assert max(areas) > 3 * min(areas)
    rows = [(product, *row) for product in products.PRODUCTS for row in products.plan(product)]
    expected = {"README.md", *(f"{product}/{place}" for product, _, place, _ in rows)}
    expected |= {f"{name}/ground_truth/{kind}/part_{index:03d}_mask.png" for name, index, _, kind in rows if kind}
    files = [path for path in BUNDLED.rglob("*") if path.is_file() and BUNDLED / "make" not in path.parents]
    assert {path.relative_to(BUNDLED).as_posix() for path in files} == expected
    assert sum(path.stat().st_size for path in files) < 15e6
    for path in files:
        if path.suffix in (".jpg", ".png"):
            with Image.open(path) as image:
                kind = "RGB" if path.suffix == ".jpg" else "L"
                assert (image.size, image.mode) == ((products.SIZE, products.SIZE), kind)
                assert kind == "RGB" or set(np.unique(np.asarray(image))) == {0, 255}


@pytest.mark.parametrize("product", products.PRODUCTS)
def test_bundled_files_are_what_the_command_writes(product, tmp_path):
    # Decoded and compared closely: another processor's vector units may round a few pixels the other way.
    index, place, defect = products.plan(product)[91]
    products.save(tmp_path, product, index, place, defect)
    fresh = np.asarray(Image.open(tmp_path / product / place)).astype(int)
    stored = np.asarray(Image.open(BUNDLED / product / place)).astype(int)
    assert np.abs(fresh - stored).mean() < 0.1
    mask = f"{product}/ground_truth/{defect}/part_{index:03d}_mask.png"
    fresh, stored = (np.asarray(Image.open(root / mask)) > 0 for root in (tmp_path, BUNDLED))
    assert (fresh & stored).sum() > 0.98 * (fresh | stored).sum()
