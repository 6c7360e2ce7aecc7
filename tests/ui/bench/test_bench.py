"""What the bench sends to the browser, and what it makes of the browser's moves."""

import io
import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from inspect_core.line import histogram
from inspect_core.scoring.counts import VerdictCounts, counts_sentence
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import limit_for_overkill
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.ui.bench import bench, pixels
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.verdict import Limits
from tests.examples import examples

APP = Path(__file__).parents[2] / "browser" / "bench_app.py"
LIMITS = Limits(2.5, 3.5)
ROWS = st.lists(
    st.tuples(
        st.text(max_size=5), st.sampled_from(["good", "scratch", "unknown"]),
        st.sampled_from(["calibration", "test", "added"]), st.none() | st.text(max_size=2), st.floats(0, 6, width=32),
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


def drawn(*rows: tuple, decides: dict | None = None, **changes) -> BenchState:
    """Rows: (name, kind, part, group, score) of each photo; decides: fields of their evidence."""
    rng = np.random.default_rng(0)
    photos = [ScoredPhoto(name, name, (12, 20), kind, part, Path(), group=group) for name, kind, part, group, _ in rows]
    scored = SimpleNamespace(
        photos=photos, unscored=(), set_on=None, live={"area": 1}, size=(8, 8),
        scores=lambda: np.array([row[-1] for row in rows], float), partly_out=lambda area: np.zeros(len(rows), bool),
        repeat_scores=lambda: np.full(len(rows), np.nan), cached=lambda key, make: make(),
    )  # fmt: skip
    return BenchState(photos, replace(evidence_of(scored), **(decides or {})), **{
        "position": 0, "image": rng.integers(0, 256, (12, 20, 3), dtype=np.uint8), "limits": LIMITS,
        "anomaly_map": rng.random((8, 8), dtype=np.float32), "suggested": LIMITS, **changes,
    })  # fmt: skip


def sent(*rows: tuple, **changes) -> dict:
    return json.loads(json.dumps(drawn(*rows, **changes).payload()))


def test_counted_parts_are_test_photos_else_limit_photos() -> None:
    parts = [
        ("a", "good", "calibration", None, 1.0), ("b", "unknown", "added", None, 4.0),
        ("c", "dent", "validation", None, 1.0), ("d", "dent", "added", None, 2.0),
    ]  # fmt: skip
    with_test_parts = [*parts, ("e", "good", "test", None, 4.0), ("f", "dent", "test", None, 4.0)]
    for shown_parts, counted, sets_limit, misses in (
        (parts, ["good", "", "", ""], True, " 1 relabelled; teach again to count it."),
        (with_test_parts, ["", "", "", "", "good", "defect"], False, "misses 0 of 1 defect"),
        (with_test_parts[3:], ["", "good", "defect"], True, "misses 0 of 1 defect"),
    ):
        data = sent(*shown_parts)
        assert [part["counted"] for part in data["parts"]] == counted
        assert (data["own"], len(data["bounds"])) == (sets_limit, counted.count("good") + 1)
        shown = drawn(*shown_parts)
        message = shown.evidence.sentence(LIMITS)
        assert misses in message
        assert ("These parts also set the limit." in message) == sets_limit


@settings(deadline=None, max_examples=examples(50))
@given(rows=ROWS)
def test_figures_survive_json_to_the_bit(rows: list[tuple]) -> None:
    data = sent(*rows)
    assert [(p["name"], p["label"], p["group"], p["score"]) for p in data["parts"]] == [
        (name, kind, group, score) for name, kind, _, group, score in rows
    ]
    assert data["limits"] == {"review": LIMITS.review, "reject": LIMITS.reject}
    for rejected, bound in enumerate(data["bounds"][:-1]):
        counts = VerdictCounts(rejected, len(data["bounds"]) - 1, 0, 0)
        assert f"(long-run upper bound {bound})" in counts_sentence(counts)


def test_facts_of_all_parts_and_the_shown_one_are_sent() -> None:
    rows = [("a", "unknown", "added", None, 1.0), ("b", "good", "test", None, 2.0)]
    stopped = np.array([True, False])
    data = sent(
        *rows, check="This is another product.", is_foreign=True, patch=(2, 0, 4, 3), area=64, mm_per_pixel=0.05,
        setting_scores=np.array([0.1, 0.7], np.float32),
        decides={"stopped": stopped, "never_accepted": ~stopped, "hit_limits": np.array([0.5, np.nan])},
    )  # fmt: skip
    assert [(p["stopped"], p["never_accepted"], p["found_up_to"]) for p in data["parts"]] == [
        (True, False, 0.5), (False, True, None),
    ]  # fmt: skip
    assert (data["is_foreign"], data["check"], data["patch"]) == (True, "This is another product.", [2, 0, 4, 3])
    assert (data["area"], data["map_size"], data["mm_per_pixel"]) == (64, [8, 8], 0.05)
    assert data["setting_scores"] == [float(np.float32(0.1)), float(np.float32(0.7))]
    plain = sent(*rows)
    assert (plain["is_foreign"], plain["area"], plain["mm_per_pixel"]) == (False, 1, None)


def test_a_film_holds_its_header_and_every_byte() -> None:
    blobs = [b"", b"\x00\xff" * 9, "ü".encode()]
    film = pixels.pack("a ü", blobs)
    (length,) = struct.unpack("<I", film[:4])
    header = json.loads(film[4 : 4 + length])
    assert header == {"token": "a ü", "lengths": [0, 18, 2]}
    assert film[4 + length :] == b"".join(blobs)
    assert pixels.pack("a", None) != pixels.pack("a", None), "the browser would not look whether it has it"


def test_photo_is_sent_exactly_and_a_very_large_one_reduced() -> None:
    image = np.random.default_rng(1).integers(0, 256, (30, 50, 3), dtype=np.uint8)
    file, size = pixels.photo_file(image)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(file))), image)
    assert size == [30, 50]
    file, size = pixels.photo_file(np.full((1000, 4 * pixels.PHOTO_SIDE, 3), 77, np.uint8))
    assert size == [250, pixels.PHOTO_SIDE]
    assert np.asarray(Image.open(io.BytesIO(file))).min() == 77


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": 1}, "position is 1, outside a gallery of 1"),
        ({"position": -1}, "position is -1"),
        ({"image": np.zeros((4, 4), np.uint8)}, "image is"),
        ({"image": np.zeros((4, 4, 3), np.float32)}, "image is .* float32"),
        ({"anomaly_map": np.full((4, 4), np.nan, np.float32)}, "anomaly_map"),
        ({"area": 0}, r"area is 0, outside 1\.\.64"),
        ({"area": 65}, "area is 65"),
        ({"area": 1.5}, "area is 1.5"),
        ({"mask": np.zeros((4, 4), bool)}, r"mask is \(4, 4\), the map \(8, 8\)"),
        ({"uninspected": np.zeros((4, 4), bool)}, r"uninspected is \(4, 4\)"),
        ({"setting_scores": np.array([1.0, np.nan])}, "setting_scores"),
        ({"evidence": Evidence.from_scores([], [])}, "there are 0 scores for 1 photos"),
    ],
)
def test_what_cannot_be_shown_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bench.bench("key", replace(drawn(("a", "good", "test", None, 1.0)), **changes), "t")


def served() -> AppTest:
    return AppTest.from_file(str(APP), default_timeout=60)


def in_force(at: AppTest) -> str:
    assert not at.exception
    return at.text[0].value


def test_the_browsers_limits_and_part_are_taken_over() -> None:
    at = served()
    at.session_state["bench"] = {
        "limits": {"review": 9.5, "reject": 11.25, "stamp": 1},
        "position": {"value": 3, "stamp": 2},
    }
    at.run()
    assert in_force(at) == "In force: 9.5 11.25 at 3"
    at.button[0].click().run()
    assert in_force(at) == "In force: 9.5 11.25 at 3"


def test_a_move_is_taken_once_and_what_python_sets_later_stays() -> None:
    at = AppTest.from_function(a_page_that_says_what_was_set, default_timeout=60)
    moves = {"limits": {"review": 3.0, "reject": 4.0, "stamp": 5}, "position": {"value": 0, "stamp": 6}}
    at.session_state["bench"] = moves
    assert in_force(at.run()) == "BenchInput(limits=Limits(review=3.0, reject=4.0), position=0, label=None)"
    assert in_force(at.run()) == "BenchInput(limits=None, position=None, label=None)"
    at.session_state["bench"] = moves | {"position": {"value": 7, "stamp": 8}}
    assert in_force(at.run()) == "BenchInput(limits=None, position=7, label=None)"


@pytest.mark.parametrize(
    "move",
    [7, "x", [1], {}, {"stamp": "x"}, {"stamp": 3}, {"stamp": 3, "value": None}, {"stamp": 3, "value": 1e400},
     {"stamp": 3, "review": 2.0, "reject": 1.0}, {"stamp": 3, "value": "x", "label": []}],
)  # fmt: skip
def test_what_the_bench_did_not_send_changes_nothing(move) -> None:
    at = AppTest.from_function(a_page_that_says_what_was_set, default_timeout=60)
    at.session_state["bench"] = dict.fromkeys(("limits", "position", "label"), move)
    assert in_force(at.run()) == "BenchInput(limits=None, position=None, label=None)"


def a_page_that_says_what_was_set() -> None:
    import streamlit as st

    from inspect_core.ui.bench import bench

    st.text(bench.read_input("bench"))


def test_the_suggested_limit_is_in_force_at_first() -> None:
    at = served().run()
    specification = APP.read_text(encoding="utf-8")
    module: dict = {"__name__": "bench_app"}
    exec(compile(specification, str(APP), "exec"), module)
    photos, scores, _ = module["made_up"](40)
    setters = scores[[photo.label == "good" and photo.subset == "calibration" for photo in photos]]
    limit = limit_for_overkill(setters, rate=0.01)
    assert in_force(at) == f"In force: {limit!r} {limit!r} at 20"


def test_verdict_colours_equal_those_of_reports():
    style = Path(bench.__file__).with_name("frontend").joinpath("bench.css").read_text(encoding="utf-8")
    light, _ = style.split('[data-theme="dark"]')
    assert dict(re.findall(r"--(accept|review|reject): (#[0-9a-f]{6});", light)) == histogram.COLOURS
