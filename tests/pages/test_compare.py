from dataclasses import replace

import numpy as np
import pytest

from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.methods.registry import ALL
from inspect_core.study.study import Study
from inspect_core.tuning import detector_comparison
from inspect_core.ui import shell, teaching_job
from inspect_core.ui.compare import comparison_jobs, comparison_panels
from inspect_core.workbench import taught_product
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, press, wait_for_job, words

PAGE = "pages/compare.py"
AREAS = InspectionAreas((InspectionArea("ignore", ((0.0, 0.0), (0.3, 0.0), (0.3, 0.3), (0.0, 0.3))),))
TWO = ["mahalanobis+quadrics", "mahalanobis"]


@pytest.fixture
def part(flange):
    """A part in hand whose page needs no more than its photos and its network."""
    from inspect_core.datasets.splitting import train_on_all

    learned = flange.study
    photos, backbone = train_on_all(learned.split), flange.extractor.backbone
    study = Study.from_photos(photos, backbone, learned.store, parameters={"k": 8}, grid=(16, 16)).fit()
    scored = study.scored.with_areas(AREAS)
    part = taught_product.TaughtProduct("flange <b>", scored, study.extractor, study=study, order=study.order)
    shelf().put(part)
    return part


def test_with_nothing_taught_it_says_what_to_do(open_app, no_first_start):
    app = open_app(PAGE)
    assert "No product has been taught yet." in app.info[0].value
    assert app.button(key="to_teach").label == "Teach a product"


def test_detectors_are_compared_and_one_is_put_on_the_bench(open_app, part, monkeypatch):
    plan_of = teaching_job.plan_of
    monkeypatch.setattr(detector_comparison, "COMPARISON_DEFECTS", 12)
    monkeypatch.setattr(teaching_job, "plan_of", lambda order, _: plan_of(order, ("mahalanobis",)))
    app = open_app(PAGE)
    assert f"Detectors to compare: {len(ALL)} of {len(ALL)}" in [expander.label for expander in app.expander]
    app.session_state["compare_detectors"] = {"selection": {"rows": [ALL.index(name) for name in TWO]}}
    app.run()
    assert "Takes about" in words(app)
    finish(press(app, "start-comparison"))
    table = app.dataframe[0].value
    assert table["Detector"].tolist() == ["By location + Curved texture", "By location"]
    assert table["False rejects"].str.contains("of 4 good").all()
    assert "best" in " ".join(table["Synthetic defects"])
    assert table["Choice"].tolist() == ["recommended", "in use"]
    assert "Detector\\: By location \\+ Curved texture" in words(app)
    assert len(app.get("plotly_chart")) == 3 + len(TWO), "dots, two curves, two histograms"
    assert len(app.get("image")) == len(TWO)
    comparison = comparison_jobs.last_comparison(part.latest_order().to_compare())
    assert [row.detector for row in comparison.rows] == TWO
    assert np.array_equal(comparison.rows[1].scored.scores(), part.scored.scores()), "k as set taught"
    opened = []
    monkeypatch.setattr(comparison_panels.shell, "go_to", opened.append)
    monkeypatch.setattr(Study, "fit", lambda *_, **__: pytest.fail("fitted again"))
    app.session_state["compare_table_2"] = {"selection": {"rows": [1]}}
    app.run()
    press(app, "Open this detector on Inspect")
    assert opened == ["pages/inspect.py"]
    wait_for_job()
    assert shell.jobs().current.error == ""
    chosen = shelf().find(shell.jobs().current.result)
    assert (chosen.study.method, chosen.study.split) == ("mahalanobis", part.study.split)
    assert np.array_equal(chosen.scored.scores(), comparison.rows[1].scored.scores())
    assert chosen.suggested_limits(chosen.scored.live) == comparison.rows[1].limits
    assert comparison_jobs.last_comparison(chosen.latest_order().to_compare()) is comparison


def test_a_part_opened_from_a_recipe_has_no_photos_to_compare_on(open_app, part):
    recipe = replace(part.own_study.recipe(), digest="0" * 64)
    shelf().change(part.id, lambda part: replace(part, study=None, order=None, recipe=recipe))
    app = open_app(PAGE)
    assert "Teach the product again" in app.info[0].value
