import json

import pytest

pytestmark = pytest.mark.slow


def test_evaluate_measures_every_value_asked_for(teach, tmp_path, capsys):
    out = tmp_path / "figures.json"
    assert teach("evaluate", "--ks", "2", "8", "--json", out) == 0
    printed = capsys.readouterr().out
    assert "image AUROC" in printed
    assert '"k": 2' in out.read_text()


def test_evaluate_measures_a_value_that_is_not_kept(teach, tmp_path):
    """Of 100 values of k the scored photos keep 64; 37 is none of them."""
    out = tmp_path / "figures.json"
    assert teach("evaluate", "--grid", "8", "--k", "100", "--ks", "36", "37", "--json", out) == 0
    kept, between = json.loads(out.read_text())
    assert between["live"] == {"k": 37, "area": 33}
    assert abs(between["pixel_auroc"] - kept["pixel_auroc"]) < 0.05
    assert between["pixel_auroc"] != kept["pixel_auroc"]
