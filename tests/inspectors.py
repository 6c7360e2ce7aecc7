"""Inspectors without a network, which do everything in one step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inspect_core.verdict import Verdict


class InOneStep:
    """An `Inspector` that judges by `inspect(image)`."""

    at_once = 1

    def prepare(self, image: np.ndarray) -> np.ndarray:
        return image

    def compute(self, photos: list) -> list:
        return photos

    def judge(self, photo: np.ndarray) -> Verdict:
        return self.inspect(photo)  # ty: ignore[unresolved-attribute]


def inspect_in_one_step(patch: pytest.MonkeyPatch, kind: type, inspect: Callable[[Any, np.ndarray], Verdict]) -> None:
    """Let inspectors of a kind judge by inspect(inspector, image) alone."""
    for name in ("at_once", "prepare", "compute"):
        patch.setattr(kind, name, vars(InOneStep)[name])
    patch.setattr(kind, "judge", inspect)
