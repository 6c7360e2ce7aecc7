"""Challenge parts: real parts kept beside the line. Golden images prove the software; these prove lamp, lens, fixture.

A part passes when it gets the same verdict as before, for the same reason, with at least MARGIN_KEPT of its former
distance from the limit: a lamp that grows dim reduces the margin before a verdict changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from inspect_core.images.listing import photos_in
from inspect_core.line.inspector import Inspector
from inspect_core.line.result_row import ResultRow, judge
from inspect_core.recipe_format.recorded_photos import ChallengePart, margin
from inspect_core.verdict import PARTLY_OUT

MARGIN_KEPT = 0.5
NO_PHOTO = "no photo"


@dataclass(frozen=True)
class Answer:
    """The result for one challenge part.

    verdict: of its photo now, or NO_PHOTO; margin_had, margin: distance, before and now, from the nearest limit that
    would change the verdict, in the unit of the score, None where no score decides; words: why it passed or did not.
    """

    part: ChallengePart
    verdict: str
    score: float | None
    digest: str
    margin_had: float | None
    margin: float | None
    passed: bool
    words: str


def challenge(inspector: Inspector, photos: Mapping[str, Path]) -> list[Answer]:
    """Inspect the photo of every challenge part of the recipe, by the part's name.

    Raises ValueError for a recipe without challenge parts.
    """
    if not inspector.challenge:
        raise ValueError(f"{inspector.product} has no challenge parts; add some first")
    return [_answer(inspector, part, photos.get(part.name)) for part in inspector.challenge]


def name_parts(inspector: Inspector, good: Sequence[Path], defects: Sequence[Path]) -> tuple[ChallengePart, ...]:
    """Challenge parts from photos of them, named as their files without the extension.

    Raises ValueError for two of one name, a photo that cannot be judged, a good part that is not accepted, a defect
    that is accepted, and a score right at a limit: such parts would only prove that the recipe is wrong.
    """
    found: dict[str, ChallengePart] = {}
    for path, is_good in [*((path, True) for path in good), *((path, False) for path in defects)]:
        judged = judge(inspector, path.name, path)
        if judged.verdict is None or judged.verdict.score is None:
            raise ValueError(f"{path.name}: {judged.row.reason}")
        word, score = judged.verdict.verdict, judged.verdict.score
        if judged.verdict.reason == PARTLY_OUT:
            raise ValueError(f"{path.name}: the part is {PARTLY_OUT}; photograph all of it")
        if (word == "accept") != is_good:
            sort = "good" if is_good else "defective"
            raise ValueError(
                f"{path.name}: a {sort} part with verdict {word} cannot be a challenge part; choose another"
            )
        if path.stem in found:
            raise ValueError(f"{path.name}: two challenge parts are called {path.stem}; rename one")
        part = ChallengePart(path.stem, is_good, word, score, judged.row.reason)
        if part.under(inspector.limits) is None:
            raise ValueError(f"{path.name}: its score is exactly at a limit, so any change fails; choose another")
        found[path.stem] = part
    if not found:
        raise ValueError("no photos of challenge parts; put good parts into good/ and defective ones next to it")
    return tuple(found.values())


def photos_by_part(folder: Path) -> dict[str, Path]:
    """Photos below a folder by the name of the part: that of the file without its extension.

    Raises ValueError when two photos are of one part.
    """
    found: dict[str, Path] = {}
    for _, path in photos_in([folder]):
        if path.stem in found:
            raise ValueError(f"{path}: there are two photos of {path.stem}; leave one")
        found[path.stem] = path
    return found


def facts(answer: Answer) -> dict:
    """An answer as stored in the audit log."""
    row = asdict(answer)
    part = row.pop("part")
    return {"name": part["name"], "good": part["good"], "expected": part["verdict"], "had": part["score"]} | row


def _answer(inspector: Inspector, part: ChallengePart, path: Path | None) -> Answer:
    had = part.margin(inspector.limits)
    if path is None:
        return Answer(part, NO_PHOTO, None, "", had, None, False, "no photo of this part; take one now")
    row = judge(inspector, path.name, path).row
    now, kept = None, False
    if row.score is None:
        words = row.reason
    elif (row.verdict, row.reason) != (part.verdict, part.reason):
        words = f"{_with_reason(row)} instead of {_with_reason(part)}"
    elif had is None:
        kept, words = True, _with_reason(row)
    else:
        now = margin(inspector.limits, row.verdict, row.score)
        kept = now >= MARGIN_KEPT * had
        least = "" if kept else f", below the required {100 * MARGIN_KEPT:.0f}%"
        words = f"{row.verdict} with {100 * now / had:.0f}% of its margin{least}"
    return Answer(part, row.verdict, row.score, row.digest, had, now, kept, words)


def _with_reason(found: ResultRow | ChallengePart) -> str:
    return f"{found.verdict} ({found.reason})" if found.reason else found.verdict
