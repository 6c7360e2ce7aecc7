"""Checks of the input of the pure functions on scores, labels and maps: one place, one wording."""

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike


def index_of_first(wrong: np.ndarray) -> tuple[int, ...]:
    """Index of the first True."""
    return tuple(np.argwhere(wrong)[0].tolist())


def nan_with_warning(message: str) -> float:
    """NaN, with the warning that says why a measure is not defined on its data."""
    warnings.warn(f"{message}, so it is NaN", UserWarning, stacklevel=3)
    return math.nan


def as_scores(values: ArrayLike, *, name: str) -> np.ndarray:
    """Real numbers of any shape as a floating array; float32 stays so, and a large stack of maps is not copied.

    Infinity is legal, because a rank is defined for it. Raises ValueError naming the first NaN.
    """
    scores = np.asarray(values)
    if scores.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {scores.dtype}; give real numbers")
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    missing = np.isnan(scores)
    if missing.any():
        raise ValueError(f"{name} is NaN at {index_of_first(missing)}; remove that sample, or see why it has no score")
    return scores


def as_finite(values: ArrayLike, *, name: str) -> np.ndarray:
    """Real numbers of any shape in float64, to be compared with a limit.

    Raises ValueError naming the first that is not finite: a comparison with it decides nothing, so nothing may be
    accepted on it. A float32 scalar would round the limit to float32 before comparing.
    """
    numbers = as_scores(values, name=name).astype(np.float64)
    endless = np.isinf(numbers)
    if endless.any():
        position = index_of_first(endless)
        raise ValueError(f"{name} is {numbers[position]} at {position}; find out why that part has no finite score")
    return numbers


def as_some_finite(values: ArrayLike, *, name: str) -> np.ndarray:
    """(n,) float64, as `as_finite`. Raises ValueError too when there is none."""
    numbers = as_finite(values, name=name).ravel()
    if not numbers.size:
        raise ValueError(f"{name} is empty; a limit needs the score of at least one part")
    return numbers


def as_finite_number(value: float, *, name: str) -> float:
    """One number in float64, as `as_finite`. Raises ValueError unless it is finite."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; inspection needs a finite value")
    return number


def as_labels(labels: ArrayLike, *, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Labels as bool, True = defect, of the shape of the scores they belong to.

    Raises ValueError for any value but False, True, 0 and 1, and when the shape differs.
    """
    array = np.asarray(labels)
    require_shape(array, shape, name=name)
    if array.dtype != bool and (other := (array != 0) & (array != 1)).any():
        position = index_of_first(other)
        raise ValueError(
            f"{name} is {array[position]!r} at {position}; give True or 1 for a defect, False or 0 for good"
        )
    return array.astype(bool)


def require_shape(array: np.ndarray, shape: tuple[int, ...], *, name: str) -> None:
    """Raise ValueError with both shapes unless they are equal."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name} has shape {array.shape}, expected {tuple(shape)}; give one value for each score")


def require_fraction(value: float, *, name: str, cure: str) -> None:
    """Raise ValueError naming argument, value and cure unless 0 < value <= 1."""
    if not 0 < value <= 1:
        raise ValueError(f"{name} is {value}, outside (0, 1]; {cure}")
