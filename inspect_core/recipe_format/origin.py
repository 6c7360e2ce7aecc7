"""Where a recipe comes from: who made it, when and why, and with which network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from inspect_core.runtime.json_record import ELSEWHERE, TEXT, Least, table_of, whole
from inspect_core.runtime.users import UNKNOWN


@dataclass(frozen=True)
class BackboneChoice:
    """Which network, which taps, which weights (by digest), at which input size (height, width)."""

    name: str
    taps: Annotated[tuple[str, ...], Least(1)]
    weight_digest: str
    size: Annotated[tuple[int, int], ELSEWHERE]


@dataclass(frozen=True)
class Provenance:
    """Who made a recipe, when, why and from what.

    created: ISO 8601 with its time zone; photo_root: the folder that most were in; photo_folders: the other ones.
    """

    created: str
    author: str = UNKNOWN
    reason: str = ""
    parent: str | None = None
    seeds: Annotated[Mapping[str, int], table_of(whole(0, 2**63))] = field(default_factory=dict)
    versions: Annotated[Mapping[str, str], table_of(TEXT)] = field(default_factory=dict)
    photo_root: str | None = None
    photo_folders: tuple[str, ...] = ()
    calibration_note: Annotated[str, ELSEWHERE] = ""

    @property
    def folders(self) -> list[Path]:
        """All folders that its photos were in."""
        return [Path(folder) for folder in (self.photo_root, *self.photo_folders) if folder]
