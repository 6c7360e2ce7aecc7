"""The bench's arithmetic, run by the browser on random cases: equal to Python's to the bit and to the word."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from inspect_core.images import heatmap
from inspect_core.scoring.anomaly_map import regions, scale_region
from inspect_core.scoring.counts import UnscoredCounts
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import format_upper_bound, limit_for_overkill
from inspect_core.scoring.verdict_rule import Flags
from inspect_core.ui.bench import bench
from inspect_core.ui.inspect import outline_editor
from inspect_core.verdict import Limits, Reason

FOLDER = bench.FRONTEND
OUTLINES = Path(outline_editor.__file__).with_name("outlines")
SOURCE = "\n".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in ("judging", "map", "scale"))


@pytest.fixture(scope="module")
def run(browsing):
    """run(body, cases) applies a JavaScript function body to each case `it` and gives the results."""
    page = browsing.new_page()

    def apply(body: str, cases: list) -> list:
        return page.evaluate(f"(text) => {{ {SOURCE}\n return JSON.parse(text).map((it) => {{ {body} }}); }}",
                             json.dumps(cases))  # fmt: skip

    yield apply
    page.close()


def random_maps(count: int = 60) -> list[tuple[np.ndarray, float]]:
    """Maps with ties, with lone pixels and with corners that touch, each with a limit that is sometimes a value."""
    rng = np.random.default_rng(4)
    cases = []
    for i in range(count):
        values = rng.normal(3, 1, rng.integers(1, 14, 2)).astype(np.float32)
        values = np.round(values * 2) / 2 if i % 2 else values
        limit = float(rng.choice(values.ravel())) if i % 3 else float(rng.normal(3, 1))
        cases.append((values, limit))
    return cases


def as_map(values: np.ndarray) -> dict:
    return {"values": values.ravel().tolist(), "height": values.shape[0], "width": values.shape[1]}


READ_MAP = "const map = { ...it.map, values: Float32Array.from(it.map.values) };"


def test_regions_on_the_original(run) -> None:
    # One pixel, an area just reached and one just not.
    cases = [
        (values, limit, area, (7 * i % 40 + 1, 11 * i % 50 + 1))
        for i, (values, limit) in enumerate(random_maps())
        for above in [int((values > np.float64(limit)).sum())]
        for area in {1, max(1, above), min(values.size, above + 1)}
    ]
    drawn = run(
        READ_MAP + "return regionsAbove(map, it.limit, it.area).map((region) => scaleRegion(region, map, it.size));",
        [{"map": as_map(values), "limit": limit, "area": area, "size": size} for values, limit, area, size in cases],
    )
    for (values, limit, area, size), ours in zip(cases, drawn, strict=True):
        theirs = [scale_region(region, values.shape, size) for region in regions(values, limit, area=area)]
        assert [(region["area"], region["peak"], tuple(region["box"])) for region in ours] == [
            (region.area, region.peak, region.box) for region in theirs
        ]


def test_lengths_and_areas_in_words(run) -> None:
    words = run(
        "return [lengthsInWords(23, 14, it), areasInWords([131], it), areasInWords([37, 1310], it)];", [None, 0.05, 0.1]
    )
    assert words == [
        ["23 × 14 px", "131 px", "37 of 1310 px"],
        ["23 × 14 px, 1.2 × 0.7 mm", "131 px, 0.33 mm²", "37 of 1310 px, 0.093 of 3.3 mm²"],
        ["23 × 14 px, 2.3 × 1.4 mm", "131 px, 1.3 mm²", "37 of 1310 px, 0.37 of 13 mm²"],
    ]


def test_the_outline_holds_exactly_the_pixels_above_the_limit(run) -> None:
    cases = [(values, limit) for values, limit in random_maps() if not (values == np.float64(limit)).any()]
    assert len(cases) > 10
    is_inside = run(
        READ_MAP
        + """
        const draw = document.createElement("canvas").getContext("2d");
        const path = contourPath(map, it.limit);
        return it.map.values.map((_, i) => {
          const x = i % map.width;
          return draw.isPointInPath(path, x + 0.5, (i - x) / map.width + 0.5, "evenodd");
        });""",
        [{"map": as_map(values), "limit": limit} for values, limit in cases],
    )
    for (values, limit), ours in zip(cases, is_inside, strict=True):
        np.testing.assert_array_equal(np.array(ours).reshape(values.shape), values > limit)


def test_the_outline_joins_pixels_that_touch_at_a_corner(run) -> None:
    corner = """
        const draw = document.createElement("canvas").getContext("2d");
        return draw.isPointInPath(contourPath(map, 0.5), 1, 1, "evenodd");"""
    cases = [np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 0]])]
    assert run(READ_MAP + corner, [{"map": as_map(values)} for values in cases]) == [True, True, False]


def test_colours_are_those_of_the_reports(run) -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 12, (9, 7)).astype(np.float32)
    colours = heatmap.heat_colours()
    for typical, limit in ((2.0, 6.0), (2.0, 30.0), (4.9, 5.0)):
        case = {"map": as_map(values), "typicalScore": typical, "limit": limit, "colours": colours.ravel().tolist()}
        painted = run(
            READ_MAP
            + (
                "\n            const pixels = new Uint32Array(map.values.length);\n            const range = "
                "colourRange(map, { typicalScore: it.typicalScore, limit: it.limit, stretch: false, rainbow: false "
                "});\n            paintScores(pixels, map.values, packedColours(it.colours), range);\n            "
                "return [...new Uint8Array(pixels.buffer)];"
            ),
            [case],
        )[0]
        expected = heatmap.colourise(values, typical_score=typical, limit=limit)
        ours = np.array(painted, np.uint8).reshape(expected.shape)
        # The report's positions are float32, so a value on the edge of a step may fall to its neighbour.
        assert np.abs(ours.astype(int) - expected).max() <= 3
        assert ((values > limit) == (ours[..., 3] >= colours[256, 3])).all()


def test_nothing_is_accepted_on_what_is_not_finite(run) -> None:
    numbers = ("1", "NaN", "Infinity", "-Infinity")
    cases = [(score, review, reject) for score in numbers for review in numbers for reject in numbers]
    words = run(
        """const [score, review, reject] = it.map(Number);
        const limits = { review, reject };
        const part = { score, counted: "defect", found_up_to: null };
        return [verdictOf(part, limits), areFinite(review, reject), countParts([part], limits).missed];""",
        cases,
    )
    assert words[0] == ["accept", True, 1]
    for (_, *limits), ours in zip(cases[1:], words[1:], strict=True):
        assert ours == ["unjudged", set(limits) == {"1"}, 0]


def test_a_verdict_is_that_of_the_rule_flags_included(run) -> None:
    cases = [
        (score, Limits(review, reject), stopped, out)
        for score in (0.0, 1.0, 2.0, 3.0)
        for review, reject in ((1.0, 2.0), (2.0, 2.0))
        for stopped in (False, True)
        for out in (False, True)
    ]
    names = ("score", "limits", "stopped", "never_accepted")
    verdicts = run(
        "return verdictOf(it, it.limits);",
        [dict(zip(names, (score, asdict(limits), *flags), strict=True)) for score, limits, *flags in cases],
    )
    assert verdicts == [
        limits.decide(score, stopped=stopped, never_accepted=Reason.PARTLY_OUT if out else None)[0]
        for score, limits, stopped, out in cases
    ]


def test_verdicts_counts_and_the_sentence(run) -> None:
    rng = np.random.default_rng(6)
    cases = []
    for i in range(80):
        scores = np.round(rng.normal(5, 2, rng.integers(0, 30)) * 2) / 2
        counted = rng.choice(["good", "defect", ""], scores.size).tolist()
        review = float(np.round(rng.normal(5 if i % 4 else -5, 1) * 2) / 2)
        hit_limits = np.where(rng.random(scores.size) < 0.3 * (i % 4), np.nan, scores - rng.integers(0, 5, scores.size))
        without = [UnscoredCounts(*rng.integers(0, 3, 2).tolist()) if i % 2 else UnscoredCounts() for _ in range(2)]
        flags = Flags(*(rng.random((2, scores.size)) < 0.1 * (i % 3)))
        cases.append((scores, counted, Limits(review, review + (i % 3)), hit_limits, without, flags))
    sentences = run(
        """const counts = countParts(it.parts, it.limits, it.without);
        return inParts(counts, it.bounds, hasReviewBand(it.limits), it.own);""",
        [
            {
                "parts": [
                    {
                        "score": score,
                        "counted": role,
                        "found_up_to": None if np.isnan(up_to) else up_to,
                        "stopped": bool(stopped),
                        "never_accepted": bool(out),
                    }
                    for score, role, up_to, stopped, out in zip(
                        scores.tolist(), counted, hit_limits.tolist(), *flags, strict=True
                    )
                ],
                "limits": {"review": limits.review, "reject": limits.reject},
                "without": {"good": asdict(without[0]), "defect": asdict(without[1])},
                "own": i % 2 == 0,
                "bounds": [format_upper_bound(k, counted.count("good")) for k in range(counted.count("good") + 1)],
            }
            for i, (scores, counted, limits, hit_limits, without, flags) in enumerate(cases)
        ],
    )
    assert any("elsewhere, " in sentence for sentence in sentences)
    for i, (case, sentence) in enumerate(zip(cases, sentences, strict=True)):
        scores, counted, limits, hit_limits, without, flags = case
        good, defects = (np.array([item == role for item in counted], bool) for role in ("good", "defect"))
        parts = Evidence(
            scores=scores, good=good, defect=defects, hit_limits=hit_limits, **flags._asdict(),
            good_unscored=without[0], defects_unscored=without[1], limits_set_here=i % 2 == 0,
        )  # fmt: skip
        assert sentence == parts.sentence(limits)


def test_one_photo_of_something_else_takes_no_decimals(run) -> None:
    """Limits of 6.7 and 10.2 read "7" and "10" beside a board that scored 264."""
    body = "return decimalsFor(rangeToTell(it.scores, it.typical, it.suggested));"
    known = {"typical": 5.1, "suggested": {"review": 6.7, "reject": 10.2}}
    alike, foreign = ({**known, "scores": [4.2, 5.1, 7.0, 12.5, *more]} for more in ((), (264.0,)))
    even = {"typical": 5.0, "suggested": {"review": 5.0, "reject": 5.0}, "scores": [5.0, 5.0]}
    assert run(body, [alike, foreign, even]) == [2, 1, 2]


def test_the_limit_for_an_overkill(run) -> None:
    rng = np.random.default_rng(7)
    cases = []
    for i in range(120):
        scores = rng.gamma(4, 2, rng.integers(1, 130)).astype(np.float32)
        cases.append((np.round(scores) if i % 2 else scores, float(rng.choice([0, 0.01, 0.05, 0.29, 0.5, 0.99]))))
    step = np.finfo(float).eps
    # Neighbouring numbers whose middle rounds up; a share that falls short of 29 parts in binary; all alike.
    cases += [(np.array([1 + step, 1 + 2 * step]), 0.5), (np.arange(100.0), 0.29), (np.array([2.0, 2.0]), 0.0)]
    limits_drawn = run(
        "return limitForOverkill(it.scores, it.rate);",
        [{"scores": scores.tolist(), "rate": rate} for scores, rate in cases],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert limits_drawn == [limit_for_overkill(scores, rate=rate) for scores, rate in cases]


def test_data_overtaken_by_newer_ones_end_no_component(browsing) -> None:
    """Streamlit calls the clean-up of the first at once, and then hands over the second to the same element."""
    page = browsing.new_page()

    def answer(scripts: list[Path], before: str, after: str, html: str = ""):
        page.set_content(f'<div id="host">{html}</div>')
        source = "\n".join(path.read_text(encoding="utf-8") for path in scripts).replace("export default ", "")
        return page.evaluate(f"() => {{ {source}\n const host = document.getElementById('host'); {before}\n {after} }}")

    def page_of(folder: Path, name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    twice = "for (let i = 0; i < 2; i += 1) mount({ data: { key: 'one' }, parentElement: host })?.(); "
    scripts = [FOLDER / f"{name}.js" for name in bench.SCRIPTS]
    stubs = "let steps = 0; Bench.prototype.receive = () => {}; Gallery.prototype.step = () => (steps += 1);"
    next_part = "host.querySelector('.next').click(); return steps;"
    assert answer(scripts, stubs, twice + next_part, page_of(FOLDER, "bench.html")) == 1
    remount = "host.innerHTML = host.innerHTML; mount({ data: { key: 'one' }, parentElement: host }); "
    assert answer(scripts, stubs, twice + remount + next_part, page_of(FOLDER, "bench.html")) == 1

    stubs = "const known = []; Drawing.prototype.receive = function () { known.push(this); };"
    same = "return known[0] === known[1];"
    assert answer([OUTLINES / "outlines.js"], stubs, twice + same, page_of(OUTLINES, "outlines.html"))
    page.close()


def test_a_drawing_stays_until_python_changes_it_otherwise(browsing) -> None:
    page = browsing.new_page()
    page.set_content(f'<div id="host">{(OUTLINES / "outlines.html").read_text(encoding="utf-8")}</div>')
    source = (OUTLINES / "outlines.js").read_text(encoding="utf-8").replace("export default ", "")
    outline = [[0.1, 0.1], [0.3, 0.1], [0.3, 0.3]]
    shapes = page.evaluate(
        f"""async (outline) => {{ {source}
        const host = document.getElementById("host");
        const area = {{ mode: "ignore", outline, strictness: 1 }};
        const data = {{ photo: "data:,", size: [8, 8], name: "a", modes: {{ ignore: "Ignore here" }}, offer: null }};
        const count = () => host.querySelectorAll(".shape").length;
        const counts = [];
        const told = (areas) => {{
          mount({{ data: {{ ...data, areas }}, parentElement: host, setStateValue }});
          counts.push(count());
        }};
        let sent = null;
        const said = new Promise((done) => (sent = done));
        const setStateValue = (_, value) => sent(value.areas);
        told([area]);
        host.querySelector(".list button").click();
        told([area]);
        await said;
        told([area]);
        told([]);
        told([area, area]);
        told([]);
        return counts;
        }}""",
        outline,
    )
    assert shapes == [1, 0, 0, 0, 2, 0], "not yet told, refused, put in force, a remedy applied, and undone"
    page.close()


def test_a_proposed_area_is_drawn_and_taken_over_by_a_click(browsing) -> None:
    page = browsing.new_page()
    page.set_content(f'<div id="host">{(OUTLINES / "outlines.html").read_text(encoding="utf-8")}</div>')
    source = (OUTLINES / "outlines.js").read_text(encoding="utf-8").replace("export default ", "")
    outline = [[0.9, 0.0], [1.0, 0.0], [1.0, 0.1], [0.9, 0.1]]
    areas = [{"mode": "stricter", "outline": outline, "strictness": 2}]
    sent = page.evaluate(
        f"""async (offer) => {{ {source}
        const host = document.getElementById("host");
        const modes = {{ ignore: "Ignore here", stricter: "Stricter here" }};
        const data = {{ photo: "data:,", size: [8, 8], areas: {json.dumps(areas)}, name: "a", modes, offer }};
        const seen = () => [host.querySelectorAll(".proposed").length, host.querySelector(".offer").hidden];
        const steps = [];
        const told = new Promise((done) => {{
          const setStateValue = (name, value) => done({{ name, ...value }});
          mount({{ data: {{ ...data, offer: null }}, parentElement: host, setStateValue }});
          steps.push(seen());
          mount({{ data, parentElement: host, setStateValue }});
          steps.push(seen());
          host.querySelector(".offer button").click();
          steps.push(seen());
        }});
        return {{ ...(await told), steps }};
        }}""",
        {"words": "5 of 6 <light> up", "button": "Ignore", "mode": "ignore", "outlines": [outline, outline]},
    )
    assert sent["steps"] == [[0, True], [2, False], [0, True]]
    assert (sent["name"], sent["areas"]) == (
        "areas",
        [*areas, *[{"mode": "ignore", "outline": outline, "strictness": 1}] * 2],
    )
    page.close()
