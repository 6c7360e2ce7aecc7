"""Kernel density forest and network: a classifier whose confidence falls to the prior far from what it has seen.

A parent model cuts feature space into polytopes. Each polytope that holds training samples gets one diagonal Gaussian,
weighted for each class by the samples around it in the parent's geodesic kernel. The parent decides where the class
boundaries are; the Gaussians decide how far from the examples that decision holds.

Source: Dey, Xu, De Silva and Vogelstein, "Simple Calibration via Geodesic Kernels", TMLR 2025.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.classify.examples import LabelledSample, Part, as_points, label_array
from inspect_core.classify.forest import Forest, grow_forest
from inspect_core.classify.polytope_gaussians import Parent, PolytopeGaussians, fit_gaussians, log_class_ratios
from inspect_core.classify.posterior import calibrated_constant, calibration_error, fixed_constant, posterior
from inspect_core.classify.relu_net import ReluNet
from inspect_core.runtime.json_record import FLAG, LARGEST, SMALLEST, TEXT, WIDTH, list_of
from inspect_core.runtime.stored import ArraySpec, floats, fractions, integers

PAPER_LOG_B = -1e7
"""Our reading exp(-10^7) of the paper's constant b, which it prints as exp(-10^-7) (METHODS section 5): it acts only
where the density is below it, far from every polytope."""

LOG_OF_NOTHING = float(np.finfo(np.float64).min)
"""What a recipe has for the logarithm of 0."""
_RULES = {"classes": list_of(TEXT, least=1), "power": WIDTH, "lam": WIDTH, "euclidean": FLAG, "parent": TEXT}
RULES = {"forest": _RULES, "network": _RULES | {"with_output": FLAG}}
"""What the parameters in recipe.json must be, by parent."""
_SPECS = {
    "mu": floats("polytopes e"),
    "var": floats("polytopes e", SMALLEST**2, LARGEST**2),
    "log_ratio": floats("polytopes classes", LOG_OF_NOTHING),
    "prior": fractions("classes"),
    "constant": floats("1", LOG_OF_NOTHING),
    "scale": floats("1", SMALLEST),
}
_LOGARITHMS = ("log_ratio", "constant")
_FOREST_CODES = integers("polytopes trees")
_NETWORK_CODES = floats("polytopes units", 0, 1, ("BOOL",))

FOREST_POWERS = (0.5, 1, 2, 3, 4, 6, 8, 12)
NETWORK_POWERS = (*FOREST_POWERS, 16, 24, 32)


@dataclass(frozen=True, eq=False)
class KernelDensityClassifier:
    """Fitted by `fit_kdf` or `fit_kdn`.

    classes: (C,), sorted labels, the order of every column. prior: (C,), their shares of the training sample.
    gaussians: one for each of R polytopes, on features divided by `scale`. log_ratio: (R, C), log(n_ry / n_y).
    constant: log(b / log n), added to every class's density. power: of the kernel, gamma log n in the paper.
    """

    parent: Forest | ReluNet
    classes: np.ndarray
    prior: np.ndarray
    gaussians: PolytopeGaussians
    log_ratio: np.ndarray
    constant: float
    scale: float
    power: float
    lam: float
    euclidean: bool

    def predict_proba(self, x: ArrayLike) -> np.ndarray:
        """Posterior of each class: (n, d) -> (n, C) float64, rows summing to 1.

        Raises ValueError when x is not (n, d) of the fitted width, or not finite, naming the row.
        """
        nearest, log_normal = self.gaussians.log_density(self.parent, self._scaled(x), euclidean=self.euclidean)
        return posterior(self.log_ratio[nearest] + log_normal[:, None], self.constant, self.prior)

    def predict(self, x: ArrayLike) -> np.ndarray:
        """The likeliest label of each sample, the first of equals: (n, d) -> (n,). Raises as `predict_proba`."""
        return self.classes[self.predict_proba(x).argmax(axis=1)]

    def parent_proba(self, x: ArrayLike) -> np.ndarray:
        """The posterior of the forest or net alone: (n, d) -> (n, C). Raises as `predict_proba`."""
        return self.parent.proba(self._scaled(x))

    def arrays(self) -> dict[str, np.ndarray]:
        """mu, var, codes, log_ratio, prior, constant, scale and the parent's arrays: all numbers, no pickle.

        They are finite, with LOG_OF_NOTHING for the logarithm of 0.
        """
        arrays = {"mu": self.gaussians.mu, "var": self.gaussians.var, "codes": self.gaussians.codes}
        arrays |= {"log_ratio": self.log_ratio, "prior": self.prior}
        arrays |= {"constant": np.array([self.constant]), "scale": np.array([self.scale])}
        arrays |= {name: np.where(np.isneginf(arrays[name]), LOG_OF_NOTHING, arrays[name]) for name in _LOGARITHMS}
        return arrays | self.parent.arrays()

    def params(self) -> dict:
        """All values that are not arrays; JSON-able when the labels are."""
        params = {"classes": self.classes.tolist(), "power": self.power, "lam": self.lam, "euclidean": self.euclidean}
        if isinstance(self.parent, Forest):
            return params | {"parent": "forest"}
        return params | {"parent": "network", "with_output": self.parent.with_output}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping[str, Any]) -> Self:
        """The classifier that `arrays()` and `params()` came from; its posteriors are equal to the bit."""
        if params["parent"] == "forest":
            parent = Forest.from_arrays(arrays, {})
            parent.require_width(arrays["mu"].shape[1])
        else:
            parent = ReluNet.from_arrays(arrays, with_output=params["with_output"])
        log_ratio, constant = (np.where(arrays[name] == LOG_OF_NOTHING, -np.inf, arrays[name]) for name in _LOGARITHMS)
        return cls(
            parent=parent,
            classes=label_array(params["classes"]),
            prior=arrays["prior"],
            gaussians=PolytopeGaussians(arrays["mu"], arrays["var"], arrays["codes"]),
            log_ratio=log_ratio,
            constant=float(constant[0]),
            scale=float(arrays["scale"][0]),
            power=params["power"],
            lam=params["lam"],
            euclidean=params["euclidean"],
        )

    @staticmethod
    def array_specs(params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """What the arrays of a recipe with these parameters must be; names: those it has."""
        if params["parent"] == "forest":
            return _SPECS | {"codes": _FOREST_CODES} | Forest.array_specs(params, names)
        return _SPECS | {"codes": _NETWORK_CODES} | ReluNet.array_specs(names)

    def _scaled(self, x: ArrayLike) -> np.ndarray:
        return as_points(x, width=self.gaussians.mu.shape[1]) / self.scale


def fit_kdf(
    x: ArrayLike,
    y: Iterable,
    *,
    held_out: tuple[ArrayLike, Iterable] | None = None,
    trees: int = 500,
    power: float | None = None,
    lam: float = 1e-6,
    log_b: float | None = None,
    seed: int = 0,
    euclidean: bool = False,
    lam_undivided: bool = False,
) -> KernelDensityClassifier:
    """Kernel density forest: the parent is a random forest of `trees` trees.

    x: (n, d), divided inside by its largest norm. y: n hashable labels of one type.
    held_out: a random part of the same sample, (x, y), kept out of the fit to choose power and constant with. None
    holds out a random fifth of x, chooses with it, and fits again on all.
    power: of the kernel in the weights, the paper's gamma log n; None takes the one of `FOREST_POWERS` with the least
    expected calibration error on the held-out part, the smallest of equals.
    lam: added to a polytope's sum of squares, in units of the largest norm squared; 1e-3 falls to the prior sooner.
    log_b: log of the paper's constant b (`PAPER_LOG_B`); None sets the constant to a tenth of the least density on the
    held-out part, so that the posterior falls to the prior where it is less dense than that; -inf never acts.
    euclidean: nearest polytope by distance to its mean, not by kernel. lam_undivided: lam is added to the variance.

    Memory: blocks of a few million entries beside n x trees leaves, never n x n. Warns when there is only one class,
    and of classes with few examples. Raises ValueError naming argument, value and cure for bad examples and values out
    of range.
    """
    if trees < 1:
        raise ValueError(f"trees is {trees}; grow at least 1")
    sample = LabelledSample.from_labelled(x, y, held_out, seed=seed)
    settings = _Settings(power, lam, log_b, euclidean, lam_undivided)
    forest_seed = int(sample.parent_seed.generate_state(1)[0])

    def grow(part: Part) -> Forest:
        return grow_forest(*part, classes=len(sample.classes), trees=trees, seed=forest_seed)

    if power is not None and log_b is not None:
        return _assemble(grow(sample.all), sample, sample.all, settings, power, log_b)
    train, calibration = sample.split()
    forest = grow(train)
    power, constant = _choose(forest, sample, train, calibration, settings, FOREST_POWERS)
    if held_out is None:
        train = sample.all
        forest = grow(sample.all)
    return _assemble(forest, sample, train, settings, power, constant)


def fit_kdn(
    x: ArrayLike,
    y: Iterable,
    *,
    held_out: tuple[ArrayLike, Iterable] | None = None,
    hidden: Sequence[int] = (100,) * 4,
    power: float | None = None,
    lam: float = 1e-6,
    log_b: float | None = None,
    seed: int = 0,
    euclidean: bool = False,
    lam_undivided: bool = False,
    include_output: bool = False,
) -> KernelDensityClassifier:
    """Kernel density network: the parent is a ReLU net with `hidden` units per layer.

    The net trains until the held-out cross-entropy no longer falls; fitted again on all examples, it trains for as
    many epochs. Powers are tried from `NETWORK_POWERS`. include_output: the kernel's paths run to the output layer,
    where an entry is on if the net gives its class more than an even share. Polytopes are then no longer convex, but
    on wide embeddings, where the hidden units alone hardly tell the classes apart, it is what keeps the accuracy.
    The other parameters, warnings and errors are those of `fit_kdf`, except that a held-out part is always needed.
    Memory: 12 bytes for each of n x units codes, beside blocks of a few million entries.
    """
    # Imported here only: a trained net is evaluated from its arrays and needs no torch.
    from inspect_core.classify.net_training import train_for, train_until_held_out_rises

    if not hidden or min(hidden) < 1:
        raise ValueError(f"hidden is {tuple(hidden)}; give at least one layer, each of at least 1 unit")
    sample = LabelledSample.from_labelled(x, y, held_out, seed=seed)
    settings = _Settings(power, lam, log_b, euclidean, lam_undivided)
    shape = {
        "classes": len(sample.classes),
        "hidden": hidden,
        "seed": sample.parent_seed,
        "with_output": include_output,
    }
    train, calibration = sample.split()
    net, epochs = train_until_held_out_rises(*train, *calibration, **shape)
    power, constant = _choose(net, sample, train, calibration, settings, NETWORK_POWERS)
    if held_out is None:
        train = sample.all
        net = train_for(*sample.all, epochs=epochs, **shape)
    return _assemble(net, sample, train, settings, power, constant)


@dataclass(frozen=True, eq=False)
class _Settings:
    power: float | None
    lam: float
    log_b: float | None
    euclidean: bool
    lam_undivided: bool

    def __post_init__(self) -> None:
        if self.power is not None and not (np.isfinite(self.power) and self.power > 0):
            raise ValueError(f"power is {self.power}; give a positive number, or None to have it chosen")
        if not (np.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"lam is {self.lam}; give a positive number, such as 1e-6 or 1e-3")
        if self.log_b is not None and not self.log_b < np.inf:
            raise ValueError(f"log_b is {self.log_b}; give a number, -inf for no constant, or None to calibrate it")


def _prior(numbers: np.ndarray, sample: LabelledSample) -> np.ndarray:
    return np.bincount(numbers, minlength=len(sample.classes)) / len(numbers)


def _choose(
    parent: Parent, sample: LabelledSample, train: Part, calibration: Part, settings: _Settings, powers: Sequence[float]
) -> tuple[float, float]:
    """The power with the least calibration error on the held-out examples, and log(b / log n) calibrated with
    it; what is given is not looked for, and log b takes the place of the constant.
    """
    if settings.power is not None and settings.log_b is not None:
        return settings.power, settings.log_b
    if settings.power is not None:
        powers = (settings.power,)
    gaussians, counts = _fit_gaussians(parent, sample, train, settings)
    nearest, log_normal = gaussians.log_density(parent, calibration[0], euclidean=settings.euclidean)
    candidates = []
    for ratio in log_class_ratios(parent, gaussians.codes, counts, powers):
        log_density = ratio[nearest] + log_normal[:, None]
        constant = calibrated_constant(log_density)
        in_force = constant if settings.log_b is None else fixed_constant(settings.log_b, len(train[0]))
        candidates.append(
            (calibration_error(posterior(log_density, in_force, _prior(train[1], sample)), calibration[1]), constant)
        )
    best = min(range(len(powers)), key=lambda i: candidates[i][0])
    return float(powers[best]), candidates[best][1]


def _assemble(
    parent: Forest | ReluNet, sample: LabelledSample, part: Part, settings: _Settings, power: float, constant: float
) -> KernelDensityClassifier:
    """The classifier on `part`, with the power and, unless log_b was given, the constant chosen before."""
    gaussians, counts = _fit_gaussians(parent, sample, part, settings)
    return KernelDensityClassifier(
        parent=parent,
        classes=sample.classes,
        prior=_prior(part[1], sample),
        gaussians=gaussians,
        log_ratio=log_class_ratios(parent, gaussians.codes, counts, (power,))[0],
        constant=float(constant if settings.log_b is None else fixed_constant(settings.log_b, len(part[0]))),
        scale=sample.scale,
        power=float(power),
        lam=float(settings.lam),
        euclidean=settings.euclidean,
    )


def _fit_gaussians(
    parent: Parent, sample: LabelledSample, part: Part, settings: _Settings
) -> tuple[PolytopeGaussians, np.ndarray]:
    classes = len(sample.classes)
    return fit_gaussians(parent, *part, classes=classes, lam=settings.lam, lam_undivided=settings.lam_undivided)
