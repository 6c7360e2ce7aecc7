"""The results of a measurement study in words and tables, for the page, the report and the command line alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.process.agreement import (
    EFFECTIVENESS,
    FALSE_ALARMS,
    MISSES,
    Agreement,
    Appraisal,
    Kappa,
    Share,
    agreement,
    parts_to_prove,
)
from inspect_core.process.gauge import Gauge, gauge

PROVEN = 0.02


@dataclass(frozen=True)
class Results:
    """agreement: of all appraisers; gauge: of the scores, None where not every part has one in every trial."""

    agreement: Agreement
    gauge: Gauge | None


def results(readings: Sequence[Appraisal]) -> Results:
    """The results of complete readings. Raises ValueError as `agreement`."""
    found, scored = agreement(readings), [one for one in readings if one.score is not None]
    by_appraiser = {one.appraiser for one in scored}
    studied = None
    if len(by_appraiser) == 1 and len(scored) == sum(one.appraiser in by_appraiser for one in readings):
        parts = {part: row for row, part in enumerate(dict.fromkeys(reading.part for reading in scored))}
        trials = {trial: column for column, trial in enumerate(dict.fromkeys(reading.trial for reading in scored))}
        table = np.full((len(parts), len(trials)), math.nan)
        for reading in scored:
            table[parts[reading.part], trials[reading.trial]] = reading.score
        studied = gauge(table)
    return Results(found, studied)


def table_of(found: Agreement) -> dict[str, list[str]]:
    """A column per appraiser, a row per figure."""
    rows: dict[str, list[str]] = {"": [
        "Effectiveness (parts appraised correctly in all trials)", "Correct appraisals",
        "Misses (defective parts accepted)", "False alarms (good parts not accepted)",
        "Repeatability (same appraisal in all trials)", "Kappa against ground truth", "Kappa between the trials",
    ]}  # fmt: skip
    for name, own in found.appraisers.items():
        effectiveness, misses, alarms = own.bands.values()
        rows[name] = [
            _share(own.parts, effectiveness), _share(own.readings), _share(own.misses, misses),
            _share(own.false_alarms, alarms), _share(own.repeated), _kappa(own.truth), _kappa(own.within),
        ]  # fmt: skip
    return rows


def sentences(found: Results) -> list[str]:
    """What the study says, in order of importance."""
    said = []
    for name, own in found.agreement.appraisers.items():
        words = [f"{what} {band}" for what, band in own.bands.items() if band]
        said.append(f"{name}: {', '.join(words)}.")
        if own.misses.total and not own.misses.count:
            most, needed = own.misses.interval[1], parts_to_prove(PROVEN)
            shown = _percent(_one_sided(own.misses.total))
            said.append(
                f"{name} missed none of {own.misses.total} appraisals of defective parts. At 95% confidence this "
                f"shows only a miss rate of at most {shown}; to show {_percent(PROVEN, 0)} takes {needed} "
                "appraisals without a miss."
                if own.misses.total < needed
                else f"{name} missed none of {own.misses.total} calls on defective parts, at most {_percent(most)}."
            )
    for (one, other), kappa in found.agreement.between.items():
        said.append(f"Kappa between {one} and {other}: {_kappa(kappa)}.")
    if len(found.agreement.appraisers) > 1:
        said.append(f"Parts appraised correctly by everyone in every trial: {_share(found.agreement.right)}.")
    if found.gauge is not None:
        said += of_gauge(found.gauge)
    fair = [[_percent(bound, 0) for bound in bounds] for bounds in (EFFECTIVENESS, MISSES, FALSE_ALARMS)]
    (right, nearly), (missed, more), (alarms, many) = fair
    said.append(
        f"AIAG criteria (acceptable, marginal): effectiveness at least {right}, {nearly}; misses at most {missed}, "
        f"{more}; false alarms at most {alarms}, {many}."
    )
    return said


def of_gauge(found: Gauge) -> list[str]:
    """The gauge study of the score in sentences."""
    share = found.study_variation
    if not all(map(math.isfinite, share.values())):
        return ["All scores are the same, so nothing can be said of what measuring adds to them."]
    scale = "log score" if found.on_log else "score"
    return [
        f"Variation of the {scale}: measurement {share['measuring']:.1f}% (repeatability "
        f"{share['repeatability']:.1f}%, trial {share['trial']:.1f}%, part by trial {share['part by trial']:.1f}%), "
        f"the parts {share['part']:.1f}%; {found.distinct} distinct categories"
        + ("." if found.distinct >= 5 else ", fewer than the 5 that AIAG asks for.")
    ]


def guard_bands(found: Gauge, review: float, reject: float) -> str:
    """How far a part's score stays from the limits for its verdict to be repeated."""
    told = []
    for name, limit in dict([("review", review), ("reject", reject)] if review < reject else [("", reject)]).items():
        low, high = found.guard_band(limit)
        told.append(f"{low:.3g} to {high:.3g} around the {name} limit {limit:.3g}".replace("the  limit", "the limit"))
    return f"Guard band: outside {' and '.join(told)} the verdict is the same in 95 of 100 repeats."


def _percent(share: float, decimals: int = 1) -> str:
    return f"{100 * share:.{decimals}f}%"


def _one_sided(total: int) -> float:
    return 1 - 0.05 ** (1 / total)


def _share(own: Share, band: str = "") -> str:
    if not own.total:
        return "–"
    low, high = own.interval
    words = f"{own.count} of {own.total}, {_percent(own.value)} ({_percent(low)} to {_percent(high)})"
    return f"{words}: {band}" if band else words


def _kappa(own: Kappa) -> str:
    return "–" if math.isnan(own.value) else f"{own.value:.2f} ({own.low:.2f} to {own.high:.2f})"
