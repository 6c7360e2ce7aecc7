"""Challenge parts: real parts kept beside the line. Golden images prove the software; these prove lamp, lens, fixture.

A part passes when a new photo of it gets the same verdict as before, for the same reason, with at least MARGIN_KEPT of
its former distance from the limit: a lamp that grows dim reduces the margin before a verdict changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from inspect_core.datasets.listing import photos_in
from inspect_core.inspection import Inspection
from inspect_core.line.inspector import Inspector
from inspect_core.line.photo_inspection import inspect_photos
from inspect_core.recipe_format.recorded_photos import ChallengePart, margin
from inspect_core.verdict import Reason

MARGIN_KEPT = 0.5
NO_PHOTO = "no photo"


@dataclass(frozen=True)
class ChallengeResult:
    """The result for one challenge part.

    verdict: of its photo now, or NO_PHOTO; reference_margin, margin: distance, before and now, from the nearest limit
    that would change the verdict, in the unit of the score, None where no score decides; words: why it passed or did
    not.
    """

    part: ChallengePart
    verdict: str
    score: float | None
    digest: str
    reference_margin: float | None
    margin: float | None
    passed: bool
    words: str


def challenge(inspector: Inspector, photos: Mapping[str, Path]) -> list[ChallengeResult]:
    """Inspect the photo of every challenge part of the recipe, by the part's name.

    Raises ValueError for a recipe without challenge parts.
    """
    if not inspector.challenge_parts:
        raise ValueError(f"{inspector.product} has no challenge parts; add some first")
    there = [photos[part.name] for part in inspector.challenge_parts if part.name in photos]
    rows = (inspected.row for inspected in inspect_photos(inspector, [(path.name, path) for path in there]))
    return [_answer(inspector, part, next(rows) if part.name in photos else None) for part in inspector.challenge_parts]


def name_parts(inspector: Inspector, good: Sequence[Path], defects: Sequence[Path]) -> tuple[ChallengePart, ...]:
    """Challenge parts from photos of them, named as their files without the extension.

    Raises ValueError for two of one name, a photo that cannot be judged, a good part that is not accepted, a defect
    that is accepted, and a score right at a limit: such parts would only prove that the recipe is wrong.
    """
    parts: dict[str, ChallengePart] = {}
    photos = [*((path, True) for path in good), *((path, False) for path in defects)]
    inspected_photos = inspect_photos(inspector, [(path.name, path) for path, _ in photos])
    for (path, is_good), inspected in zip(photos, inspected_photos, strict=True):
        if inspected.verdict is None or inspected.verdict.score is None:
            raise ValueError(f"{path.name}: {inspected.row.reason}")
        word, score = inspected.verdict.verdict, inspected.verdict.score
        if inspected.row.decided_by is Reason.PARTLY_OUT:
            raise ValueError(f"{path.name}: the part is {Reason.PARTLY_OUT}; photograph all of it")
        if inspected.row.decided_by not in (Reason.SCORE, Reason.OTHER_PRODUCT):
            raise ValueError(f"{path.name}: {inspected.row.reason} than in any good part; take another photo of it")
        if (word == "accept") != is_good:
            sort = "good" if is_good else "defective"
            raise ValueError(
                f"{path.name}: a {sort} part with verdict {word} cannot be a challenge part; choose another"
            )
        if path.stem in parts:
            raise ValueError(f"{path.name}: two challenge parts are called {path.stem}; rename one")
        part = ChallengePart(path.stem, is_good, word, score, inspected.row.reason, inspected.row.digest)
        if part.with_limits(inspector.limits) is None:
            raise ValueError(f"{path.name}: its score is exactly at a limit, so any change fails; choose another")
        parts[path.stem] = part
    if not parts:
        raise ValueError("no photos of challenge parts; put good parts into good/ and defective ones next to it")
    return tuple(parts.values())


def photos_by_part(folder: Path) -> dict[str, Path]:
    """Photos below a folder by the name of the part: that of the file without its extension.

    Raises ValueError when two photos are of one part.
    """
    photos: dict[str, Path] = {}
    for _, path in photos_in([folder]):
        if path.stem in photos:
            raise ValueError(f"{path}: there are two photos of {path.stem}; leave one")
        photos[path.stem] = path
    return photos


def result_facts(answer: ChallengeResult) -> dict:
    """An answer as stored in the audit log."""
    facts = asdict(answer)
    part, margin_had = facts.pop("part"), facts.pop("reference_margin")
    expected = {"name": part["name"], "good": part["good"], "expected": part["verdict"], "had": part["score"]}
    return expected | facts | {"margin_had": margin_had}


def _answer(inspector: Inspector, part: ChallengePart, row: Inspection | None) -> ChallengeResult:
    """row: of the photo of the part, None without one."""
    had = part.margin(inspector.limits)
    if row is None:
        return ChallengeResult(part, NO_PHOTO, None, "", had, None, False, "no photo of this part; take one now")
    now, has_margin = None, False
    if row.digest and row.digest == part.digest:
        words = "the photo that named this part; take one now"
    elif row.score is None:
        words = row.reason
    elif (row.verdict, row.reason) != (part.verdict, part.reason):
        words = f"{_with_reason(row)} instead of {_with_reason(part)}"
    elif had is None:
        has_margin = True
        words = _with_reason(row)
    else:
        now = margin(inspector.limits, row.verdict, row.score)
        has_margin = now >= MARGIN_KEPT * had
        least = "" if has_margin else f", below the required {100 * MARGIN_KEPT:.0f}%"
        words = f"{row.verdict} with {100 * now / had:.0f}% of its margin{least}"
    return ChallengeResult(part, row.verdict, row.score, row.digest, had, now, has_margin, words)


def _with_reason(part_or_row: Inspection | ChallengePart) -> str:
    return f"{part_or_row.verdict} ({part_or_row.reason})" if part_or_row.reason else part_or_row.verdict
