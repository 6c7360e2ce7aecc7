"""Recipes and fits that would take more memory than they may: refused with the sum, before anything is allocated."""

import math
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspect_core.cli.commands import main
from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.features.tapped_network import PICTURE
from inspect_core.methods.method import LARGEST_FIT, Workload
from inspect_core.methods.registry import DETECTORS, FITTED, METHODS, parameters_of
from inspect_core.recipe_format import arrays
from inspect_core.recipe_format.arrays import LARGEST_RECIPE, photo_bytes
from inspect_core.recipe_format.recipe_package import Package, RecipeError
from inspect_core.recipe_io.recipe_file import load
from inspect_core.study.study import Study
from tests.examples import examples

SUM = r"would need [\d,]+\.\d GB of memory, at most \d\.\d GB"
MEGABYTE = 2**20


def check(document: dict, header: dict) -> dict[str, int]:
    return arrays.check(document, header, DETECTORS)


def of_gaussians(grid: tuple[int, int], k: int, d: int = 400, size: tuple[int, int] = (256, 256)) -> tuple[dict, dict]:
    """Fields and header of a recipe of the first method."""
    document = {
        "geometry": {"grid": list(grid), "size": list(size)},
        "views": [{"name": "mahalanobis", "params": {}, "scale_stops": []}],
    }
    document |= dict.fromkeys(("product_check", "known_cases", "defect_types", "alignment", "areas", "tiles"))
    header = {
        "view0.projection": ("F32", (d, k)),
        "view0.mean": ("F32", (*grid, k)),
        "view0.cholesky": ("F32", (*grid, k * (k + 1) // 2)),
    }
    return document, header


TOO_MUCH = {
    "a packed triangle": of_gaussians((1, 1), 20_000, 20_000),
    "many factors": of_gaussians((128, 128), 200),
    "grid": of_gaussians((5000, 5000), 1),
    "size": of_gaussians((32, 32), 100, size=(16384, 16384)),
    "absurd": of_gaussians((2**31, 2**31), 1),
}


@pytest.mark.parametrize("recipe", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_header_that_asks_for_too_much(recipe):
    tracemalloc.start()
    with pytest.raises(ValueError, match=SUM):
        check(*recipe)
    assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    tracemalloc.stop()


def test_tiles_of_a_photo_that_is_too_large():
    """The network sees one tile at a time; photo and map count whole."""
    document, header = of_gaussians((94, 125), 50)
    document["tiles"] = {"size": [3008, 4000], "overlap": 64, "cell": 32}
    check(document, header)
    document, header = of_gaussians((512, 512), 20)
    document["tiles"] = {"size": [16384, 16384], "overlap": 64, "cell": 32}
    with pytest.raises(ValueError, match=SUM):
        check(document, header)


@pytest.mark.parametrize(
    ("method", "name", "shape"),
    [
        ("nearest", "view0.bank", (100_000, 6)),
        ("kernel_pca", "view0.x", (40_000, 10)),
        ("corp", "view0.w0", (60_000, 10)),
        ("mahalanobis", "known_cases.pictures", (200_000, 64, 64, 3)),
        ("kernel_pca", "defect_types.mu", (30_000_000, 8)),
    ],
)
def test_long_arrays_that_ask_for_too_much(recipes, package, method, name, shape):
    """Every array that shares the length grows with it."""
    saved = package.save(recipes[method])
    document = saved.document()
    codes = {kind: name for name, kind in arrays.DTYPES.items()}
    header = {name: (codes[value.dtype], value.shape) for name, value in saved.arrays().items()}
    lengths = check(document, header)
    part, shared = name.split(".")[0], header[name][1][0]
    grown = {
        other: (kind, tuple(shape[0] if length == shared and other.startswith(part) else length for length in old))
        for other, (kind, old) in header.items()
    }
    assert lengths["view0.k"] != shared
    with pytest.raises(ValueError, match=SUM):
        check(document, grown)


def test_every_number_counts_in_the_file_as_used_and_as_a_copy(recipes, package, monkeypatch):
    """The file, the array and a working copy 8 bytes each in float64; copies of the matrices of quadrics 24."""
    needed = []
    monkeypatch.setattr(arrays, "require_memory", lambda total, most, subject: needed.append(total))
    saved = package.save(recipes["quadrics"])
    codes = {kind: name for name, kind in arrays.DTYPES.items()}
    header = {name: (codes[value.dtype], value.shape) for name, value in saved.arrays().items()}
    check(saved.document(), header)
    for name in ("view0.A", "view0.b", "view0.c"):
        kind, (m, *rest) = header[name]
        header[name] = (kind, (m + 1, *rest))
    check(saved.document(), header)
    matrices, vectors, numbers = (math.prod(header[f"view0.{name}"][1][1:]) for name in "Abc")
    assert needed[1] - needed[0] == 40 * matrices + 24 * (vectors + numbers)


@pytest.mark.parametrize(("field", "value"), [("grid", [4000, 4000]), ("size", [16384, 16384]), ("size", [32, 2**25])])
def test_a_small_recipe_of_a_large_geometry(recipes, package, monkeypatch, field, value):
    document = package.save(recipes["cop"]).document()
    document["geometry"][field] = value
    monkeypatch.setattr(Package, "arrays", lambda *_: pytest.fail("arrays were read"))
    tracemalloc.start()
    with pytest.raises(RecipeError, match=rf"^part: .*{SUM}"):
        load(package.with_document(document))
    assert tracemalloc.get_traced_memory()[1] < 10 * MEGABYTE
    tracemalloc.stop()


def test_what_the_page_can_teach_at_most_is_allowed():
    """Grid 64, k 200, 512 pixels: the ends of the sliders."""
    check(*of_gaussians((64, 64), 200, 1500, (512, 512)))
    for method in METHODS:
        parameters = {"k": 200} if "k" in METHODS[method].defaults else {}
        parameters |= {"components": 88, "m": 300} if method == "quadrics" else {}
        width = 3 if METHODS[method].taps == PICTURE else 256
        costs = METHODS[method].costs(Workload(1000, 500, 64 * 64, width), parameters_of([method], parameters)[0])
        costs.with_photos(photo_bytes((512, 512), (64, 64), 256))


def as_taught(method: str, grid: tuple[int, int], width: int, count: int, size: tuple[int, int]) -> tuple[dict, dict]:
    """Fields and header of the largest recipe that comes of a fit with `count` features or samples."""
    document, header = of_gaussians(grid, count, max(count, width), size)
    document["views"][0] |= {"name": method, "params": {"gamma": 1.0}}
    if method == "corp":
        header = {"mean": (count,), "components": (count, count), "w0": (count, width), "u": (count,)}
    elif method == "kernel_pca":
        header = {"x": (count, width), "alpha": (count, count), "row_mean": (count,)}
    else:
        return document, header
    kind = "F32" if method == "corp" else "F64"
    header = {f"view0.{name}": (kind, shape) for name, shape in header.items()}
    return document, header | {"view0.eigenvalues": ("F64", (count,)), "view0.columns": ("F32", (width, width))}


@given(
    st.sampled_from([("mahalanobis", "k"), ("corp", "M"), ("kernel_pca", "patches")]),
    st.tuples(st.integers(1, 400), st.integers(1, 400)),
    st.integers(1, 300),
    st.integers(1, 20_000),
    st.tuples(st.integers(1, 60), st.integers(1, 60)).map(lambda sides: (32 * sides[0], 32 * sides[1])),
)
@example(("mahalanobis", "k"), (35, 369), 1, 113, (352, 1920))
@settings(deadline=None, max_examples=examples(100))
def test_what_can_be_taught_loads(method, grid, width, count, size):
    name, parameter = method
    width = max(width, count) if name == "mahalanobis" else width
    costs = METHODS[name].costs(Workload(1, 1, grid[0] * grid[1], width), {parameter: count})
    try:
        costs.with_photos(photo_bytes(size, grid, count if name == "mahalanobis" else width))
    except ValueError:
        return
    check(*as_taught(name, grid, width, count, size))


def test_the_bound_of_a_fit_is_that_of_its_recipe_doubled():
    assert LARGEST_FIT == 2 * LARGEST_RECIPE


def test_a_covariance_of_all_channels_at_every_place_is_refused():
    """Shading learns of the three colours of the picture; of all that a network has it would take 9 GB, and more."""
    costs = METHODS["shade"].costs(Workload(60, 60, 32 * 32, 1056), {"ridge": 1e-5})
    with pytest.raises(ValueError, match=SUM):
        costs.with_photos(photo_bytes((256, 256), (32, 32), 1056))


@pytest.mark.parametrize("method", FITTED)
def test_a_study_of_too_many_patches(product, network, tmp_path, method):
    photos = scan(product)
    tracemalloc.start()
    with pytest.raises(ValueError, match=SUM):
        Study.from_photos(photos, network, FeatureStore(tmp_path / "features"), method=method, grid=(5000, 5000))
    assert tracemalloc.get_traced_memory()[1] < 10 * MEGABYTE
    tracemalloc.stop()


def test_the_command_line_says_so(product, tmp_path, capsys):
    assert main(["fit", str(product), "--out", str(tmp_path / "recipe"), "--grid", "5000"]) == 2
    output = capsys.readouterr().err
    assert "teaching this would need" in output
    assert "GB" in output
    assert not (tmp_path / "recipe").exists()
