"""A measurement study on disk: which parts, who appraises them how often, and what was said so far. Only data."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace, exclusive
from inspect_core.runtime.json_record import FINITE, or_null, read_record, to_table, whole
from inspect_core.spc.agreement import Appraisal
from inspect_core.spc.appraisal_table import condition_of

LOUPE = "Loupe"
MOST_PARTS = 500
MOST_TRIALS = 20
MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class StudyPart:
    """A part of the tray: the name on it, and what it is known to be."""

    name: str
    defective: bool


@dataclass(frozen=True)
class AppraisalRecord:
    """One appraisal. digest: of the photo's file, "" for a person, who sees the part itself."""

    part: str
    appraiser: str
    trial: Annotated[int, whole(1)]
    not_accepted: bool
    score: Annotated[float | None, or_null(FINITE)] = None
    digest: str = ""

    @property
    def turn(self) -> tuple[str, str, int]:
        """What is appraised once: the part, by whom, in which trial."""
        return self.part, self.appraiser, self.trial


@dataclass(frozen=True)
class MsaStudy:
    """parts: the tray; trials: how often everyone appraises it; human_appraisers: those besides Loupe; recipe: file
    name and digest of what judges for Loupe; appraisals: in their order.
    """

    name: str
    parts: tuple[StudyPart, ...]
    trials: Annotated[int, whole(2)]
    human_appraisers: tuple[str, ...]
    recipe: str
    digest: str
    started_at: str
    appraisals: tuple[AppraisalRecord, ...] = ()

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        for most, count, subject in ((MOST_PARTS, len(names), "parts"), (MOST_TRIALS, self.trials, "trials")):
            if not 2 <= count <= most:
                remedy = "list them one a line" if subject == "parts" else "choose another number"
                raise ValueError(f"A study has 2 to {most} {subject}, this one {count}; {remedy}")
        if len(set(names)) < len(names) or not all(name.strip() for name in names):
            raise ValueError("Each part needs a different name, written on it; two are the same or empty")
        if len({LOUPE, *self.human_appraisers}) < 1 + len(self.human_appraisers) or not all(
            name.strip() for name in self.human_appraisers
        ):
            raise ValueError(f"Each appraiser needs a different name, other than {LOUPE}")
        if len({part.defective for part in self.parts}) < 2:
            raise ValueError("A study needs good and defective parts, some of them close to the limit; list both")

    @property
    def appraisers(self) -> tuple[str, ...]:
        return (LOUPE, *self.human_appraisers)

    @property
    def truth(self) -> dict[str, bool]:
        """Whether a part is defective, by its name."""
        return {part.name: part.defective for part in self.parts}

    def next_for(self, appraiser: str) -> tuple[StudyPart, int] | None:
        """The part to appraise now and the trial; each trial in an order of its own. None when all is said."""
        done = {(appraisal.part, appraisal.trial) for appraisal in self.appraisals if appraisal.appraiser == appraiser}
        for trial in range(1, self.trials + 1):
            order = list(self.parts)
            random.Random(f"{self.name} {appraiser} {trial}").shuffle(order)
            for part in order:
                if (part.name, trial) not in done:
                    return part, trial
        return None

    def with_appraisal(self, appraisal: AppraisalRecord) -> Self:
        """The study with one more appraisal. Raises ValueError for a part, trial or appraiser that is not in it,
        for what was said already, and for a photo that was used before: a trial is a new photo.
        """
        if appraisal.part not in {part.name for part in self.parts} or appraisal.appraiser not in self.appraisers:
            raise ValueError(f"{appraisal.part} by {appraisal.appraiser} is not in this study")
        if not 1 <= appraisal.trial <= self.trials:
            raise ValueError(f"trial {appraisal.trial} is not in this study; it has {self.trials}")
        for other in self.appraisals:
            if other.turn == appraisal.turn:
                raise ValueError(
                    f"{appraisal.appraiser} has already appraised part {appraisal.part} in trial {appraisal.trial}"
                )
            if appraisal.digest and other.digest == appraisal.digest:
                same = f"this is the same photo as for part {other.part}, trial {other.trial}"
                raise ValueError(f"{same}; put part {appraisal.part} back into the fixture and photograph it again")
        return replace(self, appraisals=(*self.appraisals, appraisal))

    def readings(self) -> list[Appraisal]:
        """What was said, of the appraisers who have said everything."""
        complete = {name for name in self.appraisers if self.next_for(name) is None}
        return [
            Appraisal(
                appraisal.part,
                self.truth[appraisal.part],
                appraisal.appraiser,
                appraisal.trial,
                appraisal.not_accepted,
                appraisal.score,
            )
            for appraisal in self.appraisals
            if appraisal.appraiser in complete
        ]


def parts_of(text: str) -> tuple[StudyPart, ...]:
    """The parts of a tray, one a line: "7, good" or "8, NG". Raises ValueError naming the line."""
    parts = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, truth = (word.strip() for word in line.replace(";", ",").replace("\t", ",").rpartition(","))
        if not line.strip():
            continue
        try:
            if not name:
                raise ValueError
            parts.append(StudyPart(name, condition_of(truth)))
        except ValueError as error:
            remedy = "write a name, a comma and good or defective, such as “1, good”"
            raise ValueError(f"Line {number}, “{line.strip()}”: {remedy}") from error
    return tuple(parts)


def folder() -> Path:
    return workspace.root() / "measurements"


def save(study: MsaStudy, stem: str | None = None) -> None:
    """Write a study in place of the last state of it; stem: of its file, by default after its name. Raises OSError."""
    folder().mkdir(parents=True, exist_ok=True)
    with atomic_replace(_path(study.name) if stem is None else folder() / f"{stem}.json") as new:
        new.write_text(json.dumps(to_table(study), ensure_ascii=False, indent=1), encoding="utf-8")


def record(stem: str, *appraisals: AppraisalRecord) -> MsaStudy:
    """The study with more appraisals, as it is on disk now, also where others add to it; all of them or none.

    Raises ValueError as `with_appraisal`, and OSError.
    """
    with exclusive(folder() / f"{stem}.json"):
        study = _replayed(load(stem), appraisals)
        save(study, stem)
    return study


def names() -> list[str]:
    """The studies on disk by file, the latest first."""
    files = [path for path in folder().glob("*.json") if workspace.regular_file_stat(path)]
    return [path.stem for path in sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True)]


def load(stem: str) -> MsaStudy:
    """A study by the name of its file. Raises ValueError for one that is damaged."""
    path = folder() / f"{stem}.json"
    try:
        study = read_record(MsaStudy, workspace.content(path, at_most=MOST_BYTES) or b"", path.name)
        return _replayed(replace(study, appraisals=()), study.appraisals)
    except ValueError as error:
        raise ValueError(f"{path.name} is damaged ({error}); delete it, or put a copy in its place") from error


def free_name(requested_name: str) -> str:
    """The name, with a number where a study has it."""
    used_names = {workspace.file_name(name) for name in names()}
    number = 1
    while workspace.file_name(name := requested_name if number == 1 else f"{requested_name} {number}") in used_names:
        number += 1
    return name


def _replayed(study: MsaStudy, appraisals: Sequence[AppraisalRecord]) -> MsaStudy:
    for appraisal in appraisals:
        study = study.with_appraisal(appraisal)
    return study


def _path(name: str) -> Path:
    return folder() / f"{workspace.file_name(name)}.json"
