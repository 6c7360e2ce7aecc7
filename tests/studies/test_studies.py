"""What docs/REPRODUCTION.md says is what the stored results of the studies give; a small study runs."""

import argparse
import ast
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.studies import hoffmann, kdf_kdn, propositions, quadrics, reproduced, reproduction
from benchmarks.studies.reproduced import claims, errata, few_photos
from inspect_core.classify.kernel_density import PAPER_LOG_B
from inspect_core.classify.posterior import calibrated_constant
from inspect_core.playgrounds import simulated_classes
from inspect_core.scoring.metrics import expected_calibration_error
from inspect_core.whole_part import cross_validation

pytestmark = pytest.mark.slow


def test_the_document_is_what_the_generator_writes():
    assert reproduction.DOCUMENT.read_text(encoding="utf-8") == reproduction.document()
    assert reproduction.ERRATA.read_text(encoding="utf-8") == errata.page()


def test_the_page_on_few_photos_is_what_the_generator_writes():
    assert reproduction.FEW_PHOTOS.read_text(encoding="utf-8") == few_photos.page()


def test_every_study_was_measured_and_drawn():
    for study in reproduction.STUDIES:
        assert claims.figures(study)["runs"], study
        assert 0 < (claims.PICTURES / f"{study}.png").stat().st_size < 250_000


def test_every_proposition_was_measured():
    assert set(claims.figures("propositions")["runs"]) == set(propositions.PARTS)


def test_no_verdict_word_is_typed():
    """Each is computed from figures by `word`, or says that nothing was measured."""
    sources = [path.read_text(encoding="utf-8") for path in Path(claims.__file__).parent.glob("*.py")]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    by_word = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "word")
    allowed = {id(node) for node in ast.walk(by_word)}
    verdicts = [node for node in nodes if isinstance(node, ast.Name) and node.id in ("HOLDS", "FAILS")]
    assert {id(node) in allowed for node in verdicts if isinstance(node.ctx, ast.Load)} == {True}
    rows = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Claim"]
    assert len(rows) > 90
    for row in rows:
        if not any(isinstance(cell, ast.Starred) for cell in row.args[:4]):
            assert ast.unparse(row.args[3]).startswith("word(") or ast.unparse(row.args[3]) == "UNTESTED"


def test_every_erratum_is_listed_with_how_it_was_shown():
    rows = [row for row in errata.page().splitlines() if row.startswith("| ")][2:]
    assert len(rows) == 11
    assert all(len(row.split(" | ")) == 4 and "nan" not in row for row in rows)


def named(section: str, kind: str) -> set[str]:
    """The numbers of the tables or figures that the rows of a section are about: "Figs 2, 5 to 7" are four."""
    numbers = set()
    for row in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE):
        for list_of in re.findall(rf"{kind}s? ((?:[IV]+\.)?\d+[A-Z]?(?:(?:, | to )(?:[IV]+\.)?\d+)*)", row):
            for part in list_of.split(", "):
                first, _, last = part.partition(" to ")
                numbers |= {str(i) for i in range(int(first), int(last) + 1)} if last else {first.rstrip("AB")}
    return numbers


@pytest.mark.parametrize(
    ("paper", "tables", "drawings"),
    [
        (reproduced.semi_orthogonal, "1 2 3 4 5", "1 2 3 4 5"),
        (reproduced.cop_corp, "1 2 II.1 II.2 II.3", "1 2 3 4 5 6 7"),
        (reproduced.quadrics, "1 2 3 4 5", "1 2 3"),
        (reproduced.hoffmann, "", "1 2 3 4 5 6 7 8 9 10 11 12"),
        (reproduced.kdf_kdn, "1 2 3 4", "1 2 3 4 5 6 7 8 9 10 11 12"),
    ],
)
def test_every_table_and_figure_of_a_paper_has_a_row(paper, tables, drawings):
    text = "\n".join(paper.section())
    assert named(text, "Table") >= set(tables.split())
    assert named(text, "Fig.") | named(text, "Fig") >= set(drawings.split())
    table = text[text.index("| claim") :].partition("\n## ")[0].split("\n| --- ")[1].splitlines()[1:]
    rows = list(itertools.takewhile(lambda line: line.startswith("|"), table))
    words = {row.split(" | ")[3] for row in rows}
    assert words <= {claims.HOLDS, claims.FAILS, claims.UNTESTED}


@pytest.mark.parametrize(("score", "verdict"), [(0.7, claims.FAILS), (0.9, claims.HOLDS)])
def test_a_claim_holds_only_where_it_does_on_every_set(score, verdict):
    rows = {"a": {"new": 0.9, "old": 0.8}, "b": {"new": score, "old": 0.8}}
    assert claims.each(rows, "new", "old")[0] == verdict
    assert claims.each({"a": {"new": 0.8, "old": 0.8}}, "new", "old")[0] == claims.FAILS, "a tie is no win"


def test_the_cancer_table_gives_the_published_order():
    table = hoffmann.cancer_auc(argparse.Namespace(quick=True), noise_seeds=1)
    assert table["kernel_pca_mean"] == pytest.approx(0.9971, abs=5e-4)
    assert table["pca_best"] < table["parzen_best"] < table["kernel_pca_mean"]
    swept = table["one_class_svm_swept_in_nu"]
    assert swept["0.5"] is None, "small widths have no area, as the paper says"
    assert max(area for area in swept.values() if area is not None) < 0.99, "below the range of the paper's plot"


def test_what_is_learned_clean_holds_no_outlier(monkeypatch):
    learned, rng = [], np.random.default_rng(0)
    monkeypatch.setattr(quadrics.baselines, "fit_pca", lambda rows, **_: learned.append(rows) or stub)
    stub = SimpleNamespace(score=lambda rows, **_: np.zeros(len(rows)))
    for module, name in (
        *((quadrics.baselines, f"fit_{name}") for name in ("one_class_svm", "nearest_neighbour")),
        *((quadrics.quadrics, name) for name in ("fit", "fit_algebraic", "fit_algebraic_hs")),
        (quadrics.kernel_pca, "fit"),
    ):
        monkeypatch.setattr(module, name, lambda rows, **_: stub)
    monkeypatch.setattr(quadrics, "_off_surface", lambda model, pca, rows: np.zeros(len(rows)))
    monkeypatch.setattr(quadrics, "_cubic_svm", lambda fit, rows: np.zeros(len(rows)))
    study = SimpleNamespace(learned=rng.normal(size=(10, 9, 8)) + 5)
    good, strange = rng.normal(size=(9, 8)) + 5, rng.normal(size=(20, 8)) - 5
    for outlying, expected in ((0.0, 0), (quadrics.STRANGE, 1)):
        learned.clear()
        quadrics._contest(study, good, strange, outlying)
        assert (learned[0].sum(axis=1) < 0).sum() == expected


def test_published_kdf_and_kdn_use_the_papers_constant(monkeypatch):
    asked = []

    def simulate(name, n, seed, fit, made):
        asked.append((fit, made))
        return {"error": 0.1}, {"error": 0.2}

    monkeypatch.setattr(kdf_kdn, "simulate", simulate)
    models = kdf_kdn.as_published(argparse.Namespace(quick=True))
    assert all(made["log_b"] == PAPER_LOG_B for _, made in asked)
    assert {made.get("include_output", False) for fit, made in asked if fit is kdf_kdn.fit_kdn} == {True}
    assert models["spiral"]["1000"]["KDN"] == {"error": pytest.approx(0.1)}


def test_no_rule_of_ours_is_called_the_papers():
    assert "the paper has no such rule" in (calibrated_constant.__doc__ or "")
    sources = [path.read_text(encoding="utf-8") for path in Path(cross_validation.__file__).parent.glob("*.py")]
    assert not [source for source in sources if "The paper takes" in source]


@pytest.mark.parametrize("name", simulated_classes.SIMULATIONS)
def test_the_true_posterior_of_a_simulation_is_calibrated(name):
    x, y = simulated_classes.SIMULATIONS[name](20_000, np.random.default_rng(0))
    assert expected_calibration_error(simulated_classes.posterior(name, x), y) < 0.01


def test_no_row_states_what_no_paper_says():
    text = reproduction.document()
    assert "Fig. 3A: the ECE" not in text, "the figure has error, Hellinger distance and confidence"
    assert "kernel functions do as well" not in text, "they are less effective, the paper says"
    assert " – | holds" not in text, "nothing was measured"
    fig = next(row for row in text.splitlines() if row.startswith("| Fig. 2: in trained nets"))
    assert claims.FAILS in fig, "the caption says that the kernel remains stable"
