"""What the bench sends to the browser, and what it makes of the browser's moves."""

import io
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from inspect_core.judge.counts import Counts, in_parts
from inspect_core.judge.limits import limit_for_overkill
from inspect_core.study.evaluation import in_parts_of
from inspect_core.ui.bench import bench, pixels
from inspect_core.ui.bench.payload import Part, Shown, payload
from inspect_core.verdict import Limits

APP = Path(__file__).parents[2] / "browser" / "bench_app.py"
LIMITS = Limits(2.5, 3.5)
PARTS = st.lists(
    st.builds(
        Part,
        name=st.text(max_size=5),
        kind=st.sampled_from(["good", "scratch", "unknown"]),
        part=st.sampled_from(["calibrate", "judge", "added"]),
        group=st.none() | st.text(max_size=2),
        score=st.floats(0, 6, width=32),
    ),
    min_size=1,
    max_size=30,
)


def shown(position: int = 0, **changes) -> Shown:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (12, 20, 3), dtype=np.uint8)
    return Shown(position, **{"image": image, "anomaly_map": rng.random((8, 8), dtype=np.float32), **changes})


def figures(parts: list[Part]) -> dict:
    return sent(parts, shown())


def sent(parts: list[Part], drawn: Shown, setting_scores: Sequence[float] = ()) -> dict:
    return payload(parts, drawn, LIMITS, calm=1.0, suggested=LIMITS, sentence="", setting_scores=setting_scores)


def draw(parts: list[Part], drawn: Shown, setting_scores: Sequence[float] = ()) -> None:
    bench.bench("key", parts, drawn, LIMITS, calm=0.0, suggested=LIMITS, sentence="", setting_scores=setting_scores,
                thumbs="t")  # fmt: skip


def test_good_parts_to_judge_count_else_those_that_set_the_limit_and_no_defect_that_settings_were_chosen_by() -> None:
    parts = [
        Part("a", "good", "calibrate", None, 1.0), Part("b", "unknown", "added", None, 4.0),
        Part("c", "dent", "choose", None, 1.0), Part("d", "dent", "added", None, 2.0),
    ]  # fmt: skip
    judged = [*parts, Part("e", "good", "judge", None, 4.0), Part("f", "dent", "judge", None, 4.0)]
    for some, counted, own, misses in (
        (parts, ["good", "", "", "defect"], True, "misses 1 of 1 defect"),
        (judged, ["", "", "", "defect", "good", "defect"], False, "misses 1 of 2 defects"),
        (judged[3:], ["defect", "good", "defect"], True, "misses 1 of 2 defects"),
    ):
        data = figures(some)
        assert (data["counted"], data["own"], len(data["bounds"])) == (counted, own, counted.count("good") + 1)
        scored = SimpleNamespace(photos=some, unscored=())
        said = in_parts_of(scored, np.array([part.score for part in some]), LIMITS)
        assert misses in said
        assert ("The limit was set on these parts." in said) == own


@settings(deadline=None, max_examples=50)
@given(parts=PARTS)
def test_figures_survive_json_to_the_bit(parts: list[Part]) -> None:
    data = json.loads(json.dumps(figures(parts)))
    assert data["scores"] == [part.score for part in parts]
    assert data["limits"] == {"review": LIMITS.review, "reject": LIMITS.reject}
    for rejected, bound in enumerate(data["bounds"][:-1]):
        counts = Counts(rejected, len(data["bounds"]) - 1, 0, 0)
        assert f"(at most {bound} % at 95 %)" in in_parts(counts)


def test_another_product_and_the_patch_to_frame_reach_the_browser() -> None:
    parts = [Part("a", "unknown", "added", None, 1.0, stopped=True), Part("b", "good", "judge", None, 2.0)]
    drawn = shown(guard="This is another product.", foreign=True, patch=(2, 0, 4, 3))
    data = json.loads(json.dumps(sent(parts, drawn)))
    assert data["stopped"] == [True, False]
    assert (data["foreign"], data["guard"]) == (True, "This is another product.")
    assert data["patch"] == [2, 0, 4, 3]
    assert figures(parts)["foreign"] is False


def test_scores_that_set_the_limit_may_differ_from_those_shown() -> None:
    parts = [Part("a", "good", "calibrate", None, 1.0)]
    crossed = np.array([0.1, 0.7], np.float32)
    data = json.loads(json.dumps(sent(parts, shown(), setting_scores=crossed)))
    assert data["setting_scores"] == crossed.tolist()
    assert data["scores"] == [1.0]
    with pytest.raises(ValueError, match="setting_scores"):
        draw(parts, shown(), [1.0, float("nan")])


def test_the_smallest_area_reaches_the_browser_in_pixels_of_the_map() -> None:
    parts = [Part("a", "good", "judge", None, 1.0)]
    data = json.loads(json.dumps(sent(parts, shown(area=np.int64(64)))))
    assert (data["area"], data["map_size"]) == (64, [8, 8])
    assert figures(parts)["area"] == 1
    assert figures(parts)["mm_per_pixel"] is None
    assert sent(parts, shown(mm_per_pixel=0.05))["mm_per_pixel"] == 0.05


def test_a_film_holds_its_header_and_every_byte() -> None:
    blobs = [b"", b"\x00\xff" * 9, "ü".encode()]
    film = pixels.pack("a ü", blobs)
    (length,) = struct.unpack("<I", film[:4])
    header = json.loads(film[4 : 4 + length])
    assert header == {"token": "a ü", "lengths": [0, 18, 2]}
    assert film[4 + length :] == b"".join(blobs)
    assert pixels.pack("a", None) != pixels.pack("a", None), "the browser would not look whether it has it"


def test_the_photo_is_sent_pixel_for_pixel_and_a_very_large_one_reduced() -> None:
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
    ],
)
def test_what_cannot_be_shown_is_refused(changes: dict, message: str) -> None:
    parts = [Part("a", "good", "judge", None, 1.0)]
    with pytest.raises(ValueError, match=message):
        draw(parts, shown(**changes))


def test_a_part_without_a_score_is_refused() -> None:
    parts = [Part("a", "good", "judge", None, 1.0), Part("b", "good", "judge", None, float("nan"))]
    with pytest.raises(ValueError, match="b has the score nan"):
        draw(parts, shown())


def test_a_move_holds_until_it_is_in_force_and_never_comes_back() -> None:
    taken: dict = {}
    moves = {"position": {"value": 4, "stamp": 11}}
    read = lambda move: move["value"]  # noqa: E731
    assert bench._take("position", {}, taken, 2, read) == 2
    assert bench._take("position", moves, taken, 2, read) == 4
    assert bench._take("position", moves, taken, 2, read) == 4, "a rerun cut short may not lose the move"
    assert bench._take("position", moves, taken, 4, read) == 4
    assert bench._take("position", moves, taken, 7, read) == 7, "what Python sets later stays"
    assert bench._take("position", {"position": {"value": 4, "stamp": 12}}, taken, 7, read) == 4


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


def test_a_move_is_returned_until_the_caller_takes_it_over() -> None:
    at = AppTest.from_function(a_page_that_asks_afterwards, default_timeout=60)
    limits, position = {"review": 3.0, "reject": 4.0, "stamp": 5}, {"value": 9, "stamp": 6}
    at.session_state["bench"] = {"limits": limits, "position": position}
    at.run()
    assert in_force(at) == "Limits(review=3.0, reject=4.0) 0"
    at.session_state["limits"] = (3.0, 4.0)
    at.run()
    at.session_state["limits"] = (1.0, 1.0)
    at.run()
    assert in_force(at) == "Limits(review=1.0, reject=1.0) 0"


def a_page_that_asks_afterwards() -> None:
    import numpy as np
    import streamlit as st

    from inspect_core.ui.bench import bench
    from inspect_core.verdict import Limits

    limits = Limits(*st.session_state.get("limits", (2.0, 2.0)))
    parts = [bench.Part("a", "good", "judge", None, 1.0)]
    shown = bench.Shown(0, np.zeros((6, 6, 3), np.uint8), np.eye(4, dtype=np.float32))
    result = bench.bench("bench", parts, shown, limits, calm=0.0, suggested=limits, sentence="",
                         setting_scores=[1.0], thumbs="none")  # fmt: skip
    st.text(f"{result.limits} {result.position}")


def test_the_suggested_limit_is_in_force_at_first() -> None:
    at = served().run()
    specification = APP.read_text(encoding="utf-8")
    module: dict = {"__name__": "bench_app"}
    exec(compile(specification, str(APP), "exec"), module)
    setters = [part.score for part in module["made_up"](40)[0] if part.kind == "good" and part.part == "calibrate"]
    limit = limit_for_overkill(setters, rate=0.01)
    assert in_force(at) == f"In force: {limit!r} {limit!r} at 20"
