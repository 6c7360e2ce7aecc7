"""Recipes of every method and with every part, small and without a network, and a made-up network to inspect with."""

import hashlib
import json
import re
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
import torch

from inspect_core.recipe_format import recipe_package

JOINED = "mahalanobis+quadrics"
CHANNELS, EMBEDDING, CLASSES, GRID, SIZE = 10, 8, 12, (4, 3), (64, 96)


class MadeUpNetwork:
    """What `inspect` asks of a backbone, with features that depend on the photo."""

    name, size, taps, tap_channels, device = "made up", SIZE, ("blocks.1.1",), (CHANNELS,), torch.device("cpu")
    at_once, channels = 1, {"blocks.1.1": CHANNELS}

    def run(self, images, join=None, *, head=False):
        maps, *further = (
            torch.from_numpy(self._drawn(images, len(images), *shape))
            for shape in [(*GRID, CHANNELS), *([(EMBEDDING,), (CLASSES,)] if head else [])]
        )
        return *((maps,) if join is None else join.of_maps(self.taps, [maps])), *further

    def embed(self, images):
        return self.run(images, head=True)[1]

    @staticmethod
    def _drawn(images, *shape):
        return np.random.default_rng(int(images.sum())).normal(2, 1, shape).astype(np.float32)


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """A test that waits for a pipe fails instead."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def network() -> MadeUpNetwork:
    return MadeUpNetwork()


@pytest.fixture(scope="session")
def recipes(recipe, network) -> dict:
    """A recipe of each method by its name, and of two joined; between them all parts: both product checks, gallery,
    forest and net."""
    from inspect_core.classify.kernel_density import fit_kdf, fit_kdn
    from inspect_core.detectors.cop_corp import fit_corp
    from inspect_core.detectors.mahalanobis.projections import semi_orthogonal
    from inspect_core.features.patch_join import PatchFeatureSpec
    from inspect_core.methods.fitted_method import FittedMethod
    from inspect_core.methods.method import Patches
    from inspect_core.methods.registry import METHODS, parameters_of
    from inspect_core.scoring.local_scale import GoodMaps
    from inspect_core.tuning import product_check_training
    from inspect_core.tuning.known_cases_training import learn
    from inspect_core.whole_part.defect_types import DefectTypes
    from inspect_core.whole_part.known_cases import KnownCase
    from inspect_core.whole_part.product_check import ProductCheck, ProductSubspace

    rng = np.random.default_rng(8)
    photos = [torch.from_numpy(rng.normal(2, 1, (1, *GRID, CHANNELS)).astype(np.float32)) for _ in range(8)]
    choices = {"mahalanobis": {"k": 5}, "sampled": {"k": 4}, "corp": {"M": 16}, "kernel_pca": {"patches": 24}}
    choices |= {"quadrics": {"components": 4, "m": 3}, "nearest": {"patches": 20}}

    def view_of(name: str) -> FittedMethod:
        row, (parameters,) = METHODS[name], parameters_of([name], choices.get(name, {}))
        columns = semi_orthogonal(CHANNELS, 6) if name == "nearest" else row.project(CHANNELS, 0, parameters)
        features = photos if columns is None else [photo @ columns for photo in photos]
        statistics = row.begin(Patches(len(features), GRID, features[0].shape[-1]), columns, 0, parameters)
        row.update(statistics, torch.cat(features), range(len(features)))
        detector = row.finish(statistics, 0, parameters, lambda fraction: None)
        spec = PatchFeatureSpec(network.taps, None if columns is None else columns.numpy(), row.pool)
        return FittedMethod(name, detector, spec)

    def scaled(view: FittedMethod) -> FittedMethod:
        columns = None if view.spec.projection is None else torch.from_numpy(view.spec.projection)
        features = photos if columns is None else [photo @ columns for photo in photos]
        errors = view.sweep(features, view.stops)
        return replace(
            view, scales={stop: GoodMaps.from_errors(errors[:, i]).finish(SIZE) for i, stop in enumerate(view.stops)}
        )

    def of_views(*views: FittedMethod):
        return replace(
            recipe,
            views=views,
            live_values={view.live_parameter: view.start for view in views if view.live_parameter} | {"area": 12},
        )

    embeddings, labels = rng.normal(2, 1, (18, EMBEDDING)).astype(np.float32), ["dent", "good", "hole"] * 6
    cases = [
        KnownCase(vector, rng.integers(0, 255, (64, 64, 3), np.uint8), f"{i:064x}", f"{i}.png", label)
        for i, (vector, label) in enumerate(zip(embeddings, labels, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = {name: of_views(view_of(name)) for name in METHODS}
        made[JOINED] = of_views(*(scaled(view_of(name)) for name in JOINED.split("+")))
        forest, net = (
            DefectTypes(fit(embeddings, labels, power=1.0, **options), by_region=False, minimum_confidence=0.1)
            for fit, options in ((fit_kdf, {"trees": 4}), (fit_kdn, {"hidden": (5, 6), "include_output": True}))
        )
        cop = product_check_training.fit(embeddings[:12], embeddings[12:], mode="stop")
        random = fit_corp(embeddings[:12], gamma=1.0, M=16)
        known = {name: values.numpy() for name, values in random.arrays().items()}
        corp = ProductCheck(ProductSubspace.from_arrays(known, random.params()), True, 0.0, 0.0, "stop")
        made["mahalanobis"] = replace(made["mahalanobis"], product_check=cop, known_cases=learn(cases, by_region=True))
        made["kernel_pca"] = replace(made["kernel_pca"], product_check=corp, defect_types=forest)
        made["quadrics"] = replace(made["quadrics"], defect_types=net)
    return made


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path / "part")


class Package:
    """A recipe folder that can be saved into and changed with its digests put right, as one who means harm would."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, recipe) -> "Package":
        from inspect_core.recipe_io.recipe_file import save

        save(recipe, self.folder)
        self.files = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        self.sums = {
            name: hashlib.sha256(data).hexdigest() for name, data in self.files.items() if name != recipe_package.SUMS
        }
        self.changed = recipe_package.RECIPE
        return self

    def document(self) -> dict:
        return json.loads(self.files[recipe_package.RECIPE])

    def arrays(self) -> dict[str, np.ndarray]:
        return safetensors.numpy.load(self.files[recipe_package.ARRAYS])

    @staticmethod
    def text_of(document: dict) -> str:
        """A text between @ signs stands there bare, for numbers Python writes not."""
        return re.sub(r'"@([^"@]*)@"', r"\1", json.dumps(document))

    def with_document(self, document: dict):
        """The folder with this recipe.json."""
        return self.with_file(recipe_package.RECIPE, self.text_of(document).encode())

    def with_arrays(self, arrays: dict[str, np.ndarray]):
        contiguous = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        return self.with_file(recipe_package.ARRAYS, safetensors.numpy.save(contiguous))

    def with_file(self, name: str, data: bytes):
        """The folder as saved, but for one file."""
        (self.folder / self.changed).write_bytes(self.files[self.changed])
        (self.folder / name).write_bytes(data)
        (self.folder / recipe_package.SUMS).write_bytes(
            recipe_package.listing_of(self.sums | {name: hashlib.sha256(data).hexdigest()})
        )
        self.changed = name
        return self.folder
