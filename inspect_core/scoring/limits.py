"""Limits set by good parts alone, and bounds on the shares that a limit stops.

A part is accepted when its score is at most the limit.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_finite_number, as_some_finite

DEFAULT_OVERKILL = 0.01
DEFAULT_REVIEW = 0.05
NEAREST = 1e-6
"""How near a score can come to its ceiling, as a share of it."""
FEW_SCORES = 20
"""With fewer good scores than this the limit for rejection is not below the largest of them."""
COUNTED_FROM = 19
"""Good scores from which on 5 in 100 of the next good parts can be counted: those above the largest of 19."""
QUANTILES = (0.25, 0.5, 0.85)
"""Of the scores of good parts, through which their tail is fitted."""
MIN_SCORES = 8
SURPRISE = 0.05
"""Probability below which what tested good parts show contradicts what the scores that set limits promise."""
DRAWS = 2000
MOST_DRAWN = 500
"""Samples, and the most scores in one, drawn to find the rejects to expect from a limit set by few scores."""


def limits_from_good(
    good_scores: ArrayLike,
    *,
    review: float = DEFAULT_REVIEW,
    reject: float = DEFAULT_OVERKILL,
    ceiling: float | None = None,
) -> tuple[float, float]:
    """Limits (review, reject) that the shares `review` and `reject` of good parts exceed, by a fitted tail.

    good_scores: (n,) finite, of parts that the detector was not fitted to. The tail is Gumbel's, through three
    quantiles of the scores, so that a few odd parts among the good ones do not move it: with g(u) = -ln(-ln u), scale
    b = (x(.85) - x(.25)) / (g(.85) - g(.25)), location a = x(.5) - b g(.5). The limit is a + b p; p is a little more
    than g(1 - share), such that over all tails that so few scores allow the expected share of good parts above it is
    `share`. Where good parts fall into two kinds no tail fits, and the limit would lie above most defects: that for
    review is therefore at most the (1 - review) (n + 1)-th smallest score, above which that share of the next good
    parts is expected whatever their distribution (Wilks 1941). ceiling: c > 0, which no score s exceeds; the tail is
    then that of -ln(1 - s / c), since a limit from a tail without an end would lie above every possible score.
    `overkill_at` says what to expect from the limits.
    With fewer than FEW_SCORES the limit for rejection is at least the largest score. When all scores are equal, or
    there is only one, both limits are that score, with a warning.
    Raises ValueError as `limit_for_overkill`, and unless 0 < reject <= review < 1.
    """
    if not 0 < reject <= review < 1:
        raise ValueError(f"review is {review}, reject {reject}; give shares of good parts, 0 < reject <= review < 1")
    scores = np.sort(as_some_finite(good_scores, name="good_scores"))
    location, scale = map(float, _gumbel(_remove_ceiling(scores, ceiling)))
    if scale == 0:
        _warn_equal(scores)
    to_review, to_reject = (
        _restore_ceiling(location + scale * _point(min(scores.size, MOST_DRAWN), fraction), ceiling)
        for fraction in (review, reject)
    )
    if (1 - review) * (scores.size + 1) <= scores.size:
        to_review = min(to_review, float(np.quantile(scores, 1 - review, method="weibull")))
    return to_review, max(to_reject, float(scores.max())) if scores.size < FEW_SCORES else to_reject


def with_contradicting(good_scores: ArrayLike, tested_scores: ArrayLike, *, ceiling: float | None = None) -> np.ndarray:
    """The scores by which limits are set: good_scores, and those of tested good parts where they contradict the
    limits of the others.

    good_scores (n,), tested_scores (m,), of parts that the detector was not fitted to. They contradict where more of
    them lie above either limit of `limits_from_good` than come by chance with probability SURPRISE, given the share it
    is set for: then the others are too few, or taken otherwise, and a limit of theirs would promise what is known to be
    untrue. Raises ValueError as `limits_from_good`.
    """
    good, tested = np.asarray(good_scores), np.asarray(tested_scores)
    if not len(tested):
        return good
    promised = zip(limits_from_good(good, ceiling=ceiling), (DEFAULT_REVIEW, DEFAULT_OVERKILL), strict=True)
    contradicts = (is_surprising(int((tested > limit).sum()), len(tested), share) for limit, share in promised)
    return np.concatenate([good, tested]) if any(contradicts) else good


def is_surprising(above: int, count: int, share: float) -> bool:
    """Whether so many of `count` parts above a limit, or more, come by chance in fewer than SURPRISE cases where
    each is above it with probability `share`.
    """
    from scipy.special import bdtrc  # a third of a second at the start of a runner

    return above > 0 and float(bdtrc(above - 1, count, share)) < SURPRISE


def rescale_limit(
    limit: float, *, before: float, after: float, ceilings: tuple[float | None, float | None] = (None, None)
) -> float:
    """A limit set by hand when `before` was suggested, as a score of another scale where `after` is.

    It keeps its ratio to the suggested limit; under a ceiling, the ratio of the values without an end (-ln(1 - s / c)).
    If one of these is not positive, the limit is unchanged. ceilings: as for `limits_from_good`, of the scores before
    and after.
    """
    typical, old, new = (
        float(_remove_ceiling(np.array(value), ceiling))
        for value, ceiling in zip((limit, before, after), (ceilings[0], *ceilings), strict=True)
    )
    return _restore_ceiling(typical * new / old, ceilings[1]) if old > 0 and new > 0 else limit


@dataclass(frozen=True)
class RejectForecast:
    """How many of the next `sample_size` good parts a limit stops: the expected number, and its interval."""

    expected: float
    low: int
    high: int
    sample_size: int = 100


def overkill_at(
    limit: float,
    good_scores: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    ceiling: float | None = None,
    sample_size: int = 100,
    confidence: float = 0.95,
) -> RejectForecast:
    """How many of the next `sample_size` good parts the limit will stop, by good scores, also those that set it.

    good_scores: (n,) finite; groups: the group of each; the photos of a group count as one part. ceiling: as for
    `limits_from_good`. expected: by the rank of the limit among COUNTED_FROM parts or more; of fewer, and above all of
    them, the mean over the Gumbel tails that so few scores allow: at the 5 % point of 12 scores 9 of 100. low to high
    contains the number with at least the probability `confidence`. It uses only the number of scores above the limit:
    it inverts the beta-binomial as Clopper and Pearson invert the binomial. An interval from the fitted tail would
    nearly always miss the truth where the tail is not Gumbel's. Raises ValueError for no scores, scores or a limit that
    are not finite, groups of another length, a sample_size below 1, and a confidence outside 0 to 1.
    """
    scores = np.sort(as_some_finite(good_scores, name="good_scores"))
    as_finite_number(limit, name="limit")
    if groups is not None and len(groups) != scores.size:
        raise ValueError(f"groups has {len(groups)} entries for {scores.size} scores; give the group of every score")
    if sample_size < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"sample_size is {sample_size}, confidence {confidence}; give a number of parts and a share such as 0.95"
        )
    parts = scores.size if groups is None else len(set(groups))
    share = float((scores > np.float64(limit)).mean())
    above, tail = share * parts, (1 - confidence) / 2
    low = 0 if above == 0 else _betabinom_point(tail, sample_size, above, parts - above + 1)
    high = sample_size if above == parts else _betabinom_point(1 - tail, sample_size, above + 1, parts - above)
    location, scale = map(float, _gumbel(_remove_ceiling(scores, ceiling)))
    if scale > 0:
        place = (float(_remove_ceiling(np.array(limit), ceiling)) - location) / scale
        locations, scales = _refitted(min(parts, MOST_DRAWN))
        share = float(-np.expm1(-np.exp(-(locations + scales * place))).mean())
    if parts >= COUNTED_FROM:
        rank = float(np.interp(limit, scores, np.arange(1, scores.size + 1))) * parts / scores.size
        counted = 1 - rank / (parts + 1)
        share = counted if limit <= scores[-1] else min(share, counted)
    return RejectForecast(sample_size * share, low, high, sample_size)


def provable_bound(count: int, *, sample_size: int = 100, confidence: float = 0.95) -> int:
    """The smallest upper bound on rejects among the next good parts that `count` good scores can promise."""
    return _betabinom_point(1 - (1 - confidence) / 2, sample_size, 1, count)


def _betabinom_point(share: float, sample_size: int, a: float, b: float) -> int:
    """The smallest number that a beta-binomial variable stays at or below with this probability.

    From its chances, C(n, i) B(i + a, n - i + b) / B(a, b): loading SciPy's own of it takes half a second.
    """
    from scipy.special import betaln  # a third of a second at the start of a runner

    n, i = sample_size, np.arange(sample_size + 1)
    chances = np.exp(betaln(i + a, n - i + b) - betaln(a, b) - betaln(i + 1, n - i + 1)) / (n + 1)
    return int(np.searchsorted(np.cumsum(chances), share))


def _remove_ceiling(scores: np.ndarray, ceiling: float | None) -> np.ndarray:
    """Scores with a ceiling converted to ones without an end; unchanged without a ceiling."""
    return scores if ceiling is None else -np.log(np.maximum(1 - scores / ceiling, NEAREST))


def _restore_ceiling(value: float, ceiling: float | None) -> float:
    """The inverse of `_remove_ceiling`; large values come no nearer to the ceiling than a score can."""
    return value if ceiling is None else -ceiling * math.expm1(-min(value, -math.log(NEAREST)))


def _gumbel(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Location and scale, (...), of the Gumbel distributions through QUANTILES of scores, (..., n).

    Where these are equal, the scale of their standard deviation.
    """
    low, middle, high = np.quantile(scores, QUANTILES, axis=-1)
    below, centre, above = map(_reduced, QUANTILES)
    scale = (high - low) / (above - below)
    scale = np.where(scale > 0, scale, scores.std(axis=-1) * math.sqrt(6) / math.pi)
    return middle - scale * centre, scale


def _reduced(share: float) -> float:
    """The standard Gumbel score that this share stays below."""
    return -math.log(-math.log(share))


@lru_cache(maxsize=64)
def _refitted(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Location and scale fitted to DRAWS samples of standard Gumbel scores, (DRAWS,) each, of `count` in each.

    Fit and limit move with the unit and the origin of the scores, so these samples stand for those of any other.
    """
    drawn = -np.log(-np.log(np.random.default_rng(0).random((DRAWS, count))))
    return _gumbel(drawn) if count > 1 else (np.zeros(1), np.ones(1))


@lru_cache(maxsize=64)
def _point(count: int, share: float) -> float:
    """The limit that the share of good parts exceeds, in scales above the location fitted to `count` scores.

    The mean over the tails of `_refitted`; of fewer than MIN_SCORES, which tell too little of a tail, as of that many.
    """
    locations, scales = _refitted(max(count, MIN_SCORES))
    low = _reduced(1 - share) - 2
    high = 100.0
    for _ in range(50):
        middle = (low + high) / 2
        above = float(-np.expm1(-np.exp(-(locations + scales * middle))).mean())
        low, high = (middle, high) if above > share else (low, middle)
    return high


def _warn_equal(scores: np.ndarray) -> None:
    warnings.warn(
        f"all {scores.size} good scores equal {scores[0]:g}, so normal variation is unknown; the limit is set to "
        "that score. Add good parts before relying on it.",
        UserWarning,
        stacklevel=3,
    )


def limit_for_overkill(good_scores: ArrayLike, *, rate: float) -> float:
    """The limit that rejects at most the share `rate` of the given good parts: floor(rate * n) of them.

    good_scores: (n,) finite. rate: 0 <= rate < 1. The limit lies halfway between the largest accepted and the smallest
    rejected score; when none is rejected it is the maximum plus half the gap to the next lower score. A tie at the cut
    is accepted as a whole. When all scores are equal, or there is only one, the limit is that score, with a warning.
    Raises ValueError for no scores, scores that are not finite, or a rate outside [0, 1).
    """
    scores = np.sort(as_some_finite(good_scores, name="good_scores"))
    if not 0 <= rate < 1:
        raise ValueError(f"rate is {rate}, outside [0, 1); give the share of good parts that may be rejected")
    # 0.29 * 100 is 28.999999999999996 in binary: the user meant 29.
    allowed = min(int(rate * scores.size + 1e-9), scores.size - 1)
    accepted = scores[scores.size - 1 - allowed]
    above, below = scores[scores > accepted], scores[scores < accepted]
    if above.size:
        # The midpoint of neighbouring numbers can round up to the upper one, which would then be accepted.
        return float(min(accepted + (above[0] - accepted) / 2, np.nextafter(above[0], accepted)))
    if below.size:
        return float(accepted + (accepted - below[-1]) / 2)
    _warn_equal(scores)
    return float(accepted)


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval (low, high) for a share of which k of n were seen.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial" (1934).
    n = 0 says nothing: (0, 1). Raises ValueError unless 0 <= k <= n, both whole, and 0 < confidence < 1.
    """
    _require_count(k, n, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else _beta_quantile(tail, k, n - k + 1)
    return low, upper_bound(k, n, confidence=1 - tail)


def upper_bound(k: int, n: int, *, confidence: float = 0.95) -> float:
    """The largest share, at one-sided confidence, compatible with k of n: 3 of 120 give 0.063.

    The upper end of Clopper and Pearson (1934) with the whole error on one side. n = 0 says nothing: 1.
    Raises ValueError unless 0 <= k <= n, both whole, and 0 < confidence < 1.
    """
    _require_count(k, n, confidence)
    return 1.0 if k == n else _beta_quantile(confidence, k + 1, n - k)


def format_upper_bound(k: int, n: int) -> str:
    """`upper_bound` in parts, rounded up: "7 of 100", below one in a hundred "3 of 1,000"."""
    share = upper_bound(k, n)
    return f"{math.ceil(100 * share)} of 100" if share > 0.01 else f"{math.ceil(1000 * share)} of 1,000"


def _beta_quantile(share: float, a: float, b: float) -> float:
    from scipy.special import betaincinv  # a third of a second at the start of a runner

    return float(betaincinv(a, b, share))


def _require_count(k: int, n: int, confidence: float) -> None:
    if not (0 <= k <= n and k == int(k) and n == int(n)):
        raise ValueError(f"k is {k} of n = {n}; give whole numbers with 0 <= k <= n")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, outside (0, 1); 0.95 is usual")
