"""What docs/REPRODUCTION.md says is what the stored results of the studies give; a small study runs."""

import argparse

import numpy as np
import pytest

from benchmarks.studies import hoffmann, reproduction
from inspect_core.judge.metrics import expected_calibration_error
from inspect_core.playgrounds import simulated_classes


def test_the_document_is_what_the_generator_writes():
    assert reproduction.DOCUMENT.read_text(encoding="utf-8") == reproduction.document()


def test_every_study_was_measured_and_drawn():
    for section in reproduction.SECTIONS:
        assert reproduction.figures(section.__name__)["runs"], section.__name__
        assert 0 < (reproduction.PICTURES / f"{section.__name__}.png").stat().st_size < 250_000


@pytest.mark.parametrize(("score", "named"), [(0.7, True), (0.9, False)])
def test_a_method_that_one_baseline_beats_everywhere_is_named(score, named):
    by_set = {"a": {"new": 0.6, "old": 0.8}, "b": {"new": score, "old": 0.8}, "c": {"new": 1.0, "old": 1.0}}
    assert ("new loses to old" in reproduction.losing(by_set, ["new"], ["old"], "all")) == named


def test_the_cancer_table_gives_the_published_order():
    found = hoffmann.cancer_auc(argparse.Namespace(quick=True), noise_seeds=1)
    assert found["kernel_pca_mean"] == pytest.approx(0.9971, abs=5e-4)
    assert found["pca_best"] < found["parzen_best"] < found["kernel_pca_mean"]


@pytest.mark.parametrize("name", simulated_classes.SIMULATIONS)
def test_the_true_posterior_of_a_simulation_is_calibrated(name):
    x, y = simulated_classes.SIMULATIONS[name](20_000, np.random.default_rng(0))
    assert expected_calibration_error(simulated_classes.posterior(name, x), y) < 0.01
