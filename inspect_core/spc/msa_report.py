"""The results of a measurement study in words and tables, for the page, the report and the command line alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.spc.agreement import (
    EFFECTIVENESS,
    FALSE_ALARMS,
    MARGINAL,
    MISSES,
    TOO_FEW,
    UNACCEPTABLE,
    Agreement,
    Appraisal,
    Kappa,
    Proportion,
    agreement,
    parts_to_prove,
)
from inspect_core.spc.gauge import Gauge, gauge

PROVEN = 0.02


@dataclass(frozen=True)
class Results:
    """agreement: of all appraisers; gauge: of the scores, None where not every part has one in every trial."""

    agreement: Agreement
    gauge: Gauge | None


def results(readings: Sequence[Appraisal]) -> Results:
    """The results of complete readings. Raises ValueError as `agreement`."""
    agreed = agreement(readings)
    scored = [reading for reading in readings if reading.score is not None]
    by_appraiser = {reading.appraiser for reading in scored}
    studied = None
    if len(by_appraiser) == 1 and len(scored) == sum(reading.appraiser in by_appraiser for reading in readings):
        parts = {part: row for row, part in enumerate(dict.fromkeys(reading.part for reading in scored))}
        trials = {trial: column for column, trial in enumerate(dict.fromkeys(reading.trial for reading in scored))}
        table = np.full((len(parts), len(trials)), math.nan)
        for reading in scored:
            table[parts[reading.part], trials[reading.trial]] = reading.score
        studied = gauge(table)
    return Results(agreed, studied)


def table_of(agreed: Agreement) -> dict[str, list[str]]:
    """A column per appraiser, a row per figure."""
    rows: dict[str, list[str]] = {"": [
        "Effectiveness (parts appraised correctly in all trials)", "Correct appraisals",
        "Misses (defective parts accepted)", "False alarms (good parts not accepted)",
        "Repeatability (same appraisal in all trials)", "Kappa against ground truth", "Kappa between the trials",
    ]}  # fmt: skip
    for name, result in agreed.appraisers.items():
        effectiveness, misses, alarms = result.bands.values()
        rows[name] = [
            _share(result.parts, effectiveness), _share(result.readings), _share(result.misses, misses),
            _share(result.false_alarms, alarms), _share(result.repeatable_parts), _kappa(result.kappa_vs_truth),
            _kappa(result.kappa_between_trials),
        ]  # fmt: skip
    return rows


def verdict_sentence(agreed: Agreement) -> str:
    """Whether the inspection is capable, by AIAG's bands of its first appraiser, and what decides it."""
    name, result = next(iter(agreed.appraisers.items()))
    facts = {
        "misses": ("accepted", result.misses, "appraisals of defective parts"),
        "false alarms": ("did not accept", result.false_alarms, "appraisals of good parts"),
        "effectiveness": ("was right in every trial on", result.parts, "parts"),
    }
    for band, words in ((UNACCEPTABLE, "Not capable"), (MARGINAL, "Marginal"), (TOO_FEW, "Too few parts to judge")):
        for subject, (did, share, appraised) in facts.items():
            if result.bands[subject] == band:
                return f"{words}: {name} {did} {share.count} of {share.total} {appraised}"
    return f"Capable: misses, false alarms and effectiveness of {name} are acceptable"


def report_sentences(results_of_study: Results) -> list[str]:
    """What the study says, in order of importance."""
    report_lines = []
    for name, appraiser in results_of_study.agreement.appraisers.items():
        words = "; ".join(f"{subject}: {band}" for subject, band in appraiser.bands.items() if band)
        report_lines.append(f"{name}. {words[:1].upper()}{words[1:]}.")
        if appraiser.misses.total and not appraiser.misses.count:
            most = appraiser.misses.interval[1]
            needed = parts_to_prove(PROVEN)
            shown = _percent(_one_sided(appraiser.misses.total))
            report_lines.append(
                f"{name} missed none of {appraiser.misses.total} appraisals of defective parts. At 95% confidence this "
                f"shows only a miss rate of at most {shown} (one-sided; the table's intervals are two-sided); to show "
                f"{_percent(PROVEN, 0)} takes {needed} appraisals without a miss."
                if appraiser.misses.total < needed
                else (
                    f"{name} missed none of {appraiser.misses.total} appraisals of defective parts, at most "
                    f"{_percent(most)}."
                )
            )
    for (first, other), kappa in results_of_study.agreement.pairwise_kappas.items():
        report_lines.append(f"Kappa between {first} and {other}: {_kappa(kappa)}.")
    if len(results_of_study.agreement.appraisers) > 1:
        report_lines.append(
            f"Parts appraised correctly by everyone in every trial: {_share(results_of_study.agreement.all_correct)}."
        )
    if results_of_study.gauge is not None:
        report_lines += gauge_sentences(results_of_study.gauge)
    fair = [[_percent(bound, 0) for bound in bounds] for bounds in (EFFECTIVENESS, MISSES, FALSE_ALARMS)]
    (right, nearly), (missed, more), (alarms, many) = fair
    report_lines.append(
        f"AIAG criteria (acceptable, marginal): effectiveness at least {right}, {nearly}; misses at most {missed}, "
        f"{more}; false alarms at most {alarms}, {many}."
    )
    return report_lines


def gauge_sentences(gauge: Gauge) -> list[str]:
    """The gauge study of the score in sentences."""
    share = gauge.study_variation
    if not all(map(math.isfinite, share.values())):
        return ["All scores are the same, so nothing can be said of what measuring adds to them."]
    scale = "log score" if gauge.on_log else "score"
    return [
        f"Variation of the {scale}: measurement {share['measuring']:.1f}% (repeatability "
        f"{share['repeatability']:.1f}%, trial {share['trial']:.1f}%, part by trial {share['part by trial']:.1f}%), "
        f"the parts {share['part']:.1f}%; {gauge.distinct} distinct categories"
        + ("." if gauge.distinct >= 5 else ", fewer than the 5 that AIAG asks for.")
    ]


def guard_bands(gauge: Gauge, review: float, reject: float) -> str:
    """How far a part's score stays from the limits for its verdict to be repeated."""
    bands = []
    for name, limit in dict([("review", review), ("reject", reject)] if review < reject else [("", reject)]).items():
        low, high = gauge.guard_band(limit)
        bands.append(f"{low:.3g} to {high:.3g} around the {name} limit {limit:.3g}".replace("the  limit", "the limit"))
    return f"Guard band: outside {' and '.join(bands)} the verdict is the same in 95 of 100 repeats."


def _percent(share: float, decimals: int = 1) -> str:
    return f"{100 * share:.{decimals}f}%"


def _one_sided(total: int) -> float:
    return 1 - 0.05 ** (1 / total)


def _share(proportion: Proportion, band: str = "") -> str:
    if not proportion.total:
        return "–"
    low, high = proportion.interval
    words = (
        f"{proportion.count} of {proportion.total}, {_percent(proportion.value)} ({_percent(low)} to {_percent(high)})"
    )
    return f"{words}: {band}" if band else words


def _kappa(kappa: Kappa) -> str:
    return "–" if math.isnan(kappa.value) else f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})"
