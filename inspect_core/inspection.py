"""One inspected photo without its pictures: a line of a batch's table, of its journal, of the audit log and of History.

A column is a field of `Inspection`, and nothing else; IN_LOG at the field says that the audit log has it.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, Self, get_args, get_type_hints

import numpy as np

from inspect_core.verdict import ALL_VERDICTS, INPUTS, NOT_JUDGED, UNKNOWN_TYPE, Limits, Reason, Verdict, VerdictWord

IN_LOG = "in the log too"
ONLY_IN_LOG = "in the log, in no table"
_MEASURED = ("photo_deviation", "region_x", "region_y", *INPUTS)
"""What may differ a little between two inspections of one photo on different machines."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What became of one photo, in the order of the table's columns; None or "" for what does not apply.

    digest: of the pixels; verdict: one of `verdict.ALL_VERDICTS`; percentile_among_good: how many in 100 of the good
    parts that set the limits score no higher; photo_deviation: how it differs from those taught; defect_type: none for
    an accepted or a stopped part (see `assemble`); review, reject, area: limits and smallest area in force, the area in
    pixels of the map, not a number and 0 where a damaged log does not say; recipe: its digest; release: digest of the
    export; decided_by, reason, never_accepted: as `Verdict` has them, or why the photo is not judged; time: ISO 8601,
    UTC; brightness and on: `verdict.DriftInputs`; region_x, region_y: middle of the most anomalous region, as shares of
    the photo; part, lot, view: number of the part, its lot or order, and which view of it the photo is, at a station;
    truth: what the photo shows, where its folder or list says so (`line.confusion`); path: where the photo lies;
    source: "batch", "watch", "station" or "http"; trial: whether it was no production.
    """

    name: Annotated[str, IN_LOG]
    digest: Annotated[str, IN_LOG] = ""
    score: Annotated[float | None, IN_LOG] = None
    verdict: Annotated[str, IN_LOG] = NOT_JUDGED
    percentile_among_good: float | None = None
    product_check: Annotated[str, IN_LOG] = ""
    photo_deviation: Annotated[str, IN_LOG] = ""
    defect_type: Annotated[str, IN_LOG] = ""
    defect_type_probability: float | None = None
    regions: int | None = None
    largest_region_pixels: int | None = None
    review: Annotated[float, IN_LOG]
    reject: Annotated[float, IN_LOG]
    area: Annotated[int, IN_LOG]
    recipe: str
    release: Annotated[str, IN_LOG] = ""
    decided_by: Annotated[Reason, IN_LOG] = Reason.NOT_JUDGED
    reason: Annotated[str, IN_LOG] = ""
    never_accepted: Annotated[Reason | None, IN_LOG] = None
    time: str = ""
    milliseconds: float = 0.0
    brightness: Annotated[float | None, IN_LOG] = None
    sharpness: Annotated[float | None, IN_LOG] = None
    noise: Annotated[float | None, IN_LOG] = None
    product_distance: Annotated[float | None, IN_LOG] = None
    shift_x: Annotated[float | None, IN_LOG] = None
    shift_y: Annotated[float | None, IN_LOG] = None
    angle: Annotated[float | None, IN_LOG] = None
    region_x: Annotated[float | None, IN_LOG] = None
    region_y: Annotated[float | None, IN_LOG] = None
    part: Annotated[str, IN_LOG] = ""
    lot: Annotated[str, IN_LOG] = ""
    view: Annotated[str, IN_LOG] = ""
    truth: str = ""
    path: Annotated[str, ONLY_IN_LOG] = ""
    source: Annotated[str, ONLY_IN_LOG] = ""
    trial: Annotated[bool, ONLY_IN_LOG] = False

    def __post_init__(self) -> None:
        """Raises ValueError for a verdict or a reason that there is none of."""
        if self.verdict not in ALL_VERDICTS:
            raise ValueError(f"{self.verdict!r:.40} is no verdict")
        object.__setattr__(self, "decided_by", Reason(self.decided_by))
        object.__setattr__(self, "never_accepted", Reason(self.never_accepted) if self.never_accepted else None)

    @property
    def is_stopped(self) -> bool:
        """Whether the product check found another product."""
        return self.decided_by is Reason.OTHER_PRODUCT

    @property
    def is_strict_review(self) -> bool:
        """Whether the strict mode was in force for the photo, and spoke against it."""
        return self.never_accepted is Reason.STRICT_MODE

    @property
    def inputs(self) -> dict[str, float]:
        """What else was measured on the photo and may drift, by name."""
        return {name: value for name in INPUTS if (value := getattr(self, name)) is not None}

    def decide_at(self, review: float, reject: float) -> tuple[VerdictWord, Reason]:
        """The verdict if these had been the limits, and what would have decided; the rest of the rule still holds.

        Raises ValueError as `Limits`, and for a photo without a score.
        """
        if self.score is None:
            raise ValueError(f"{self.name} has no score")
        limits = Limits(review, reject)
        return limits.decide(self.score, stopped=self.is_stopped, never_accepted=self.never_accepted)

    def in_strict_mode(self) -> Self:
        """The same where no score accepts a photo that differs from those taught."""
        if not self.photo_deviation or self.never_accepted or self.score is None:
            return self
        against = replace(self, never_accepted=Reason.STRICT_MODE)
        word, decided_by = against.decide_at(self.review, self.reject)
        return replace(against, verdict=word, decided_by=decided_by, reason=decided_by.text(self.photo_deviation))

    def with_verdict(self, verdict: Verdict, digest: str, good_scores: np.ndarray) -> Self:
        """The same photo, judged; digest: of its pixels; good_scores: (n,) ascending, of the good parts that set the
        limits.
        """
        kind, probability = verdict.defect_type or (UNKNOWN_TYPE if verdict.of_unknown_type else "", None)
        result = replace(
            self,
            digest=digest,
            verdict=verdict.verdict,
            product_check=verdict.product_check or "",
            photo_deviation=verdict.photo_deviation,
            defect_type=kind,
            defect_type_probability=probability,
            decided_by=verdict.decided_by,
            reason=verdict.reason,
            never_accepted=verdict.never_accepted,
            **asdict(verdict.inputs),
        )
        if (score := verdict.score) is None:
            return result
        count = len(good_scores)
        share = round(100 * float(np.searchsorted(good_scores, score, side="right")) / count, 1) if count else None
        region_x, region_y = verdict.region_place
        areas = [region.area for region in verdict.regions]
        result = replace(result, score=score, percentile_among_good=share, region_x=region_x, region_y=region_y)
        return replace(result, regions=len(areas), largest_region_pixels=max(areas, default=0))

    def as_recorded(self, recorded: "Inspection") -> Self:
        """The same with the verdict that the log has of it, recorded before a stop and perhaps on another machine."""
        names = ("score", "verdict", "decided_by", "reason", "never_accepted")
        return replace(self, **{name: getattr(recorded, name) for name in names})

    def is_recorded(self, recorded: "Inspection | None") -> bool:
        """Whether the log has this of the photo, wherever it lies."""
        apart = {"path", "source", "trial", *_MEASURED}
        return recorded is not None and all(
            getattr(self, name) == getattr(recorded, name) for name in LOGGED if name not in apart
        )

    def facts(self) -> dict[str, Any]:
        """What the audit log has of it: all that there is anything of."""
        values = {name: getattr(self, name) for name in LOGGED}
        return {name: value for name, value in values.items() if value or _is_number(value)}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], **others: Any) -> Self:
        """The inverse of `facts`; others: further fields.

        What is missing or damaged is as if there were none of it: then the verdict is "not judged", and a score or
        limit that is no number is named in the reason. What speaks against a part in words that are unknown still does.
        """
        values = {name: _recorded(TYPES[name], facts.get(name)) for name in LOGGED}
        damaged = [
            f"its {name} is not a number"
            for name in ("score", "review", "reject")
            if facts.get(name) is not None and not _is_number(facts[name])
        ]
        values["reason"] = "; ".join(filter(None, (values["reason"], *damaged)))
        if values["verdict"] not in ALL_VERDICTS:
            values |= {"verdict": NOT_JUDGED, "decided_by": Reason.NOT_JUDGED}
        return cls(**values, **others)


_HINTS = get_type_hints(Inspection, include_extras=True)
_NAMES = tuple(field.name for field in fields(Inspection))
TYPES = get_type_hints(Inspection)
"""The type of every field."""
COLUMNS = tuple(name for name in _NAMES if ONLY_IN_LOG not in getattr(_HINTS[name], "__metadata__", ()))
"""The columns of a table."""
LOGGED = tuple(name for name in _NAMES if getattr(_HINTS[name], "__metadata__", ()))
"""The fields that the audit log has."""


def _is_number(value: object) -> bool:
    """Whether it is a number that a float can hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _recorded(hint: Any, value: Any) -> Any:
    """A fact as the field of this type has it."""
    allowed = get_args(hint) or (hint,)
    if Reason in allowed:
        known = next((reason for reason in Reason if reason == value), None)
        if type(None) in allowed:
            return known or (Reason.STRICT_MODE if value else None)
        return known or Reason.SCORE
    if hint is str:
        return str(value or "")
    if hint is bool:
        return value is True
    if _is_number(value):
        return value
    return {float: float("nan"), int: 0}.get(hint)
