"""Learning kinds from few examples: every example is judged once by a model that had not seen it or its group.

These judgements choose the kernel's power and the constant of the density, set the limit to begin with, and are the
figures shown. The method by itself holds out one random fifth and takes the power of the least calibration error on it:
of some tens of examples a handful, and with photos of one part on both sides of the split. On embeddings of 1,280
features, where every example has a polytope of its own, the power then comes out too high and the classifier too sure.
"""

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from inspect_core.classify.calibrated_parents import calibrate_isotonic, calibrate_sigmoid
from inspect_core.classify.examples import as_classes, as_points
from inspect_core.classify.kernel_density import KernelDensityClassifier, fit_kdf, fit_kdn
from inspect_core.classify.polytope_gaussians import fit_gaussians, log_class_ratios
from inspect_core.classify.posterior import posterior
from inspect_core.kinds import Kinds, least_limit

FOREST, NETWORK = "forest", "network"
FITS: dict[str, Callable[..., KernelDensityClassifier]] = {
    FOREST: fit_kdf,
    # The hidden units alone hardly tell kinds apart on embeddings this wide.
    NETWORK: partial(fit_kdn, include_output=True),
}
POWERS = tuple(0.25 * 2 ** (half / 2) for half in range(15))
"""Tried on the parent's kernel: 0.25 to 32. On embeddings a forest takes about 0.7, a network about 6."""
LAM = 1e-3
FOLDS = 5
OUTLYING = 0.02
"""Share of unseen examples that may be less dense than ten times the constant: one stray crop must not set it alone."""
KEPT_NAMES = 0.9
"""Share of the rightly named examples that the suggested limit goes on naming."""
_SHUFFLES = 100

Report = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Unseen:
    """What models that had not seen them found for n examples of C kinds, before power and constant are chosen.

    y: (n,) columns of the true kinds; fold: (n,); log_density: (P, n, C) at each of `POWERS`; prior: (n, C) of the
    model that judged the example; parent: (n, C), the posterior of its forest or net.
    """

    classes: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    log_density: np.ndarray
    prior: np.ndarray
    parent: np.ndarray

    def only(self, rows: np.ndarray) -> "Unseen":
        """The same for some of the examples, (n,) bool."""
        return replace(
            self, y=self.y[rows], fold=self.fold[rows], log_density=self.log_density[:, rows],
            prior=self.prior[rows], parent=self.parent[rows],
        )  # fmt: skip

    def choose(self, rows: np.ndarray) -> tuple[int, float]:
        """Place in `POWERS` and the constant, log(b / log n), from the examples in `rows`, (n,) bool.

        The power is that of the least log loss, the first of equals: with a score of examples, the calibration error
        of 20 bins is mostly chance. Every power is judged with the constant that belongs to it.
        """
        best, least, chosen = 0, np.inf, -np.inf
        for number, log_density in enumerate(self.log_density[:, rows]):
            constant = _constant(log_density)
            stated = posterior(log_density, constant, self.prior[rows])[np.arange(rows.sum()), self.y[rows]]
            loss = float(-np.log(np.maximum(stated, 1e-12)).mean())
            if loss < least:
                best, least, chosen = number, loss, constant
        return best, chosen

    def kernel(self) -> np.ndarray:
        """(n, C) posteriors of KDF or KDN; power and constant of an example are chosen on the other folds."""
        found = np.empty_like(self.parent)
        for fold in np.unique(self.fold):
            own = self.fold == fold
            number, constant = self.choose(~own)
            found[own] = posterior(self.log_density[number, own], constant, self.prior[own])
        return found

    def isotonic(self, parent: np.ndarray | None = None) -> np.ndarray:
        """The parent behind isotonic curves: (n, C) of the examples, each behind the curves of the other folds; or
        of new posteriors of the parent, (m, C), behind the curves of all examples."""
        return self._behind(calibrate_isotonic, parent)

    def sigmoid(self, parent: np.ndarray | None = None) -> np.ndarray:
        """The same behind sigmoid curves."""
        return self._behind(calibrate_sigmoid, parent)

    def _behind(self, calibrate: Callable, parent: np.ndarray | None) -> np.ndarray:
        stated, labels = _Stated(self.classes), self.classes[self.y]
        if parent is not None:
            return calibrate(stated, self.parent, labels.tolist()).predict_proba(parent)
        found = np.empty_like(self.parent)
        for fold in np.unique(self.fold):
            own = self.fold == fold
            curves = calibrate(stated, self.parent[~own], labels[~own].tolist())
            found[own] = curves.predict_proba(self.parent[own])
        return found


@dataclass(frozen=True, eq=False)
class _Stated:
    """A classifier whose parent's posteriors are given: what the calibration curves ask of one."""

    classes: np.ndarray

    def parent_proba(self, posterior: np.ndarray) -> np.ndarray:
        return np.asarray(posterior)


@dataclass(frozen=True, eq=False)
class Learned:
    """Kinds and how the examples were judged before they all went into them."""

    kinds: Kinds
    unseen: Unseen


def fit(
    embeddings: np.ndarray,
    labels: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    judged: Sequence[bool] | None = None,
    parent: str = FOREST,
    by_region: bool = False,
    seed: int = 0,
    report: Report | None = None,
) -> Learned:
    """Learn kinds from (n, d) embeddings, their labels and the groups (parts, lots) that must stay together.

    groups: None takes every example as a group of its own. judged: which examples are as inspection sees them; only
    these choose and are counted, the others help to learn; None takes all.
    Raises ValueError for an unknown parent, fewer than two kinds, a kind without examples of two groups, embeddings
    that are all alike or not finite, a kind of which no example is judged, and lists of unequal length.
    """
    if parent not in FITS:
        raise ValueError(f"parent is {parent!r}; choose one of {', '.join(FITS)}")
    points, numbers, classes, group = _checked(embeddings, labels, groups)
    with _few_examples_are_known():
        unseen = _judge_unseen(points, numbers, classes, group, FITS[parent], seed, report)
        unseen = unseen.only(_as_rows(judged, numbers, classes))
        _tell(report, FOLDS / (FOLDS + 1), "learning from all examples")
        number, constant = unseen.choose(np.ones(len(unseen.y), bool))
        classifier = FITS[parent](
            points, classes[numbers].tolist(), power=POWERS[number], lam=LAM, seed=seed,
            log_b=constant + np.log(np.log(len(points))) if np.isfinite(constant) else -np.inf,
        )  # fmt: skip
    _tell(report, 1.0, "done")
    return Learned(Kinds(classifier, by_region, suggested_limit(unseen.kernel(), unseen.y, classifier.prior)), unseen)


def suggested_limit(posterior: np.ndarray, y: np.ndarray, prior: np.ndarray) -> float:
    """The probability that `KEPT_NAMES` of the rightly named examples reach, but no less than `least_limit`.

    posterior: (n, C) by models that had not seen the example; y: (n,) true columns; prior: (C,).
    """
    right = posterior.argmax(axis=1) == y
    reached = float(np.quantile(posterior[right].max(axis=1), 1 - KEPT_NAMES)) if right.any() else 0.0
    return float(np.clip(reached, least_limit(prior), 1.0))


def leave_kinds_out(
    embeddings: np.ndarray,
    labels: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    judged: Sequence[bool] | None = None,
    parent: str = FOREST,
    seed: int = 0,
    report: Report | None = None,
) -> np.ndarray:
    """How sure it is of kinds it never saw: each kind in turn is left out and judged by what the others taught.

    The arguments are those of `fit`. Returns the largest posterior of every judged example, in order, (n,); empty with
    fewer than three kinds, for one kind alone teaches nothing. Raises ValueError as `fit` does.
    """
    points, names = np.asarray(embeddings), np.asarray(labels, dtype=object)
    owners = np.arange(len(names)) if groups is None else np.asarray(groups, dtype=object)
    counted = np.ones(len(names), bool) if judged is None else np.asarray(judged, dtype=bool)
    kinds = sorted(set(labels))
    if len(kinds) < 3:
        return np.empty(0)
    sure = np.empty(len(names))
    for done, kind in enumerate(kinds):
        _tell(report, done / len(kinds), f"asking about {kind} as if it had never been seen")
        rest = names != kind
        learned = fit(
            points[rest], names[rest].tolist(), groups=owners[rest].tolist(), judged=counted[rest],
            parent=parent, seed=seed,
        )  # fmt: skip
        sure[~rest] = learned.kinds.classifier.predict_proba(points[~rest]).max(axis=1)
    return sure[counted]


def confidence_away(
    classifier: KernelDensityClassifier, embeddings: np.ndarray, factors: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean largest posterior of KDF or KDN, and of its parent, with the examples moved outward from their mean.

    embeddings: (n, d); factors: multiples of each example's own distance from the mean, 1 leaves it where it is.
    Returns two (len(factors),) arrays.
    """
    middle = embeddings.mean(axis=0)
    moved = [middle + factor * (embeddings - middle) for factor in factors]
    kernel = [classifier.predict_proba(points).max(axis=1).mean() for points in moved]
    parent = [classifier.parent_proba(points).max(axis=1).mean() for points in moved]
    return np.array(kernel), np.array(parent)


def deal_folds(numbers: np.ndarray, groups: np.ndarray, *, folds: int, seed: int) -> np.ndarray:
    """The fold of every example, (n,): groups stay whole and every kind is spread over at least two folds.

    numbers: (n,) kinds, groups: (n,) group numbers, both from 0. Raises ValueError when a kind cannot be spread.
    """
    rng = np.random.default_rng(seed)
    counts = np.zeros((groups.max() + 1, numbers.max() + 1), int)
    np.add.at(counts, (groups, numbers), 1)
    rare = counts.sum(axis=0)
    for _ in range(_SHUFFLES):
        dealt = np.zeros((folds, counts.shape[1]), int)
        fold_of = np.empty(len(counts), int)
        # Groups with the rarest kinds choose first, so that a rare kind is not left with one fold.
        shuffled = rng.permutation(len(counts))
        rarest = np.where(counts[shuffled] > 0, rare, np.inf).min(axis=1)
        for group in shuffled[np.argsort(rarest, kind="stable")]:
            kind = np.where(counts[group] > 0, rare, np.inf).argmin()
            fold = np.lexsort((rng.random(folds), dealt.sum(axis=1), dealt[:, kind]))[0]
            fold_of[group] = fold
            dealt[fold] += counts[group]
        if ((dealt > 0).sum(axis=0) > 1).all():
            return fold_of[groups]
    raise ValueError("groups hold the same kinds together, so none can be judged alone; label parts of other groups")


def _checked(embeddings: np.ndarray, labels: Sequence[str], groups: Sequence[Hashable] | None) -> tuple:
    points = as_points(embeddings, name="embeddings")
    with _few_examples_are_known():
        classes, numbers = as_classes(labels, count=len(points))
    owners = list(range(len(points))) if groups is None else list(groups)
    if len(owners) != len(points):
        raise ValueError(f"groups has {len(owners)} entries for {len(points)} examples; give one for each, or None")
    if len(classes) < 2:
        raise ValueError(f"labels hold the one kind {classes[0]!r}; label examples of a second kind")
    order = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
    group = np.array([order[owner] for owner in owners])
    alone = [str(name) for i, name in enumerate(classes) if len(np.unique(group[numbers == i])) < 2]
    if alone:
        raise ValueError(
            f"labels hold {', '.join(map(repr, alone))} on one part only, so it cannot be judged on another; "
            "label one more part with it, or leave it out"
        )
    if (points == points[0]).all():
        raise ValueError("embeddings are all alike, so no kind can be told from another; label different photos")
    return points, numbers, classes, group


def _as_rows(judged: Sequence[bool] | None, numbers: np.ndarray, classes: np.ndarray) -> np.ndarray:
    rows = np.ones(len(numbers), bool) if judged is None else np.asarray(judged, dtype=bool)
    if rows.shape != numbers.shape:
        raise ValueError(f"judged has {len(rows)} entries for {len(numbers)} examples; give one for each, or None")
    absent = np.setdiff1d(np.arange(len(classes)), numbers[rows])
    if absent.size:
        raise ValueError(f"judged leaves out every example of {classes[absent[0]]!r}; have at least one judged")
    return rows


def _judge_unseen(
    points: np.ndarray, numbers: np.ndarray, classes: np.ndarray, groups: np.ndarray,
    fit_parent: Callable[..., KernelDensityClassifier], seed: int, report: Report | None,
) -> Unseen:  # fmt: skip
    n, c = len(points), len(classes)
    fold = deal_folds(numbers, groups, folds=min(FOLDS, groups.max() + 1), seed=seed)
    log_density = np.empty((len(POWERS), n, c))
    prior, from_parent = np.empty((n, c)), np.empty((n, c))
    for done, held in enumerate(np.unique(fold)):
        _tell(report, done / (FOLDS + 1), f"judging examples it has not seen, round {done + 1} of {fold.max() + 1}")
        own = fold == held
        model = fit_parent(points[~own], numbers[~own], power=1.0, lam=LAM, log_b=-np.inf, seed=seed)
        log_density[:, own] = _at_powers(model, points[~own], numbers[~own], points[own])
        prior[own], from_parent[own] = model.prior, model.parent_proba(points[own])
    return Unseen(classes, numbers, fold, log_density, prior, from_parent)


def _at_powers(model: KernelDensityClassifier, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """(P, m, C) log densities of new points under a model fitted on x and y, had it been fitted at each power."""
    gaussians, counts = fit_gaussians(
        model.parent, x / model.scale, y, classes=len(model.classes), lam=model.lam, lam_undivided=False
    )
    ratios = log_class_ratios(model.parent, gaussians.codes, counts, POWERS)
    nearest, log_normal = gaussians.log_density(model.parent, new / model.scale, euclidean=False)
    return ratios[:, nearest] + log_normal[:, None]


def _constant(log_density: np.ndarray) -> float:
    """log(b / log n): a tenth of the density that all but `OUTLYING` of the examples reach under their likeliest kind.

    log_density: (n, C). The method takes the least density instead; one odd crop then lets everything through.
    """
    likeliest = log_density.max(axis=1)
    likeliest = likeliest[np.isfinite(likeliest)]
    return float(np.quantile(likeliest, OUTLYING) - np.log(10)) if likeliest.size else -np.inf


@contextmanager
def _few_examples_are_known():
    """The classifiers warn of few examples at every fit, here the page says it once; one kind alone is an error."""
    with warnings.catch_warnings():
        for message in ("kinds with fewer than", "all .* examples are of the one kind"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


def _tell(report: Report | None, share: float, step: str) -> None:
    if report is not None:
        report(share, step)
