"""The bench in a real browser: what follows a hand must be what Python says, before and after it lets go."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from inspect_core.scoring.anomaly_map import image_score, regions, scale_region, to_pixels
from inspect_core.scoring.counts import counts_sentence
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import limit_for_overkill
from inspect_core.study.evaluation_scores import unscored_counts
from inspect_core.verdict import Limits

APP = Path(__file__).parent / "bench_app.py"
IN_FORCE = re.compile(r"In force: (\S+) (\S+) at (\d+)")


@pytest.fixture(scope="module")
def app():
    specification = importlib.util.spec_from_file_location("bench_app", APP)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def address(serve) -> str:
    return serve(APP)


def on_bench(page) -> None:
    """Waits until a part is drawn and Python has counted the limits in force."""
    page.locator('.photo[aria-label*="score"]').wait_for()
    page.locator(".sentence .check.on").wait_for()


def in_force(page) -> tuple[Limits, int]:
    review, reject, position = IN_FORCE.search(page.get_by_text(IN_FORCE).inner_text()).groups()
    return Limits(float(review), float(reject)), int(position)


def handle(page, name: str = "Limit"):
    return page.get_by_role("slider", name=name, exact=True)


def held_limit(page, name: str = "Limit") -> float:
    return float(handle(page, name).get_attribute("aria-valuenow"))


def take_hold(page, name: str = "Limit") -> tuple[float, float]:
    box = handle(page, name).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    return x, y


def next_frame(page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def counted(made_up) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the good parts to judge, and of the defects."""
    photos, scores, _ = made_up
    return scores[[p.label == "good" and p.subset == "test" for p in photos]], scores[[p.is_defect for p in photos]]


def sentence_of(made_up, limits: Limits) -> str:
    return Evidence.from_scores(*counted(made_up)).sentence(limits)


def region_rows(page) -> list[str]:
    return page.locator(".card li:visible").all_inner_texts()


def expected_rows(anomaly_map: np.ndarray, limit: float, original: tuple[int, int]) -> list[tuple[str, float]]:
    boxes = [scale_region(region, anomaly_map.shape, original) for region in regions(anomaly_map, limit)]
    return [
        (f"{region.box[2] - region.box[0]} × {region.box[3] - region.box[1]} px", region.peak) for region in boxes[:12]
    ]


def test_drag_updates_all_in_the_browser_and_agrees_with_python(open_page, address, app):
    from playwright.sync_api import expect

    page = open_page(address)
    on_bench(page)
    _, scores, grids = parts = app.made_up(40)
    before, position = in_force(page)
    assert page.locator(".words").inner_text() == sentence_of(parts, before)
    x, y = take_hold(page)
    for shift in (-60, -120, 90):
        page.mouse.move(x + shift, y, steps=4)
        next_frame(page)
        limit = held_limit(page)
        assert page.locator(".words").inner_text() == sentence_of(parts, Limits(limit, limit))
        assert page.locator('.part[data-verdict="reject"]').count() == (scores > limit).sum()
        word = "Reject" if scores[position] > limit else "Accept"
        assert page.locator(".card .word").inner_text().endswith(word)
        rows = expected_rows(to_pixels(grids[position], app.SIZE), limit, app.ORIGINAL)
        assert len(rows) == len(region_rows(page))
        assert in_force(page) == (before, position), "Python heard of a drag that is still held"
    page.mouse.up()
    expect(page.get_by_text(f"In force: {limit!r} {limit!r} at {position}")).to_be_visible()
    expect(page.locator(".sentence .check.on")).to_be_visible()
    assert page.locator(".words").inner_text() == sentence_of(parts, Limits(limit, limit))
    assert held_limit(page) == limit


def test_a_defect_caught_elsewhere_says_so_while_the_limit_moves(open_page, address, app):
    page = open_page(f"{address}?told=1")
    on_bench(page)
    photos, scores, _ = made_up = app.made_up(40)
    without, good_and_defects = unscored_counts(app.unscored()), counted(made_up)
    hit_limits = app.hit_limits_of(photos, scores)[[photo.is_defect for photo in photos]]
    x, y = take_hold(page)
    for shift in (0, 60, -20, -150, -60, 30):
        page.mouse.move(x + shift, y, steps=4)
        next_frame(page)
        limit = held_limit(page)
        parts = Evidence.from_scores(*good_and_defects, hit_limits=hit_limits, **without)
        counts = parts.counts(Limits(limit, limit))
        assert page.locator(".words").inner_text() == counts_sentence(counts)
        assert page.locator(".part .tag:visible").count() == counts.caught_elsewhere
    assert "not located, 1 of " in counts_sentence(counts)
    page.mouse.up()
    on_bench(page)
    page.locator('.more-filters button[value="elsewhere"]').click()
    assert page.locator(".part:visible").count() == counts.caught_elsewhere > 0
    page.locator(".part:visible").first.click()
    page.get_by_text("↗ Detected elsewhere: no region above the minimum area overlaps the true defect.").wait_for()


def test_photo_without_score_shows_reference_and_reason(open_page, address):
    from playwright.sync_api import expect

    page = open_page(f"{address}?told=1")
    on_bench(page)
    before = in_force(page)
    page.locator('.verdict-filter button[value="accept"]').click()
    expect(page.locator('.more-filters button[value="lost"] b')).to_have_text("2")
    page.locator('.more-filters button[value="lost"]').click()
    assert page.locator(".part:visible .badge").all_inner_texts() == ["ø Not located"] * 2
    page.locator(".part:visible").last.click()
    expect(page.locator(".title")).to_have_text("armless.png")
    expect(page.locator(".card .note")).to_have_text("It is turned by 12°; good photos: −5° to 4°.")
    for figure in ("taken", "reference"):
        expect(page.locator(f".without-score .{figure} img")).to_have_js_property("complete", True)
    assert not page.locator(".stage").is_visible()
    page.get_by_role("button", name="Move k").click()
    expect(page.get_by_text("In force")).to_be_visible()
    expect(page.locator(".card .word")).to_have_text("ø Not located")
    page.locator('.more-filters button[value="unread"]').click()
    page.locator(".part:visible").click()
    expect(page.locator(".without-score .taken")).to_be_hidden()
    expect(page.locator(".card .note")).to_have_text("The file ends early: <too_dark>.")
    expect(page.locator(".title")).to_have_text("<i>torn</i>_*.png")
    page.locator('.verdict-filter button[value="all"]').click()
    page.locator(f"#part-{before[1]}").click()
    expect(page.locator(".stage")).to_be_visible()
    expect(page.locator(".card .word")).to_contain_text(re.compile("Accept|Reject"))
    expect(page.get_by_text(IN_FORCE)).to_have_text(re.compile(f"at {before[1]}$"))  # once Python has heard of it


def test_regions_and_contour_are_those_of_python(open_page, address, app):
    from playwright.sync_api import expect

    page = open_page(address)
    on_bench(page)
    _, _, grids = app.made_up(40)
    position = in_force(page)[1]
    anomaly_map = to_pixels(grids[position], app.SIZE)
    page.get_by_label("Heatmap", exact=True).uncheck()
    for limit in (9.25, 8.5, 12.75):
        page.get_by_label("Limit", exact=True).last.fill(str(limit))
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"In force: {limit} {limit}")).to_be_visible()
        on_bench(page)
        rows = expected_rows(anomaly_map, limit, app.ORIGINAL)
        decimals = len(page.locator(".card .score").inner_text().split(".")[1])
        assert [re.findall(r"\d+ × \d+ px|[\d.]+$", row) for row in region_rows(page)] == [
            [size, f"{peak:.{decimals}f}"] for size, peak in rows
        ]
        boxes = np.array([region.box for region in regions(anomaly_map, limit)])
        expected = np.array([*boxes[:, :2].min(0), *boxes[:, 2:].max(0)]) / anomaly_map.shape[0]
        drawn = page.evaluate(OUTLINE)["box"]
        np.testing.assert_allclose(drawn, expected, atol=1.5 / anomaly_map.shape[0])


OUTLINE = """() => {
  const stage = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')]
    .map((host) => host.shadowRoot.querySelector('.stage')).find(Boolean);
  const canvas = stage.querySelector('.marks');
  const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  let pixels = 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 4 * (y * width + x);
      if (data[at] < 240 || data[at + 1] > 130 || data[at + 2] > 80) continue;
      pixels += 1;
      box[0] = Math.min(box[0], x); box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x + 1); box[3] = Math.max(box[3], y + 1);
    }
  }
  const scale = Math.min(width / 192, height / 144);
  const [left, top] = [(width - 192 * scale) / 2, (height - 144 * scale) / 2];
  return { pixels, box: [(box[0] - left) / scale / 192, (box[1] - top) / scale / 144,
                         (box[2] - left) / scale / 192, (box[3] - top) / scale / 144] };
}"""


def test_less_than_the_smallest_area_is_dashed_and_no_region(open_page, address, app):
    from playwright.sync_api import expect

    area = 49
    page = open_page(f"{address}/?area={area}")
    on_bench(page)
    _, scores, grids = app.made_up(40, area)
    position = in_force(page)[1]
    anomaly_map = to_pixels(grids[position], app.SIZE)
    score = float(image_score(anomaly_map, area=area))
    assert scores[position] == score
    page.get_by_label("Heatmap", exact=True).uncheck()
    page.get_by_role("checkbox", name="Minimum area").uncheck()

    def painted_at(limit: float) -> int:
        page.get_by_label("Limit", exact=True).last.fill(repr(limit))
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"In force: {limit!r} {limit!r}")).to_be_visible()
        on_bench(page)
        return page.evaluate(OUTLINE)["pixels"]

    below = float(np.nextafter(np.float32(score), np.float32(0)))
    solid = painted_at(below)
    expect(page.locator(".card .word")).to_have_text("✕ Reject")
    assert len(region_rows(page)) == len(expected_rows(anomaly_map, below, app.ORIGINAL)) > 0
    assert 0 < painted_at(score) < 0.7 * solid, "what lies above the limit of an accepted part is dashed"
    expect(page.locator(".card .word")).to_have_text("✓ Accept")
    assert region_rows(page) == []
    scale = app.ORIGINAL[0] * app.ORIGINAL[1] / anomaly_map.size
    counts = f"{round(scale * np.count_nonzero(anomaly_map > np.float64(score)))} of {round(scale * area)} px"
    expect(page.locator(".regions-heading")).to_have_text(f"Below the minimum area: {counts}")
    expect(page.get_by_role("img", name=f"Below the minimum area: {counts}")).to_be_visible()

    square = page.locator(".smallest")
    expect(square).to_be_hidden()
    page.get_by_role("checkbox", name="Minimum area").check()
    expect(square).to_have_text("minimum area 14 × 10 px")
    zooms = {100: page.locator(".smallest i").bounding_box()}
    page.get_by_role("button", name="Zoom in").click()
    zooms[150] = page.locator(".smallest i").bounding_box()
    stage = page.locator(".stage").bounding_box()
    fit = min(stage["width"] / app.ORIGINAL[1], stage["height"] / app.ORIGINAL[0])
    for zoom, box in zooms.items():
        assert [box["width"], box["height"]] == pytest.approx([14 * fit * zoom / 100, 10.5 * fit * zoom / 100], abs=0.1)


def test_two_suggested_limits_have_tags_that_do_not_overlap(open_page, address):
    from playwright.sync_api import expect

    page = open_page(f"{address}/?band=1", width=1366, height=768)
    on_bench(page)
    review, reject = (page.locator(f".handle.{role} .tag") for role in ("review", "reject"))
    suggested = [tag.inner_text().split()[1] for tag in (review, reject)]
    expect(page.get_by_role("button", name="Suggested")).to_have_text("Suggested " + " – ".join(suggested))
    expect(page.locator(".suggested-mark.review")).to_be_visible()
    plot = page.locator(".plot").bounding_box()
    for end in ("End", "Home"):
        handle(page, "Reject limit").press(end)
        handle(page, "Review limit").press(end)
        first, second = review.bounding_box(), reject.bounding_box()
        assert plot["x"] <= first["x"] < first["x"] + first["width"] < second["x"]
        assert second["x"] + second["width"] < plot["x"] + plot["width"] + 0.5


def test_keys_and_boxes_set_the_limit(open_page, address, app):
    from playwright.sync_api import expect

    page = open_page(address)
    on_bench(page)
    photos, scores, _ = parts = app.made_up(40)
    suggested = in_force(page)[0]
    slider = handle(page)
    slider.focus()
    low, high = (float(slider.get_attribute(name)) for name in ("aria-valuemin", "aria-valuemax"))
    page.keyboard.press("ArrowRight")
    assert held_limit(page) == pytest.approx(suggested.reject + (high - low) / 200)
    page.keyboard.press("Shift+ArrowLeft")
    moved = held_limit(page)
    assert moved == pytest.approx(suggested.reject - 9 * (high - low) / 200)
    expect(page.get_by_text(f"In force: {moved!r}")).to_be_visible()
    assert sentence_of(parts, Limits(moved, moved)) in slider.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    assert held_limit(page) == high

    for percent in ("25", "7,5", "0"):
        expected = limit_for_overkill(app.crossed(photos, scores), rate=float(percent.replace(",", ".")) / 100)
        page.get_by_label("or false-reject rate").fill(percent)
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"In force: {expected!r} {expected!r}")).to_be_visible()

    last = float(scores.max())
    page.get_by_label("Limit", exact=True).last.fill(repr(last))
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"In force: {last!r} {last!r}")).to_be_visible()
    expect(page.locator(".card .word")).to_have_text("✓ Accept")
    page.get_by_role("button", name="Suggested").click()

    page.get_by_label("Use a review band").check()
    expect(handle(page, "Review limit")).to_be_visible()
    expect(page.locator(".words")).to_have_text(re.compile(r"sends \d+ of \d+ to review(: [\w ,]+)?\.$"))
    limits = Limits(held_limit(page, "Review limit"), held_limit(page, "Reject limit"))
    assert limits.review < limits.reject
    expect(page.get_by_text(f"In force: {limits.review!r} {limits.reject!r}")).to_be_visible()
    on_bench(page)
    assert page.locator(".words").inner_text() == sentence_of(parts, limits)
    for box, typed, why in (
        ("Reject above", limits.review - 1, "The review limit must be below the reject limit"),
        ("Review above", limits.reject + 1, "The review limit must be below the reject limit"),
        ("Reject above", -5, "This limit would reject every part:"),
        ("Review above", "abc", "“abc” is not a number"),
        ("or false-reject rate", "250 %", "“250 %” is not a percentage"),
    ):
        field = page.get_by_label(box).last
        field.fill(str(typed))
        page.keyboard.press("Enter")
        assert why in field.evaluate("box => box.validationMessage")
        assert (held_limit(page, "Review limit"), held_limit(page, "Reject limit")) == (limits.review, limits.reject)
    handle(page, "Review limit").focus()
    page.keyboard.press("End")
    assert held_limit(page, "Review limit") < held_limit(page, "Reject limit")
    page.get_by_role("button", name="Suggested").click()
    expect(page.get_by_text(f"In force: {suggested.review!r} {suggested.reject!r}")).to_be_visible()


def test_keys_label_go_on_and_change_the_picture(open_page, address):
    from playwright.sync_api import expect

    page = open_page(f"{address}?unknown=1")
    on_bench(page)
    shown = []
    for key, label in (("g", "good"), ("d", "defective"), ("g", "good")):
        page.keyboard.press("n")
        expect(page.locator(".truth")).to_have_text("truth unknown")
        on_bench(page)
        shown.append(page.locator(".title").inner_text())
        page.keyboard.press(key)
        expect(page.locator(f'.labelling button[aria-pressed="true"]:text-is("{label}")')).to_be_visible()
    assert sorted(shown) == [f"part <i>{i:03d}</i>.png" for i in range(3)], "each once, and round the end"
    last = page.locator(".title").inner_text()
    page.keyboard.press("n")
    expect(page.locator(".title")).to_have_text(last)

    for key, box in (("h", "Heatmap"), ("w", "Compare")):
        before = page.get_by_label(box).is_checked()
        page.keyboard.press(key)
        assert page.get_by_label(box).is_checked() is not before
    page.keyboard.press("?")
    expect(page.get_by_text("next part without a label")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_text("next part without a label")).to_be_hidden()
    search = page.get_by_label("Search by name")
    search.press_sequentially("hw")
    expect(search).to_have_value("hw")
    assert page.get_by_label("Heatmap").is_checked() is False, "typing is no key"


def test_a_limit_far_above_all_scores_is_asked_about(open_page, address):
    from playwright.sync_api import expect

    page = open_page(address)
    on_bench(page)
    before, _ = in_force(page)
    field = page.get_by_label("Limit", exact=True).last
    field.fill("1e9")
    page.keyboard.press("Enter")
    assert "accepts every part" in field.evaluate("box => box.validationMessage")
    assert held_limit(page) == before.reject
    field.fill("1e9")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("In force: 1000000000.0"))).to_be_visible()


def test_the_gallery_chooses_filters_and_shows_names_as_they_are(open_page, address, app):
    from playwright.sync_api import expect

    page = open_page(f"{address}/", width=768, height=1024)
    on_bench(page)
    photos, scores, _ = app.made_up(40)
    order = [int(i) for i in np.argsort(-scores, kind="stable")]
    shown = page.locator(".part")
    assert [int(part.get_attribute("data-position")) for part in shown.all()] == order
    expect(page.locator(".title")).to_have_text(photos[order[0]].name)
    shown.nth(2).click()
    expect(page.get_by_text(f"at {order[2]}")).to_be_visible()
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text(f"at {order[3]}")).to_be_visible()
    expect(page.locator(".title")).to_have_text(photos[order[3]].name)
    expect(page.get_by_role("img", name=re.compile("Reject, score"))).to_be_visible()
    page.get_by_label("Defect type").select_option("dent")
    dents = [i for i in order if photos[i].label == "dent"]
    expect(page.locator(".title")).to_have_text(photos[dents[0]].name)  # the part shown before is hidden now
    assert [int(part.get_attribute("data-position")) for part in page.locator(".part:visible").all()] == dents
    page.get_by_role("button", name="accepted").click()
    expect(page.get_by_text("No parts match.")).to_be_visible()
    page.get_by_role("button", name="Show all").click()

    def visible() -> list[int]:
        return [int(part.get_attribute("data-position")) for part in page.locator(".part:visible").all()]

    page.get_by_label("Sort by").select_option("name")
    names = [photos[i].name for i in visible()]
    assert names != [photos[i].name for i in order]
    assert names == sorted(
        names, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    )
    page.get_by_label("Search by name").fill(photos[order[5]].name[-6:].upper())
    assert visible() == [i for i in visible() if photos[i].name.lower().endswith(photos[order[5]].name[-6:].lower())]
    assert order[5] in visible()
    page.get_by_label("Sort by").select_option("score")
    defect = np.array([photo.label not in ("good", "unknown") for photo in photos])
    good = np.array([photo.label == "good" for photo in photos])
    for words, limit, counted in (
        ("misses", np.sort(scores[defect])[-2], defect & (scores <= np.sort(scores[defect])[-2])),
        ("rejects", np.sort(scores[good])[1], good & (scores > np.sort(scores[good])[1])),
    ):
        page.get_by_label("Limit", exact=True).last.fill(repr(float(limit)))
        page.get_by_label("Limit", exact=True).last.press("Enter")
        button = page.locator(".words").get_by_role("button", name=re.compile(words, re.IGNORECASE))
        button.click()
        assert len(visible()) == int(button.inner_text().split()[1])
        assert set(visible()) <= set(np.flatnonzero(counted).tolist())
        expect(page.locator(".title")).to_have_text(photos[visible()[0]].name)
    page.get_by_role("button", name="All").click()
    page.locator(".plot").scroll_into_view_if_needed()
    dot = page.locator(".plot .dot.defect").last
    dot.hover()
    expect(page.locator(".tip")).to_contain_text("part <i>")
    assert page.locator(".tip i, .title i, .name i").count() == 0


def test_zoom_survives_a_parameter_and_ends_with_the_product(open_page, address):
    from playwright.sync_api import expect

    page = open_page(address)
    on_bench(page)
    score = page.locator(".card .score").inner_text()
    page.locator(".stage .marks").hover()
    expect(page.locator(".reading")).to_have_text(re.compile(r"^score -?\d+\.\d+ at \d+, \d+ px$"))
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_label("Compare ◁|▷").check()
    page.get_by_role("slider", name="Wipe").press("ArrowRight")
    expect(page.locator(".zoom-value")).to_have_text("225%")
    page.get_by_role("button", name="Move k").click()
    expect(page.locator(".card .score")).not_to_have_text(score)
    expect(page.locator(".zoom-value")).to_have_text("225%")
    expect(page.get_by_role("slider", name="Wipe")).to_have_attribute("aria-valuenow", "52")
    page.get_by_role("button", name="Next part").click()
    expect(page.locator(".zoom-value")).to_have_text("100%")
    page.locator(".card li button").first.click()
    expect(page.locator(".zoom-value")).not_to_have_text("100%")


def test_photo_is_sent_again_only_when_the_browser_lost_it(open_page, address):
    from playwright.sync_api import expect

    page, received = open_page("about:blank"), []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda message: received.append(message)))

    def photos_sent() -> int:
        return sum(message.count(b"\x89PNG") for message in received if isinstance(message, bytes))

    def press(name: str) -> int:
        """Photos sent until all is drawn."""
        before, score = photos_sent(), page.locator(".card .score").inner_text()
        page.get_by_role("button", name=name).click()
        expect(page.locator(".card .score")).not_to_have_text(score)
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        on_bench(page)
        return photos_sent() - before

    page.goto(address)
    on_bench(page)
    assert photos_sent() > 0
    assert [press("Move k") for _ in range(2)] == [0, 0]
    assert press("Next part") > 0
    assert press("Previous part") == 0
    page.evaluate("window.loupeAssets.assets.clear()")
    assert press("Next part") > 0


def test_five_hundred_parts_follow_a_drag(open_page, address, app):
    from playwright.sync_api import expect

    page = open_page(f"{address}/?parts=500")
    on_bench(page)
    _, scores, _ = parts = app.made_up(500)
    x, y = take_hold(page)
    page.mouse.move(x - 80, y, steps=20)
    next_frame(page)
    limit = held_limit(page)
    assert page.locator('.part[data-verdict="reject"]').count() == (scores > limit).sum()
    assert page.locator(".words").inner_text() == sentence_of(parts, Limits(limit, limit))
    page.mouse.up()
    expect(page.get_by_text(f"In force: {limit!r} {limit!r}")).to_be_visible()
