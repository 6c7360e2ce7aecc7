"""What every row of the table must keep, whoever adds it: a method that fails here is not ready to be used."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.methods import registry
from inspect_core.methods.fitted_method import joined_errors
from inspect_core.methods.method import PUBLISHED, Method, Patches, Workload, stops_up_to
from inspect_core.methods.registry import METHODS, methods_of
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runtime.json_record import check
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.study import Study

PHOTOS, GRID, WIDTH, SEED = 24, (4, 5), 12, 3
SMALL = {"k": 6, "M": 64, "patches": 200, "components": 6}
"""Parameters of a quick fit, of those a method has."""
JOINED = "mahalanobis+quadrics"

every_method = pytest.mark.parametrize(("name", "method"), METHODS.items(), ids=list(METHODS))


def photos(count: int, *, width: int = WIDTH, grid: tuple[int, int] = GRID, seed: int = 1) -> torch.Tensor:
    """(count, h, w, width) float32 near a curved surface, with a mean of its own at every place."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(count, *grid, 4))
    mixed = np.tanh(latent @ np.random.default_rng(0).normal(size=(4, width)))
    place = np.random.default_rng(2).normal(size=(*grid, width))
    return torch.from_numpy((mixed + place + 0.05 * rng.normal(size=mixed.shape)).astype(np.float32))


def learned(method: Method, features: torch.Tensor, columns, chosen: dict, report=lambda fraction: None):
    """The detector of all these photos, seen a few at a time."""
    count, *grid, width = features.shape
    statistics = method.begin(Patches(count, tuple(grid), width), columns, SEED, chosen)
    for numbers in torch.arange(count).split(7):
        method.update(statistics, features[numbers], numbers.tolist())
        report(0.0)
    return method.finish(statistics, SEED, chosen, report)


def parameters(method: Method, **overrides) -> dict:
    return {
        **method.defaults,
        **{name: value for name, value in (SMALL | overrides).items() if name in method.defaults},
    }


def fitted(method: Method, features: torch.Tensor | None = None, **overrides):
    features = photos(PHOTOS) if features is None else features
    chosen = parameters(method, **overrides)
    columns = method.project(features.shape[-1], SEED, chosen)
    projected = features if columns is None else features @ columns
    return learned(method, projected, columns, chosen), projected


@pytest.fixture(scope="module")
def joined(unhurried, product, small_backbone, tmp_path_factory):
    """A study of a detector of two methods, fitted."""
    parameters = {"k": 6, "components": 6, "m": 5, "patches": 300}
    store = FeatureStore(tmp_path_factory.mktemp("features"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Study.from_photos(
            scan(product), small_backbone, store, method=JOINED, parameters=parameters, grid=(8, 8)
        ).fit()


@every_method
def test_the_exported_graph_scores_as_the_detector_does(name, method):
    """At every stop it takes the joined channels of any batch to the detector's own scores, but for rounding."""
    if not method.exportable:
        pytest.skip("it has no graph, so it is not exported")
    detector, _ = fitted(method)
    features = photos(5, seed=9)
    columns = method.project(WIDTH, SEED, parameters(method))
    for stop in stops_up_to(method.max_value(detector))[::5] if method.live_parameter else (0,):
        mixed, head = method.graph(detector, columns, stop)
        inputs = features if mixed is None else features @ mixed.float()
        patches = features if columns is None else features @ columns
        expected = torch.cat(
            [method.score(detector, photo[None], stop if method.live_parameter else None) for photo in patches]
        )
        actual = head(inputs.permute(0, 3, 1, 2))
        torch.testing.assert_close(actual, expected.float(), rtol=2e-4, atol=2e-5 * float(expected.abs().max()))


def test_the_table_holds_each_of_its_files_in_order():
    folder = Path(registry.__file__).parent
    assert set(METHODS) == {path.stem for path in folder.glob("*.py") if "\nMETHOD = " in path.read_text("utf-8")}
    ranks = [method.rank for method in METHODS.values()]
    assert ranks == sorted(set(ranks))


@every_method
def test_refit_is_equal_to_the_bit(name, method):
    first, second = (fitted(method)[0].arrays() for _ in range(2))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_refit_of_joined_methods_is_equal_to_the_bit(joined):
    other_study = joined.with_parameters({}).fit()
    for first, second in zip(joined.scored.views, other_study.scored.views, strict=True):
        left, two = first.detector.arrays(), second.detector.arrays()
        assert all(torch.equal(left[key], two[key]) for key in left)
    assert np.array_equal(joined.scores(), other_study.scores())


def test_joined_methods_are_equal_to_the_bit_after_loading(joined, tmp_path):
    save(joined.recipe(), tmp_path / "r.zip")
    loaded = load(tmp_path / "r.zip")
    assert loaded.method == JOINED
    patches = joined.features(joined.photos[0])
    for k, m in ((1, 5), (3, 1), (6, 5)):
        live = {"k": k, "m": m}
        assert np.array_equal(joined_errors(loaded.views, [patches], live)[0], joined.scored.grid_errors(**live)[0])


@every_method
def test_a_batch_scores_as_its_photos_one_by_one(name, method):
    detector, features = fitted(method)
    value = method.start(detector) if method.live_parameter else None
    batch = method.score(detector, features[:6], value)
    for photo, scores in zip(features[:6], batch, strict=True):
        torch.testing.assert_close(method.score(detector, photo[None], value)[0], scores, rtol=1e-5, atol=1e-6)


@every_method
def test_a_sweep_scores_as_each_stop_by_itself(name, method):
    detector, features = fitted(method)
    stops = stops_up_to(method.max_value(detector)) if method.live_parameter else (0,)
    sweep = method.sweep(detector, features[:1], stops).reshape(len(stops), *GRID)
    for stop, scores in zip(stops, sweep, strict=True):
        single = method.score(detector, features[:1], stop if method.live_parameter else None)[0]
        torch.testing.assert_close(scores, single, rtol=1e-5, atol=1e-5 * float(sweep.abs().max()), check_dtype=False)


@every_method
def test_ceiling_is_reached_and_never_exceeded(name, method):
    detector, features = fitted(method)
    for value in stops_up_to(method.max_value(detector))[::7] if method.live_parameter else (0,):
        if (ceiling := method.ceiling(detector, value)) is None:
            return
        assert float(method.score(detector, features[:3], value).max()) < ceiling
        strange = method.score(detector, 1e3 * torch.ones_like(features[:1]), value)
        torch.testing.assert_close(strange, torch.full_like(strange, ceiling))


@every_method
def test_saved_and_loaded_scores_are_equal_to_the_bit(name, method):
    detector, features = fitted(method)
    arrays = safetensors.torch.load(safetensors.torch.save({n: a.contiguous() for n, a in detector.arrays().items()}))
    loaded = method.detector_class.from_arrays(arrays, detector.params())
    assert type(loaded) is type(detector)
    value = method.start(detector) if method.live_parameter else None
    assert torch.equal(method.score(detector, features[:2], value), method.score(loaded, features[:2], value))


@every_method
def test_a_recipe_may_hold_what_a_fit_gives(name, method):
    detector, _ = fitted(method)
    check(detector.params(), method.rules(), name, "recipe.json")
    arrays = method.detector_class.array_specs(detector.params(), detector.arrays())
    assert detector.arrays().keys() == arrays.keys()
    assert any("k" in array.shape for array in arrays.values())
    for key, values in detector.arrays().items():
        assert arrays[key].low <= values.min() <= values.max() <= arrays[key].high, key


@every_method
def test_a_stranger_scores_above_the_good(name, method):
    if method.learns_from_defects:
        pytest.skip("good photos alone teach it nothing")
    detector, features = fitted(method)
    value = method.start(detector) if method.live_parameter else None
    strange = features[:1].flip(-1) * 3
    assert method.score(detector, strange, value).mean() > method.score(detector, features[:1], value).mean()


@every_method
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_features_that_are_not_finite_are_refused(name, method, wrong):
    detector, features = fitted(method)
    value = method.start(detector) if method.live_parameter else None
    features = features[:1].clone()
    features[0, 1, 2, 0] = wrong
    with pytest.raises(ValueError, match="not finite"):
        method.score(detector, features, value)
    with pytest.raises(ValueError, match="not finite"):
        fitted(method, torch.full((PHOTOS, *GRID, WIDTH), wrong))


@every_method
def test_features_of_another_width_are_refused_with_both_numbers(name, method):
    detector, features = fitted(method)
    width = features.shape[-1]
    with pytest.raises(ValueError, match=rf"{width + 1}\b.*\b{width}\b"):
        method.score(
            detector, torch.zeros(1, *GRID, width + 1), method.start(detector) if method.live_parameter else None
        )


@every_method
def test_a_live_value_outside_the_fit_is_refused(name, method):
    detector, features = fitted(method)
    if not method.live_parameter:
        assert method.max_value(detector) == 0
        return
    assert 1 <= method.start(detector) <= method.max_value(detector)
    with pytest.raises(ValueError, match=method.live_parameter):
        method.score(detector, features[:1], method.max_value(detector) + 1)


@every_method
def test_a_fit_stops_when_the_user_asks(name, method):
    def stop(fraction: float) -> None:
        raise Cancelled

    columns = method.project(WIDTH, SEED, parameters(method))
    features = photos(4) if columns is None else photos(4) @ columns
    with pytest.raises(Cancelled):
        learned(method, features, columns, parameters(method), stop)


@every_method
def test_every_control_is_described(name, method):
    moving = {*method.refit_parameters, *([method.live_parameter] if method.live_parameter else [])}
    assert moving == set(method.controls)
    for parameter, control in method.controls.items():
        assert all((control.label.strip(), control.unit.strip(), control.effect.strip(), control.help.strip())), (
            parameter
        )
        assert control.label.endswith(f" ({control.sign})")
        assert control.effect not in control.tooltip, "it stands below the control"
    assert method.title
    assert len(method.title) <= 16, "for narrow tables"
    assert method.use_case.endswith(".")
    assert set(method.refit_parameters) <= set(method.defaults)
    assert set(method.refit_values(fitted(method)[0])) == set(method.refit_parameters)
    assert set(method.options) <= set(method.defaults)


@every_method
def test_as_published_says_whose_patch_grid_it_is(name, method):
    """Only Kim et al., PaDiM and PatchCore have patches; the other papers score whole images."""
    borrowed = method.published["grid"] == PUBLISHED["grid"] and name not in ("mahalanobis", "sampled")
    assert ("layers and grid are those of Kim et al." in method.published_words) == borrowed


@every_method
def test_what_it_declares_ends_with_it(name, method):
    for detector in (*method.candidates, *method.comparison_detectors):
        assert methods_of(detector)[-1] == name


@every_method
def test_explore_shows_variance_and_patch_features(name, method):
    detector, features = fitted(method)
    variances = method.variances(detector)
    if variances is not None:
        assert (variances.diff() <= 0).all()
        assert len(variances) >= method.max_value(detector)
    else:
        assert not method.refit_parameters
        spectrum = method.spectrum(detector)
        assert spectrum.endswith(".") if isinstance(spectrum, str) else spectrum.photos == PHOTOS
    rows, places = features[0].flatten(end_dim=1), np.stack(np.divmod(np.arange(GRID[0] * GRID[1]), GRID[1]), axis=1)
    space = method.to_space(detector, rows, places, method.start(detector) if method.live_parameter else None)
    assert len(space) == len(rows)
    assert torch.isfinite(space).all()
    if not method.space:
        assert space is rows


@every_method
def test_the_forecast_is_there_and_grows_with_the_photos(name, method):
    chosen = parameters(method, patches=300, k=24)
    few, many = (method.costs(Workload(count, count, 144, 32), chosen) for count in (20, 60))
    assert all(np.isfinite(cost.seconds) and cost.seconds > 0 and cost.memory > 0 for cost in (few, many))
    assert many.seconds >= few.seconds
    none, first, two, three = (method.costs(Workload(0, shown, 144, 32), chosen).seconds for shown in range(4))
    assert two - first > 0, "a photo that is scored takes its time"
    assert three - two == pytest.approx(two - first) == pytest.approx(first - none)
