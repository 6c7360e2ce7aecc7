"""Labelled examples: what the classifiers require of them, and the part of them that is held out."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

FEW = 5
HELD_OUT_SHARE = 0.2

Part = tuple[np.ndarray, np.ndarray]
"""Points (n, d) in units of the scale, and class numbers (n,)."""


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Examples to fit and to choose with, in units of the largest training norm, and the seeds of all random choices.

    classes: (C,) sorted labels. scale: the norm that points were divided by, 1 if all are 0. all: every training
    example. held_out: what the caller held out, or None.
    """

    classes: np.ndarray
    scale: float
    all: Part
    held_out: Part | None
    split_seed: np.random.SeedSequence
    parent_seed: np.random.SeedSequence

    @classmethod
    def from_labelled(
        cls, x: ArrayLike, y: Iterable, held_out: tuple[ArrayLike, Iterable] | None, *, seed: int
    ) -> "LabelledSample":
        points = as_points(x)
        classes, numbers = as_classes(y, count=len(points))
        scale = _largest_norm(points) or 1.0
        calibration = None
        if held_out is not None:
            calibration_points = as_points(held_out[0], name="held_out", width=points.shape[1])
            calibration = (
                calibration_points / scale,
                as_known_classes(held_out[1], classes, count=len(calibration_points), name="held_out"),
            )
            if not len(calibration_points):
                raise ValueError("held_out is empty; give at least one example, or None to hold out a fifth of x")
        return cls(classes, scale, (points / scale, numbers), calibration, *np.random.SeedSequence(seed).spawn(2))

    def split(self) -> tuple[Part, Part]:
        """The examples to fit and the ones to choose with."""
        if self.held_out is not None:
            return self.all, self.held_out
        points, numbers = self.all
        chosen = hold_out(numbers, np.random.default_rng(self.split_seed))
        return (points[~chosen], numbers[~chosen]), (points[chosen], numbers[chosen])


def as_points(x: ArrayLike, *, name: str = "x", width: int | None = None) -> np.ndarray:
    """Features as float64 (n, d).

    Raises ValueError for any other number of axes, a width other than `width` and a NaN or infinite value, naming its
    first row.
    """
    points = np.asarray(x, dtype=np.float64)
    if points.ndim != 2 or not points.shape[1]:
        raise ValueError(f"{name} has shape {points.shape}; give (n, d), with a row for every example")
    if width is not None and points.shape[1] != width:
        raise ValueError(
            f"{name} is {points.shape[1]} wide, the classifier expects {width}; use the embedding of the fit"
        )
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name} is not finite in row {int(np.argmin(finite))}; remove or repair that example")
    return points


def as_classes(y: Iterable, *, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and each example's place among them.

    y: `count` hashable labels that sort together. Returns classes (C,), of the labels' own type or object, and numbers
    (n,) intp. Raises ValueError for a wrong count, and for labels that cannot be distinguished or sorted.
    """
    labels = _as_list(y, count=count, name="y")
    if not labels:
        raise ValueError("y is empty; give at least one labelled example")
    try:
        ordered = sorted(set(labels))
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"y contains labels of types {kinds}; use hashable labels of one type, such as text"
        ) from error
    if any(label != label for label in ordered):
        raise ValueError("y contains NaN, which is not a label; remove or label those examples")
    number = {label: i for i, label in enumerate(ordered)}
    numbers = np.array([number[label] for label in labels], dtype=np.intp)
    _warn_of_few(ordered, np.bincount(numbers))
    return label_array(ordered), numbers


def as_known_classes(y: Iterable, classes: np.ndarray, *, count: int, name: str) -> np.ndarray:
    """Each label's place in `classes`, (n,) intp. Raises ValueError for a label that is not among them."""
    number = {label: i for i, label in enumerate(classes.tolist())}
    labels = _as_list(y, count=count, name=name)
    unknown = [label for label in labels if label not in number]
    if unknown:
        raise ValueError(
            f"{name} contains {unknown[0]!r}, a class without an example in the fit; remove it, or add examples of "
            "it to x"
        )
    return np.array([number[label] for label in labels], dtype=np.intp)


def label_array(labels: list) -> np.ndarray:
    """(C,) labels in their own type if NumPy keeps them distinct and unchanged, else as objects."""
    array = np.array(labels) if len({type(label) for label in labels}) == 1 else None
    if array is None or array.ndim != 1 or array.tolist() != labels:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    return array


def hold_out(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random fifth of the examples, (n,) bool, that leaves every class at least one example.

    numbers: (n,) class numbers. Raises ValueError when every class has one example only.
    """
    order = rng.permutation(len(numbers))
    spared = order[np.unique(numbers[order], return_index=True)[1]]
    free = order[~np.isin(order, spared)]
    if not free.size:
        raise ValueError(
            f"y has {len(numbers)} examples of {len(numbers)} classes, so none can be held out for calibration; "
            "label at least two of one class, or pass held_out"
        )
    chosen = np.zeros(len(numbers), dtype=bool)
    chosen[free[: max(1, round(HELD_OUT_SHARE * len(numbers)))]] = True
    return chosen


def _as_list(y: Iterable, *, count: int, name: str) -> list:
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise ValueError(f"{name} has shape {y.shape}; give one label for each example")
    labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
    if len(labels) != count:
        raise ValueError(f"{name} has {len(labels)} labels for {count} examples; give one label for each example")
    return labels


def _warn_of_few(classes: list, counts: np.ndarray) -> None:
    if len(classes) == 1:
        warnings.warn(
            f"all {counts[0]} examples belong to one class, {classes[0]!r}, so its probability is always 1; label a "
            "second class",
            UserWarning,
            stacklevel=5,
        )
    few = [f"{label!r} ({count})" for label, count in zip(classes, counts, strict=True) if count < FEW]
    if few:
        warnings.warn(
            f"classes with fewer than {FEW} examples: {', '.join(few)}; a fifth of the examples is held out for "
            f"calibration, so label at least {FEW} of each class before trusting its confidence",
            UserWarning,
            stacklevel=5,
        )


def _largest_norm(points: np.ndarray) -> float:
    largest = np.abs(points).max()
    return float(largest * np.linalg.norm(points / largest, axis=1).max()) if largest else 0.0
