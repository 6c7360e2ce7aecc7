"""What docs/REPRODUCTION.md says is what the stored results of the studies give; a small study runs."""

import argparse
import itertools
import re

import numpy as np
import pytest

from benchmarks.studies import hoffmann, reproduction
from inspect_core.judge.metrics import expected_calibration_error
from inspect_core.playgrounds import simulated_classes


def test_the_document_is_what_the_generator_writes():
    assert reproduction.DOCUMENT.read_text(encoding="utf-8") == reproduction.document()


def test_the_page_on_few_photos_is_what_the_generator_writes():
    assert reproduction.FEW_PHOTOS.read_text(encoding="utf-8") == reproduction.engineers()


def test_every_study_was_measured_and_drawn():
    for study in reproduction.STUDIES:
        assert reproduction.figures(study)["runs"], study
        assert 0 < (reproduction.PICTURES / f"{study}.png").stat().st_size < 250_000


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
    ("section", "tables", "drawings"),
    [
        ("semi_orthogonal", "1 2 3 4 5", "1 2 3 4 5"),
        ("cop_corp", "1 2 II.1 II.2 II.3", "1 2 3 4 5 6 7"),
        ("quadrics", "1 2 3 4 5", "1 2 3"),
        ("hoffmann", "", "1 2 3 4 5 6 7 8 9 10 11 12"),
        ("kdf_kdn", "1 2 3 4", "1 2 3 4 5 6 7 8 9 10 11 12"),
    ],
)
def test_every_table_and_figure_of_a_paper_has_its_row_and_its_word(section, tables, drawings):
    text = "\n".join(getattr(reproduction, section)())
    assert named(text, "Table") >= set(tables.split())
    assert named(text, "Fig.") | named(text, "Fig") >= set(drawings.split())
    claims = text[text.index("| claim") :].partition("\n## ")[0].split("\n| --- ")[1].splitlines()[1:]
    rows = list(itertools.takewhile(lambda line: line.startswith("|"), claims))
    words = {row.split(" | ")[3] for row in rows}
    assert words <= {reproduction.HOLDS, reproduction.FAILS, reproduction.UNTESTED}


@pytest.mark.parametrize(("score", "verdict"), [(0.7, reproduction.FAILS), (0.9, reproduction.HOLDS)])
def test_a_claim_holds_only_where_it_does_on_every_set(score, verdict):
    rows = {"a": {"new": 0.9, "old": 0.8}, "b": {"new": score, "old": 0.8}}
    assert reproduction.each(rows, "new", "old")[0] == verdict
    assert reproduction.each({"a": {"new": 0.8, "old": 0.8}}, "new", "old")[0] == reproduction.FAILS, "a tie is no win"


def test_the_cancer_table_gives_the_published_order():
    found = hoffmann.cancer_auc(argparse.Namespace(quick=True), noise_seeds=1)
    assert found["kernel_pca_mean"] == pytest.approx(0.9971, abs=5e-4)
    assert found["pca_best"] < found["parzen_best"] < found["kernel_pca_mean"]


@pytest.mark.parametrize("name", simulated_classes.SIMULATIONS)
def test_the_true_posterior_of_a_simulation_is_calibrated(name):
    x, y = simulated_classes.SIMULATIONS[name](20_000, np.random.default_rng(0))
    assert expected_calibration_error(simulated_classes.posterior(name, x), y) < 0.01
