"""Photos of one brightness each, an inspector that goes by it, and the log that a batch or a watch writes."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.audit.log import AuditLog
from inspect_core.images.depth import Depth
from inspect_core.line.audit_record import AuditRecord
from inspect_core.recipe_format.recorded_photos import ChallengePart
from inspect_core.verdict import Limits, Region, Verdict
from tests.inspectors import InOneStep


@dataclass
class ByBrightness(InOneStep):
    """Accepts up to 100, reviews up to 200, rejects above; cannot judge the level `refused`."""

    refused: int | None = None
    seconds: float = 0.0
    product: str = "tile"
    digest: str = "d" * 64
    limits: Limits = field(default_factory=lambda: Limits(100.0, 200.0))
    area: int = 2
    engine: str = "nothing"
    release: str = ""
    good_scores: np.ndarray = field(default_factory=lambda: np.arange(10.0, 90.0, 10.0))
    calibration_digests: frozenset[str] = frozenset()
    challenge_parts: tuple[ChallengePart, ...] = ()
    depth: Depth | None = None

    def inspect(self, image):
        time.sleep(self.seconds)
        score = float(image.mean())
        if score == self.refused:
            raise ValueError("score is not finite; teach it again")
        word, boxes = self.limits.decide(score)[0], (Region(4, score, (1, 1, 3, 3)),)
        anomaly_map = np.linspace(-1, score, 24, dtype=np.float32).reshape(4, 6)
        return Verdict(score, word, anomaly_map, () if word == "accept" else boxes)


@pytest.fixture
def inspector():
    return ByBrightness


@pytest.fixture
def photo():
    """photo(path, level) writes a grey PNG of one brightness, whatever its name says."""

    def write(path: Path, level: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            Image.fromarray(np.full((16, 20, 3), level, np.uint8)).save(file, "PNG")
        return path

    return write


@pytest.fixture
def logged():
    """logged(inspector) opens the log of the workspace for it."""
    return lambda inspector: AuditRecord(AuditLog.open(), inspector, "Ana")


@pytest.fixture
def inspections():
    """inspections() is what the log holds of them, oldest first."""

    def read() -> list[dict]:
        with AuditLog.open() as log:
            assert log.verify() == []
            return [entry.facts for entry in log.entries(kind="inspection")]

    return read
