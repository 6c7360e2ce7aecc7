"""A comparison of detectors: what it finds, what it calls a tie, whom it chooses, and what is written of it."""

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.measure import RESULTS
from inspect_core.datasets.folders import Split, scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.methods.registry import CANDIDATES, FIXED, LOOSE, title_of
from inspect_core.recipe import inspect
from inspect_core.recipe_format.spreadsheet import table_bytes
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning import comparison_report
from inspect_core.tuning import detector_comparison as comparing
from inspect_core.tuning.comparison_result import MARGIN, Comparison, ComparisonRow, Estimate
from inspect_core.tuning.place import PLACED
from inspect_core.tuning.shortlist import Shortlist, forecast_ms
from inspect_core.verdict import Limits

pytestmark = pytest.mark.usefixtures("unhurried")

JOINED, ALONE, NEAREST = "mahalanobis+quadrics", "mahalanobis", "nearest"
PRODUCT = "<script>alert(1)</script>"
BACKBONE_MS = 8.03
"""Of one photo where the detectors' costs were fitted: a slower machine is slower in all of them."""


def compared_rows(*rows: ComparisonRow, known: bool = False, place: float | None = None) -> Comparison:
    """A comparison of which only these are known."""
    return Comparison(rows, "24 photos", known, place)


def row(
    detector: str, qualities: Sequence[float], auroc: Estimate | None = None, *, as_published: bool = False
) -> ComparisonRow:
    """A row of which only the qualities and one figure are known."""
    study = SimpleNamespace(order=TeachingConfig(PRODUCT, Split((), (), ()), as_published=as_published))
    values = np.array(qualities)
    quality = Estimate(float(values.mean()), float(values.mean()) - 0.01, float(values.mean()) + 0.01)
    nothing = Estimate()
    figures = quality, quality, nothing, auroc or nothing, nothing, None, None, None, 1.0, 2.0, 3.0
    return ComparisonRow(detector, values, *figures, None, study)


def test_a_tie_lies_in_the_interval_of_the_best_or_holds_it():
    best, near, wide, far = (
        Estimate(0.9, 0.85, 0.95),
        Estimate(0.86, 0.85, 0.87),
        Estimate(0.7, 0.5, 0.92),
        Estimate(0.7, 0.6, 0.8),
    )
    rows = tuple(row(ALONE, [0.5, 0.6], estimate) for estimate in (far, best, near, wide, Estimate()))
    comparison = compared_rows(*rows)
    assert comparison.tie_marks("image_auroc") == ("", "best", "tie", "tie", "")
    assert comparison.tie_marks("known") == ("",) * 5, "a figure that nobody has"


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ([MARGIN + 0.01] * 9 + [MARGIN + 0.02], NEAREST),
        ([MARGIN - 0.02] * 9 + [MARGIN - 0.01], JOINED),  # certain, but small
        ([2.0] + [-0.1] * 9, JOINED),  # large, but by one photo
    ],
)
def test_first_detector_is_left_only_for_a_clearly_better_one(gains, chosen):
    first = np.linspace(0.5, 0.7, 10)
    comparison = compared_rows(row(JOINED, first), row(NEAREST, first + gains))
    assert comparison.chosen().detector == chosen
    assert comparison.reason().startswith(f"Detector: {comparison.chosen().title}. ")


def test_one_that_teaching_would_not_try_is_never_recommended():
    first = np.linspace(0.5, 0.7, 10)
    rows = row(ALONE, first + 0.2), row(JOINED, first)
    assert compared_rows(*rows).chosen().detector == ALONE
    assert replace(compared_rows(*rows), candidates=[JOINED]).chosen().detector == JOINED
    published = row(ALONE, first + 0.4, as_published=True)
    assert compared_rows(published, *rows).chosen() is rows[0], "nor one as published, however good"


def test_known_defects_need_no_margin():
    first = np.linspace(0.5, 0.7, 10)
    rows = row(JOINED, first), row(NEAREST, first + ([MARGIN - 0.02] * 9 + [MARGIN - 0.01]))
    assert compared_rows(*rows, known=True).chosen().detector == NEAREST


@pytest.mark.parametrize(
    ("place", "preferred", "words"),
    [
        (PLACED, FIXED, "Your parts are in much the same position in all photos (location explains 50%"),
        (PLACED - 0.01, LOOSE, "Your parts vary in position (location explains 49%"),
        (0.06, LOOSE, "explains 6% of patch appearance), so patches are compared regardless of location"),
        (None, LOOSE, ". No other was clearly better.\nCompared on 24 photos."),
    ],
)
def test_how_fixed_places_are_says_which_detector_to_begin_with(place, preferred, words):
    rows = [row(detector, [0.5, 0.6, 0.7]) for detector in (ALONE, LOOSE, FIXED)]
    comparison = compared_rows(*rows, place=place)
    assert comparison.preferred().detector == comparison.chosen().detector == preferred
    assert words in comparison.reason()
    assert compared_rows(rows[0], place=place).preferred().detector == ALONE, "neither was compared"


def test_detectors_slower_than_allowed_are_left_out_and_named():
    every = {name: forecast_ms(name, (32, 32)) for name in CANDIDATES}
    assert Shortlist.from_budget((32, 32), budget=math.inf).candidates == every
    budget = sorted(every.values())[4]
    short = Shortlist.from_budget((32, 32), budget=budget)
    assert set(short.candidates) == {name for name, ms in every.items() if ms <= budget}
    assert short.candidates | short.left_out == every
    assert all(title_of(name) in short.sentence() for name in short.left_out)
    assert f"more than {budget:.0f} ms" in short.sentence()
    cheapest = min(every, key=every.get)
    assert set(Shortlist.from_budget((32, 32), budget=0).candidates) == {cheapest}
    assert Shortlist.from_budget((32, 32), budget=math.inf).sentence() == ""


@pytest.mark.parametrize("name", CANDIDATES)
def test_what_was_forecast_was_measured_within_a_factor_of_two(name):
    figures = json.loads((RESULTS / "inspection.json").read_text())["figures"]
    pace = figures["32x32"]["backbone_alone"]["least_ms"] / BACKBONE_MS
    measured = figures["candidates"]["32x32"][name]["least_ms"] / pace
    assert measured / 2 <= forecast_ms(name, (32, 32)) <= 2 * measured


def test_comparison_takes_only_detectors_with_the_parameters():
    assert set(Shortlist.from_budget((32, 32), ("M", "k")).candidates) == {
        name for name in CANDIDATES if {"mahalanobis", "corp"} <= {*name.split("+")}
    }


@pytest.fixture(scope="module", autouse=True)
def few_defects_pasted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "COMPARISON_DEFECTS", 24)
        yield


@pytest.fixture(scope="module")
def run(product, tmp_path_factory):
    """run(*detectors) compares them on the small product, with the order."""
    samples, store = scan(product), FeatureStore(tmp_path_factory.mktemp("features"))
    order = TeachingConfig(
        PRODUCT, split(samples, seed=0), size=(128, 128), grid=(16, 16), parameters={"k": 8}, device="cpu"
    )

    def compared(*detectors: str, photos: Split = order.photos, **more: bool) -> tuple[TeachingConfig, Comparison]:
        thinned = replace(order, photos=photos)
        return thinned, comparing.compare(thinned, store, lambda fraction, step: None, detectors, **more)

    return compared


@pytest.fixture(scope="module")
def compared(run, shared_workspace):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_WORKSPACE", str(shared_workspace))
        return run(JOINED, ALONE, NEAREST)


@pytest.mark.slow
def test_a_row_is_what_a_study_of_that_detector_alone_gives(compared, backbone, tmp_path):
    order, comparison = compared
    row_alone = comparison.rows[1]
    (tmp_path / "store").mkdir()
    study = Study.from_photos(
        order.photos,
        backbone,
        FeatureStore(tmp_path / "store"),
        method=ALONE,
        parameters=order.parameters,
        grid=order.grid,
        tolerances=order.tolerances,
    ).fit()
    assert [photo.name for photo in row_alone.scored.photos] == [photo.name for photo in study.photos]
    np.testing.assert_allclose(row_alone.scored.scores(), study.scores(), rtol=0.05)
    assert comparison.rows[0].scored.live["k"] == 8
    assert row_alone.fit_seconds < comparison.rows[0].fit_seconds
    assert row_alone.arrays_mb < comparison.rows[0].arrays_mb


@pytest.mark.slow
def test_the_same_photos_give_the_same_figures_to_the_bit(run, compared):
    repeated = run(NEAREST, JOINED)[1]
    _, first = compared
    for left, other in ((first.rows[2], repeated.rows[0]), (first.rows[0], repeated.rows[1])):
        assert np.array_equal(left.qualities, other.qualities)
        assert np.array_equal(left.scored.scores(), other.scored.scores())
        assert (left.quality, left.image_auroc, left.aupro) == (other.quality, other.image_auroc, other.aupro)
        assert left.limits == other.limits


@pytest.mark.slow
def test_what_is_written_says_the_same_everywhere(compared):
    _, comparison = compared
    rows = json.loads(json.dumps(comparison_report.figures_of(comparison), allow_nan=False))
    assert [line["detector"] for line in rows] == [JOINED, ALONE, NEAREST]
    for line, compared_row in zip(rows, comparison.rows, strict=True):
        assert next(iter(line)) == "live"
        assert line["image_auroc"] == compared_row.evaluation.image_auroc
        low, high = line["intervals"]["aupro"]
        assert low <= line["aupro"] <= high
        assert re.match(r"Rejects \d of 4 good", line["in_parts"])
    content = table_bytes(comparison_report.lines_of(comparison))
    assert content.startswith(comparison_report.CSV_BEGINS)
    lines = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert [float(line["pixel_auroc"]) for line in lines] == [line["pixel_auroc"] for line in rows]
    table = comparison_report.table_of(comparison)
    assert [*table][2:4] == ["False rejects", "Escapes"], "before any figure of the laboratory"
    assert table["Choice"].count("recommended") == 1
    assert table["False rejects"][0].startswith(f"{comparison.rows[0].evaluation.counts.good_rejected} of 4 good")
    counts = comparison.rows[0].evaluation.counts
    assert table["Detected"][0] == f"{counts.caught_at_defect} at the defect, {counts.caught_elsewhere} elsewhere"
    assert counts.caught_at_defect + counts.caught_elsewhere == counts.defects_caught
    assert sum("best" in cell for cell in table["AUPRO"]) == 1
    assert "Known defects" not in table, "none was kept to choose by"


def made_up_row(name: str, mean: float, spread: float = 0.01) -> ComparisonRow:
    qualities = np.random.default_rng(len(name)).normal(mean, spread, 60)
    made_up = {"detector": name, "qualities": qualities, "quality": Estimate(qualities.mean())}
    return ComparisonRow(**(dict.fromkeys(field.name for field in fields(ComparisonRow)) | made_up))


def test_detectors_that_the_photos_cannot_tell_apart_are_a_group():
    """The chosen one stands for its own, then the best of the rest for those like it."""
    rows = [made_up_row(name, mean) for name, mean in {"a": 0.7, "bb": 0.901, "ccc": 0.9, "dddd": 0.702}.items()]
    comparison = Comparison(tuple(rows), "made-up defects", known=True, location_variance_share=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Comparison, "chosen", lambda _: rows[2])
        groups = comparison.told_apart()
    assert [{row.detector for row in group} for group in groups] == [{"ccc", "bb"}, {"a", "dddd"}]
    assert groups[0][0] is rows[2], "the chosen one, though another separates better"


@pytest.mark.slow
def test_the_worst_missed_defect_is_shown_in_its_row(compared):
    _, comparison = compared
    for row in comparison.rows:
        scores, defects = row.scored.scores(), row.scored.good_and_defect()[1] & row.scored.of_subset("test")
        lowest = replace(row, limits=Limits(float(scores.max()), float(scores.max())))
        assert lowest.worst_missed == np.flatnonzero(defects)[scores[defects].argmin()]
        assert replace(row, limits=Limits(0.0, 0.0)).worst_missed is None


@pytest.mark.slow
def test_a_method_is_also_compared_as_published(run, compared, tmp_path):
    _, comparison = run(JOINED, ALONE, as_published=True)
    _, usual, published = comparison.rows
    assert [figure_row.title for figure_row in comparison.rows] == [
        title_of(JOINED),
        usual.title,
        f"{usual.title} (as published)",
    ]
    assert np.array_equal(usual.scored.scores(), compared[1].rows[1].scored.scores()), "Loupe's own does not change"
    study = comparing.fitted(published)
    assert (study.order.grid, study.area, study.order.tolerances) == ((64, 64), 1, None)
    raw = study.scored.errors(0)[0][study.scored.views[0].stops.index(8)]
    assert np.array_equal(study.scored.grid_errors(k=8)[0], raw), "no local scale"
    save(study.recipe(), tmp_path / "published")
    recipe = load(tmp_path / "published")
    assert recipe.as_published
    assert [(view.is_uncalibrated, view.scales) for view in recipe.views] == [(True, {})]
    photo = study.photos[0]
    verdict = inspect(read(photo.path, photo.depth).pixels, recipe, backbone=study.extractor.backbone)
    assert verdict.score == study.scores()[0]
    table = comparison_report.table_of(comparison)
    assert table["Repeatability"][2] == ""
    assert len({len(cells) for cells in table.values()}) == 1
    assert [figure_row["as_published"] for figure_row in comparison_report.figures_of(comparison)] == [
        False,
        False,
        True,
    ]


@pytest.mark.slow
def test_the_report_opens_alone_and_shows_names_as_text(compared):
    order, comparison = compared
    page = comparison_report.html_of(comparison, order)
    assert page.startswith(comparison_report.HTML_BEGINS)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert page.count("<svg") == 1 + 2 + 3, "the logo, two curves, three histograms"
    assert page.count('src="data:image/webp') == 3 * comparison_report.PARTS


@pytest.mark.slow
def test_without_defects_the_figures_of_defects_are_left_out(run, compared):
    order, _ = compared
    only_good = tuple(sample for sample in order.photos.test if sample.label == "good")
    fewer, comparison = run(ALONE, photos=replace(order.photos, test=only_good))
    first_row = comparison.rows[0]
    assert math.isnan(first_row.image_auroc.value)
    assert first_row.evaluation.counts.defects_total == 0
    assert "Escapes" not in comparison_report.table_of(comparison)
    assert comparison_report.figures_of(comparison)[0]["image_auroc"] is None
    assert "<svg" in comparison_report.html_of(comparison, fewer)
