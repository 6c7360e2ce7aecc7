import pytest

from inspect_core.audit.entry import LIMITS_CHANGED
from inspect_core.audit.log import AuditLog
from inspect_core.cli.commands import main
from inspect_core.recipe_io.recipe_file import load
from inspect_core.tuning import alignment_training
from inspect_core.tuning.alignment_training import AlignmentTrial

pytestmark = pytest.mark.slow


def test_fit_says_what_it_found_and_what_the_limit_does(fit, tmp_path, capsys):
    assert fit(tmp_path / "r", "--limit", "5") == 0
    printed = capsys.readouterr().out
    assert "18  14 in train/, 4 in test/" in printed
    assert "of 4 good parts (long-run upper bound" in printed
    recipe = load(tmp_path / "r")
    assert recipe.limits.reject == 5.0
    assert recipe.product_check is None
    with AuditLog.open() as log:
        (entry,) = log.entries(kind=LIMITS_CHANGED)
    assert (entry.recipe, entry.user) == (recipe.digest, recipe.provenance.author)
    assert entry.facts["new"] == {"review": 5.0, "reject": 5.0}


@pytest.mark.parametrize("verb", ["fit", "evaluate"])
def test_fit_says_whether_parts_are_aligned_and_why(teach, verb, tmp_path, capsys, monkeypatch):
    tried = []

    def trial(order, report):
        tried.append(order.align)
        return AlignmentTrial(4.0, 3.9, 12, 12)

    monkeypatch.setattr(alignment_training, "try_alignment", trial)
    out = ["--out", tmp_path / "r"] if verb == "fit" else []
    for asked, is_tried in (((), True), (("--align", "none"), False)):
        assert teach(verb, *out, "--detector", "mahalanobis", *asked) == 0
        note = "Note: Photos are inspected as taken: aligned, 12 good photos kept apart differ 3% less"
        assert (note in capsys.readouterr().out) is is_tried
    assert tried == ["auto"]


def test_the_guard_can_be_fused_with_the_class_scores(fit, recipe_folder, tmp_path):
    assert not load(recipe_folder).product_check.fused
    assert fit(tmp_path / "r", "--product-check", "warn", "--product-check-scores", "fused") == 0
    fused = load(tmp_path / "r").product_check
    assert fused.fused
    assert fused.limit < 0, "minus the paper's score, which is larger for the product"


@pytest.mark.parametrize("size", ["0", "axb", "1x2x3", ""])
def test_a_size_that_is_none(size, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["fit", str(tmp_path), "--out", "x", "--size", size])
    assert stop.value.code == 2
    assert "size" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (("--seed", "2147483648"), "not a whole number from 0 to 2,147,483,647"),
        (("--seed", "1_0"), "not a whole number"),
        (("--area", "0"), "not a whole number from 1"),
        (("--sigma", "1e-300"), "not a number from 1e-12"),
        (("--size", "100000"), "not a size of 1 to 16,384"),
    ],
)
def test_values_that_no_recipe_can_hold_are_refused_before_a_fit(product, tmp_path, capsys, option, why):
    with pytest.raises(SystemExit):
        main(["fit", str(product), "--out", str(tmp_path / "out"), *option])
    assert why in capsys.readouterr().err


def test_a_limit_that_rejects_everything_is_refused(fit, tmp_path, capsys):
    assert fit(tmp_path / "out", "--limit", "0") == 2
    assert "rejects every part" in capsys.readouterr().err
