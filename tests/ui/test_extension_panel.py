"""Which photos are ticked to be learned, and what the report says the limit would then accept."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.datasets.dataset import ScanError
from inspect_core.inspection import Inspection
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, TeachingPhoto
from inspect_core.tuning.recipe_extension import newly_accepted
from inspect_core.ui.recipes import extension_panel
from inspect_core.ui.recipes.extension_panel import Candidate
from inspect_core.verdict import Limits, Reason

ROW = Inspection(name="a.png", digest="1", score=3.0, verdict="accept", review=5.0, reject=9.0, area=4, recipe="r")
PART = Candidate("a.png", Path("a.png"))


@pytest.mark.parametrize(
    ("candidate", "photo", "change", "says", "ticked"),
    [
        (PART, None, {}, "score 3, accepted", True),
        (PART, None, {"score": 12.0, "verdict": "reject"}, "score 12, rejected", True),
        (PART, None, {"verdict": "reject", "decided_by": Reason.OTHER_PRODUCT}, "shows another product", False),
        (PART, None, {"score": None, "verdict": "not located", "reason": "nothing matches"}, "nothing matches", False),
        (replace(PART, overridden=True, words="rejected, then marked good"), None,
         {"score": 40.0, "verdict": "reject"}, "marked good; score 40, rejected; learned, it would raise", False),
        (replace(PART, defective=True), None, {}, "score 3", False),
        (PART, TeachingPhoto("a.png", "1", "good", "train"), {}, "learned before", False),
    ],
)  # fmt: skip
def test_doubtful_photos_are_not_ticked_and_say_why(candidate, photo, change, says, ticked):
    words, is_chosen = extension_panel._described(candidate, photo, replace(ROW, **change), is_tested=False)
    assert says in words
    assert is_chosen is ticked


def test_the_report_names_what_the_limit_would_now_accept():
    new = SimpleNamespace(
        limits=Limits(50.0, 60.0),
        stops=False,
        calibration_photos=[CalibrationPhoto("a.png", "1", 41.0), CalibrationPhoto("b.png", "2", 55.0)],
    )
    rejected = replace(ROW, score=40.0, verdict="reject")
    rows = [
        rejected,
        replace(rejected, name="b.png", digest="2"),
        replace(ROW, digest="3"),
        replace(rejected, digest="4"),
    ]
    assert newly_accepted(rows, new) == ["The limit would now accept a.png, score 40 before."]


def test_a_folder_without_photos_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    monkeypatch.setattr(extension_panel.label_question, "choose", lambda *_, **__: SimpleNamespace(is_clear=True))
    (tmp_path / "new parts").mkdir()
    with pytest.raises(ScanError, match="There are no photos in “new parts”"):
        extension_panel._in_folder(tmp_path / "new parts", "key")
