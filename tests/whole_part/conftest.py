"""Forests of few trees: what is asserted here does not hang on their number."""

from functools import partial

import pytest

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.whole_part import defect_type_training


@pytest.fixture(scope="package", autouse=True)
def few_trees():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(defect_type_training.FITS, defect_type_training.FOREST, partial(fit_kdf, trees=40))
        yield
