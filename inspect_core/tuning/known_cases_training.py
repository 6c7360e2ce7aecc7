"""Learning the known cases: the surface through their embeddings, and how far off it a part is still known."""

from collections.abc import Sequence

import numpy as np

from inspect_core.detectors import quadrics
from inspect_core.whole_part.known_cases import KnownCase, KnownCases
from inspect_core.whole_part.known_surface import KnownSurface, finite_unit

LEAST = 5
MOST_COMPONENTS = 16
QUANTILE = 0.99
"""Share of the good parts set aside that are known. The paper's search ends between .985 and .994."""


def learn(cases: Sequence[KnownCase], *, by_region: bool) -> KnownCases:
    """Known cases from examples: every other group of good ones sets the limit, all else fits the surface.

    A person labelled the defects, so they are vouched for, however rare their type is among the rest. Good parts alone
    will do too: everything else is then unlike them. If too few would be left to fit, none is set aside, and the parts
    of the fit set the limit, which is then too strict.
    Raises ValueError for fewer than `LEAST` cases to fit, and non-finite embeddings.
    """
    embeddings = np.stack([case.embedding for case in cases]) if cases else np.empty((0, 1))
    aside = _set_aside(cases)
    if (~aside).sum() < LEAST:
        aside[:] = False
    defect = np.array([case.defect_type != "good" for case in cases], bool)
    surface = fit_surface(embeddings[~aside]).mark_as_known(embeddings[defect])
    scores = surface.score(embeddings)
    limit = float(np.quantile(scores[aside] if aside.any() else scores, QUANTILE))
    return KnownCases(tuple(cases), scores, surface, limit, suggested=limit, by_region=by_region)


def fit_surface(embeddings: np.ndarray, *, seed: int = 0) -> KnownSurface:
    """The surface through (n, d) embeddings of every type of part that should be known, good ones and defects.

    With up to 16 components, but no more than n points can determine a quadric in. Raises ValueError for fewer than
    `LEAST` rows and for non-finite values.
    """
    n = len(embeddings)
    if n < LEAST:
        raise ValueError(f"there are {n} known parts; a gallery needs at least {LEAST}")
    components = max(r for r in range(1, MOST_COMPONENTS + 1) if r * (r + 3) // 2 + 1 <= n)
    unit = finite_unit(embeddings)
    fitted = quadrics.fit(unit, components=min(components, unit.shape[1]), seed=seed)
    arrays = {name: values.numpy() for name, values in fitted.arrays().items()}
    return KnownSurface(**arrays, accepted=np.empty((0, unit.shape[1])), **fitted.params())


def _set_aside(cases: Sequence[KnownCase]) -> np.ndarray:
    """(n,) bool: the good cases of every other group, in the order in which the groups come."""
    owners = [case.name if case.group is None else case.group for case in cases if case.defect_type == "good"]
    aside = np.zeros(len(cases), bool)
    every_other = set(list(dict.fromkeys(owners))[1::2])
    aside[[case.defect_type == "good" for case in cases]] = [owner in every_other for owner in owners]
    return aside
