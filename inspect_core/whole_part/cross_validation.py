"""Every example judged once by a model that had not seen it or its group, and what follows from these judgements."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.classify.kernel_density import KernelDensityClassifier
from inspect_core.classify.polytope_gaussians import fit_gaussians, log_class_ratios
from inspect_core.classify.posterior import calibrated_constant, posterior
from inspect_core.runtime.progress import Report, ignore_progress

POWERS = tuple(0.25 * 2 ** (half / 2) for half in range(15))
"""Powers tried on the parent's kernel: 0.25 to 32. On embeddings a forest needs about 0.7, a network about 6."""
LAM = 1e-3
FOLDS = 5
OUTLYING = 0.02
"""Fraction of unseen examples that may be less dense than ten times the constant. With none, the least density
sets it, and one odd crop then lets everything through.
"""
_SHUFFLES = 100


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Results for n examples of C types, by models that had not seen them, before power and constant are chosen.

    y: (n,) columns of the true types; fold: (n,); log_density: (P, n, C) at each of `POWERS`; prior: (n, C) of the
    model that judged the example; parent: (n, C), the posterior of its forest or net.
    """

    classes: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    log_density: np.ndarray
    prior: np.ndarray
    parent: np.ndarray

    def only(self, rows: np.ndarray) -> "CrossValidation":
        """The same for some of the examples, (n,) bool."""
        columns = {name: getattr(self, name)[rows] for name in ("y", "fold", "prior", "parent")}
        return replace(self, log_density=self.log_density[:, rows], **columns)

    def choose(self, rows: np.ndarray) -> tuple[int, float]:
        """Place in `POWERS` and the constant, log(b / log n), from the examples in `rows`, (n,) bool.

        The power is that of the least log loss, the first of equals: with a score of examples, the calibration error
        of 20 bins is mostly chance. Every power is judged with the constant that belongs to it.
        """
        best = 0
        least = np.inf
        chosen = -np.inf
        for number, log_density in enumerate(self.log_density[:, rows]):
            constant = calibrated_constant(log_density, outlying=OUTLYING)
            stated = posterior(log_density, constant, self.prior[rows])[np.arange(rows.sum()), self.y[rows]]
            loss = float(-np.log(np.maximum(stated, 1e-12)).mean())
            if loss < least:
                best, least, chosen = number, loss, constant
        return best, chosen

    def kernel(self) -> np.ndarray:
        """(n, C) posteriors of KDF or KDN; power and constant of an example are chosen on the other folds."""
        filled = np.empty_like(self.parent)
        for in_fold in self.fold == np.unique(self.fold)[:, None]:
            number, constant = self.choose(~in_fold)
            filled[in_fold] = posterior(self.log_density[number, in_fold], constant, self.prior[in_fold])
        return filled


def cross_validate(
    points: np.ndarray,
    numbers: np.ndarray,
    classes: np.ndarray,
    groups: np.ndarray,
    fit: Callable[..., KernelDensityClassifier],
    *,
    seed: int,
    report: Report = ignore_progress,
) -> CrossValidation:
    """Each of n examples judged by a classifier fitted on the other folds.

    points: (n, d); numbers: (n,) types from 0, named by classes, (C,); groups: (n,) group numbers from 0, kept whole;
    fit: `fit_kdf` or `fit_kdn`. Raises ValueError when no division of the groups lets every type be judged.
    """
    n, c = len(points), len(classes)
    fold = assign_folds(numbers, groups, folds=min(FOLDS, groups.max() + 1), seed=seed)
    log_density = np.empty((len(POWERS), n, c))
    prior, from_parent = np.empty((n, c)), np.empty((n, c))
    for done, number in enumerate(np.unique(fold)):
        step = f"cross-validating, fold {done + 1} of {fold.max() + 1}"
        report(done / (FOLDS + 1), step)
        in_fold = fold == number
        model = fit(points[~in_fold], numbers[~in_fold], power=1.0, lam=LAM, log_b=-np.inf, seed=seed)
        log_density[:, in_fold] = _at_powers(model, points[~in_fold], numbers[~in_fold], points[in_fold])
        prior[in_fold], from_parent[in_fold] = model.prior, model.parent_proba(points[in_fold])
    return CrossValidation(classes, numbers, fold, log_density, prior, from_parent)


def assign_folds(numbers: np.ndarray, groups: np.ndarray, *, folds: int, seed: int) -> np.ndarray:
    """The fold of every example, (n,): groups stay whole and every type is spread over at least two folds.

    numbers: (n,) defect types, groups: (n,) group numbers, both from 0. Raises ValueError when a type cannot be spread.
    """
    rng = np.random.default_rng(seed)
    counts = np.zeros((groups.max() + 1, numbers.max() + 1), int)
    np.add.at(counts, (groups, numbers), 1)
    rare = counts.sum(axis=0)
    for _ in range(_SHUFFLES):
        dealt = np.zeros((folds, counts.shape[1]), int)
        fold_of = np.empty(len(counts), int)
        # Groups with the rarest types choose first, so that a rare type is not left with one fold.
        shuffled = rng.permutation(len(counts))
        rarest = np.where(counts[shuffled] > 0, rare, np.inf).min(axis=1)
        for group in shuffled[np.argsort(rarest, kind="stable")]:
            rarest_type = np.where(counts[group] > 0, rare, np.inf).argmin()
            fold = np.lexsort((rng.random(folds), dealt.sum(axis=1), dealt[:, rarest_type]))[0]
            fold_of[group] = fold
            dealt[fold] += counts[group]
        if ((dealt > 0).sum(axis=0) > 1).all():
            return fold_of[groups]
    raise ValueError(
        "each defect type occurs in one group only, so nothing can be held out for testing; label parts from other "
        "groups"
    )


def _at_powers(model: KernelDensityClassifier, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """(P, m, C) log densities of new points under a model on x and y, as if fitted at each power."""
    gaussians, counts = fit_gaussians(
        model.parent, x / model.scale, y, classes=len(model.classes), lam=model.lam, lam_undivided=False
    )
    ratios = log_class_ratios(model.parent, gaussians.codes, counts, POWERS)
    nearest, log_normal = gaussians.log_density(model.parent, new / model.scale, euclidean=False)
    return ratios[:, nearest] + log_normal[:, None]
