"""The recipes of a station, all loaded before it is ready, and which of them judges a part."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from inspect_core.audit import challenges, life_cycle
from inspect_core.audit.log import AuditLog
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.inspector import Inspector
from inspect_core.line.watch_session import require_challenge
from inspect_core.runner import Runner
from inspect_core.station.settings import StationSettings
from inspect_core.whole_part.product_check import RIGHT

NO_RECIPE = "no recipe knows this product"


class RecipeBook:
    """Opened recipes by number and view. A switch to any of them takes no time: all are loaded at the start.

    Raises ValueError and OSError, naming it, for a recipe that cannot be used, is not approved where `settings.trial`
    is off, or whose challenge failed.
    """

    def __init__(
        self, settings: StationSettings, log: AuditLog, user: str, *, opened: Callable[[Path], Inspector] = Runner
    ) -> None:
        self._settings = settings
        by_file: dict[Path, Inspector] = {}
        self._by_number: dict[int, dict[str, Inspector]] = {}
        for number in sorted({entry.number for entry in settings.recipes}):
            files = {view.name: settings.file_of(number, view.name) for view in settings.views}
            for file in files.values():
                if file not in by_file:
                    by_file[file] = opened(file)
                    self._require(by_file[file], file, log, user)
            self._by_number[number] = {view: by_file[file] for view, file in files.items()}

    def _require(self, inspector: Inspector, file: Path, log: AuditLog, user: str) -> None:
        require_challenge(AuditRecord(log, inspector, user))
        if not self._settings.trial and life_cycle.state_of(log, inspector.digest) != life_cycle.APPROVED:
            raise ValueError(
                f"{file.name}: this version of {inspector.product} is not approved; approve it on Recipes, or set "
                "`trial: true`"
            )

    @property
    def inspectors(self) -> list[Inspector]:
        """Each once."""
        return list({id(item): item for views in self._by_number.values() for item in views.values()}.values())

    def challenge_due(self, number: int, log: AuditLog, hours: float) -> bool:
        """Whether the last challenge of a recipe with challenge parts is as long ago; with 0 hours never."""
        digests = {item.digest for item in self.views_of(number).values() if item.challenge_parts}
        if not hours or not digests:
            return False
        oldest = datetime.now(UTC) - timedelta(hours=hours)
        entries = (challenges.last(log, digest) for digest in digests)
        return any(entry is None or datetime.fromisoformat(entry.time) < oldest for entry in entries)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(self._by_number)

    def views_of(self, number: int) -> Mapping[str, Inspector]:
        """The inspector of each view. Raises KeyError for a number that there is none of."""
        return self._by_number[number]

    def release_of(self, number: int) -> str:
        """The digest of the export that judges the first view."""
        first = next(iter(self._by_number[number].values()))
        return first.release or first.digest

    def number_of_code(self, text: str) -> int | None:
        """The recipe that a code on the part stands for, None where none or several do."""
        numbers = {entry.number for entry in self._settings.recipes if entry.code and entry.code == text}
        return numbers.pop() if len(numbers) == 1 else None

    def number_of_product(self, photos: Mapping[str, np.ndarray]) -> int | None:
        """The one recipe whose product checks know the part, None where none or several do. photos: by view, RGB."""
        known = [
            number
            for number, views in self._by_number.items()
            if all(_knows(views[view], pixels) for view, pixels in photos.items())
        ]
        return known[0] if len(known) == 1 else None


def _knows(inspector: Inspector, pixels: np.ndarray) -> bool:
    photo = inspector.prepare(pixels)
    verdict = inspector.judge(*inspector.compute([photo]))
    return verdict.product_check == RIGHT
