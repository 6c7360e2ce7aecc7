"""Teaching and inspecting on a pretended GPU: every method as on the CPU, with the same network run by torch."""

import textwrap
from dataclasses import replace
from functools import partial
from inspect import getsource

import numpy as np
import pytest
import torch

from inspect_core.datasets.folders import scan
from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import FeatureMap
from inspect_core.features import gpu_batches
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import embed
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.methods.registry import FITTED, known_parameters
from inspect_core.recipe import LoadedRecipe, inspect
from inspect_core.recipe_io import line_network
from inspect_core.runner import ExportedModel
from inspect_core.study import photo_features
from inspect_core.study.study import Study
from inspect_core.tuning import scatter_points
from inspect_core.tuning.patch_sample import PatchSample, explained
from inspect_core.tuning.product_check_training import train_product_check
from tests.eager import AT_ONCE, batches_of, network
from tests.pretend_gpu import GPU, OnGpu, pretended

pytestmark = pytest.mark.usefixtures("unhurried")

GRID = (8, 12)
SMALL = {"k": 8, "M": 32, "patches": 300, "components": 6, "m": 6}
CPU = torch.device("cpu")


@pytest.fixture
def fit_on(product, tmp_path, monkeypatch):
    """taught(device, method) is a study of the small product, fitted with the network on the device."""

    def by_torch(backbone: Backbone, images: np.ndarray, join, *, head: bool):
        return batches_of(backbone).run(images, partial(backbone._patches, join), head=head)

    monkeypatch.setattr(Backbone, "_with_onnx", by_torch)
    monkeypatch.setattr(gpu_batches, "largest_batch", lambda device, size: AT_ONCE)

    def study(device: torch.device, method: str) -> Study:
        parameters = {name: value for name, value in SMALL.items() if name in known_parameters(method)}
        store = FeatureStore(tmp_path / device.type)
        return Study.from_photos(
            scan(product), network(device), store, method=method, grid=GRID, parameters=parameters
        ).fit()

    return study


def outcomes(study: Study, photo: np.ndarray) -> dict[str, np.ndarray]:
    """What teaching, the bench, Explore and a recipe say, by name."""
    (view,), scored = study.scored.views, study.scored
    backbone, fused = study.extractor.backbone, view.method == "corp"
    check = train_product_check(backbone, study.split.train, study.split.calibration, fused=fused)
    verdict = inspect(photo, study.recipe(product_check=check), backbone=backbone)
    patches = scatter_points.sample_patches(
        scored, lambda i: study.features(scored.photos[i])[0], [None] * len(scored.photos), limit=1.0, count=200
    )
    result = {
        "scores": study.scores(),
        "map": study.map(0),
        "verdict": verdict.anomaly_map,
        "check": np.array(check.limit),
        "patches": patches.features,
        "seen": scatter_points.transform_points(view, patches, study.live).features,
    }
    if view.definition.refit_parameters:
        preview = PatchSample.from_study(study).fit({})
        result["preview"] = torch.as_tensor(
            view.definition.score(preview, study.patch_sample(20), view.value(study.live))
        ).cpu()
    if view.definition.live_parameter and view.variances is not None:
        result["explained"] = explained(view, view.stops)
    return {name: np.asarray(values, np.float64) for name, values in result.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", FITTED)
def test_every_method_agrees_on_gpu_and_cpu(fit_on, product, method):
    photo = read(next((product / "test/scratch").iterdir())).pixels
    expected = outcomes(fit_on(CPU, method), photo)
    with pretended():
        study = fit_on(GPU, method)
        assert isinstance(study.features(study.photos[0])[0], OnGpu)
        actual = outcomes(study, photo)
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gpu_product_is_exported_inspects_and_names_types(fit_on, product, tmp_path):
    photos = photos_of([product / "test"])
    with pretended():
        study = fit_on(GPU, "mahalanobis+nearest")
        backbone, recipe = study.extractor.backbone, study.recipe()
        embeddings = [embed(read(path).pixels, backbone) for _, path in photos]
        rows = run(LoadedRecipe(recipe, backbone), photos, Outputs())
    # An export takes the network from the CPU; what was taught still lies on the pretended GPU.
    graphs = line_network.export_graphs(recipe, replace(network(CPU), cache=tmp_path))
    line = ExportedModel(graphs, **recipe.facts)
    for row, embedding, (_, path) in zip(rows, embeddings, photos, strict=True):
        assert row.score == pytest.approx(line.inspect(read(path).pixels).score, rel=1e-4)
        np.testing.assert_allclose(embedding, embed(read(path).pixels, network(CPU)), rtol=1e-5, atol=1e-6)


def test_the_pretended_gpu_refuses_what_a_gpu_refuses():
    with pretended():
        here, there = torch.ones(3, 4), torch.ones(3, 4, device="cuda")
        assert there.device == torch.ones(1).to("cuda").device == GPU
        assert np.array_equal((there @ there.T + 1).cpu().numpy(), np.full((3, 3), 5))
        assert there[torch.tensor([0])].device == GPU, "an index may lie on the CPU"
        assert (there + torch.tensor(2.0)).device == GPU, "a single number too"
        for mixed in (lambda: here + there, lambda: torch.cat([here, there]), lambda: here @ there.T):
            with pytest.raises(RuntimeError, match="on the same device"):
                mixed()
        with pytest.raises(RuntimeError, match="indices should be"):
            here[torch.tensor([0], device="cuda")]
        for export in (there.numpy, lambda: np.asarray(there)):
            with pytest.raises(TypeError, match="to host memory first"):
                export()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("function", "right", "wrong", "method"),
    [
        (photo_features.PhotoFeatures._run, "values.cpu() for values in", "values for values in", "pca"),
        (FeatureMap.to, "w0=self.w0.to(device)", "w0=self.w0", "corp"),
        (MappedCovariance._start, "torch.float64, device=shift.device", "torch.float64", "cop"),
    ],
    ids=["a missing .cpu()", "a draw left on the CPU", "sums made on the CPU"],
)
def test_what_would_fail_on_a_gpu_fails_on_the_pretended_one(fit_on, monkeypatch, function, right, wrong, method):
    source = textwrap.dedent(getsource(function))
    assert right in source
    changed = dict(function.__globals__)
    exec(source.replace(right, wrong), changed)
    monkeypatch.setattr(function, "__code__", changed[function.__name__].__code__)
    fit_on(CPU, method)
    with pretended(), pytest.raises((RuntimeError, TypeError), match=r"same device|host memory"):
        fit_on(GPU, method)
