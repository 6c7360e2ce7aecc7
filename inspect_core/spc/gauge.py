"""Gauge study of the score: how much of its variation comes from measuring, and the guard band that follows.

A crossed random-effects analysis of variance, parts by trials (AIAG, Measurement Systems Analysis, 4th edition, chapter
III section B), on the logarithm of the score, whose spread does not grow with it.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, stdtrit

AGREEING = 0.95
POOLED = 0.25
"""p of F from which on a part-by-trial interaction counts as chance and is pooled with repeatability, after AIAG."""
DISTINCT = math.sqrt(2)


@dataclass(frozen=True)
class Gauge:
    """Variances on the scale that was analysed. repeatability: the same part photographed again at once; trial: from
    one round of photographing to the next; part_trial: of a part with the round; part: from part to part.

    on_log: whether the scale is the natural logarithm of the score; freedom: degrees of freedom of the measuring error.
    """

    repeatability: float
    trial: float
    part_trial: float
    part: float
    on_log: bool
    freedom: float

    @property
    def measuring(self) -> float:
        """Variance of measuring: everything but the part."""
        return self.repeatability + self.trial + self.part_trial

    @property
    def study_variation(self) -> dict[str, float]:
        """Each standard deviation as a percentage of the total one; they do not add up to 100."""
        total = self.measuring + self.part
        named = {"measuring": self.measuring, "part": self.part, "repeatability": self.repeatability}
        named |= {"trial": self.trial, "part by trial": self.part_trial}
        return {name: 100 * math.sqrt(variance / total) if total else math.nan for name, variance in named.items()}

    @property
    def distinct(self) -> int:
        """Number of distinct categories, ndc = 1.41 times the part's standard deviation over that of measuring."""
        if self.measuring == 0:
            return 0 if self.part == 0 else 10**6
        return math.floor(DISTINCT * math.sqrt(self.part / self.measuring))

    def guard_band(self, limit: float) -> tuple[float, float]:
        """(lower, upper) score around a limit: a part whose score lies outside gets the same verdict in 95 of
        100 repeats. By Student's t, since the variances are estimated.
        """
        if not self.freedom:
            return -math.inf, math.inf
        reach = float(stdtrit(self.freedom, AGREEING)) * math.sqrt(self.measuring)
        return (limit * math.exp(-reach), limit * math.exp(reach)) if self.on_log else (limit - reach, limit + reach)


def gauge(scores: np.ndarray) -> Gauge:
    """The gauge study of (parts, trials, repeats) finite scores; (parts, trials) for one photo each.

    With one repeat the interaction of part and trial cannot be told from repeatability, and stands there. Scores that
    are not all above 0 are analysed as they are, without logarithm. Negative estimates are 0. Raises ValueError for
    fewer than two parts or trials, and for scores that are not finite.
    """
    scores = np.asarray(scores, np.float64)
    scores = scores[..., None] if scores.ndim == 2 else scores
    if scores.ndim != 3 or min(scores.shape[:2]) < 2:
        raise ValueError(f"scores are {scores.shape}; give two or more parts, each in two or more trials")
    if not np.isfinite(scores).all():
        raise ValueError("not every part has a score in every trial; complete the study")
    on_log = bool((scores > 0).all())
    values = np.log(scores) if on_log else scores
    p, t, r = values.shape
    grand, by_part, by_trial, cell = values.mean(), values.mean((1, 2)), values.mean((0, 2)), values.mean(2)
    of_part = t * r * float(((by_part - grand) ** 2).sum()) / (p - 1)
    of_trial = p * r * float(((by_trial - grand) ** 2).sum()) / (t - 1)
    mixed = r * float(((cell - by_part[:, None] - by_trial + grand) ** 2).sum())
    error = float(((values - cell[..., None]) ** 2).sum())
    df_mixed = (p - 1) * (t - 1)
    df_error = p * t * (r - 1)
    if df_error == 0 or (error > 0 and fdtrc(df_mixed, df_error, mixed / df_mixed / (error / df_error)) > POOLED):
        error, df_error = error + mixed, df_error + df_mixed  # no interaction, or none that can be told
        within = error / df_error
        part_trial = 0.0
        mean_mixed = within
    else:
        within, mean_mixed = error / df_error, mixed / df_mixed
        part_trial = max((mean_mixed - within) / r, 0.0)
    trial = max((of_trial - mean_mixed) / (p * r), 0.0)
    part = max((of_part - mean_mixed) / (t * r), 0.0)
    # Satterthwaite: the measuring error is a sum of mean squares
    shares = ((1 / (p * r), of_trial, t - 1), ((1 - 1 / p) / r, mean_mixed, df_mixed), (1 - 1 / r, within, df_error))
    spread = sum((weight * square) ** 2 / df for weight, square, df in shares if df)
    total = sum(weight * square for weight, square, _ in shares)
    freedom = total**2 / spread if spread else float(df_error)
    return Gauge(within, trial, part_trial, part, on_log, freedom)
