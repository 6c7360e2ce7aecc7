import json

import pytest

from inspect_core.cli.commands import main

pytestmark = pytest.mark.slow


def test_evaluate_measures_every_value_asked_for(teach, tmp_path, capsys):
    out = tmp_path / "figures.json"
    assert teach("evaluate", "--detector", "mahalanobis", "--ks", "2", "8", "--json", out) == 0
    printed = capsys.readouterr().out
    assert "image AUROC" in printed
    assert '"k": 2' in out.read_text()
    for row in json.loads(out.read_text()):
        caught = row["caught_at_defect"] + row["caught_elsewhere"]
        assert f"detects {caught} of 3" in row["in_parts"]
        assert (row["not_located"], row["not_judged"]) == (0, 0)


@pytest.mark.usefixtures("unhurried")
def test_a_detector_without_a_live_parameter_is_evaluated_too(product, tmp_path, capsys):
    quick = ["evaluate", str(product), "--size", "128", "--grid", "16", "--taps", "expansions", "--device", "cpu"]
    quick += ["--detector", "nearest", "--tolerance", "none", "--json", str(tmp_path / "figures.json")]
    assert main(quick) == 0
    assert len(json.loads((tmp_path / "figures.json").read_text())) == 1
    assert main([*quick, "--ks", "2"]) == 2
    assert "has no live parameter" in capsys.readouterr().err


def test_evaluate_measures_a_value_between_stops_and_warns_once(teach, tmp_path, capsys, recwarn):
    """Of 100 values of k the scored photos keep 64; 37 is none of them."""
    out = tmp_path / "figures.json"
    values = ["--detector", "mahalanobis", "--grid", "8", "--k", "100", "--ks", "36", "37"]
    assert teach("evaluate", *values, "--json", out) == 0
    at_stop, between = json.loads(out.read_text())
    assert between["live"]["k"] == 37
    assert abs(between["pixel_auroc"] - at_stop["pixel_auroc"]) < 0.05
    assert between["pixel_auroc"] != at_stop["pixel_auroc"]
    printed = capsys.readouterr()
    assert (printed.out + printed.err).count("good photos are too few for k =") == 1
    assert not [warned for warned in recwarn if "images" in str(warned.message)], "not once for each fold"


def test_detectors_are_compared_and_nothing_else_is_replaced(teach, tmp_path, capsys):
    out, table, page = tmp_path / "figures.json", tmp_path / "table.csv", tmp_path / "report.html"
    files = ["--json", out, "--csv", table, "--report", page]
    two = ["evaluate", "--compare", "--k", "16", "--detectors", "mahalanobis,mahalanobis+nearest,nearest"]
    assert teach(*two, *files) == 0
    printed = capsys.readouterr().out
    assert "Nearest patch" in printed
    assert printed.count("good photos are too few for k = 16") == 1
    rows = json.loads(out.read_text())
    contract = {"image_auroc", "pixel_auroc", "aupro", "fpr95", "live", "in_parts", "good_rejected_at_95_caught"}
    ours = {"detector", "intervals", "fit_seconds", "verdict_ms", "arrays_mb"}
    ours |= {"caught_at_defect", "caught_elsewhere", "not_located", "not_judged"}
    assert [row["detector"] for row in rows] == ["mahalanobis", "mahalanobis+nearest", "nearest"]
    assert all(contract | ours <= set(row) for row in rows)
    assert rows[0]["live"]["k"] == 16
    assert table.read_text().splitlines()[3].startswith("nearest,Nearest patch,")
    assert "<svg" in page.read_text(encoding="utf-8")
    for path in (out, table, page):
        path.write_text("mine")
        assert teach(*two, *files) == 2
        assert path.read_text() == "mine"
        assert "is not replaced" in capsys.readouterr().err
        path.unlink()


def test_two_comparison_files_at_one_place_are_refused_first(teach, tmp_path, capsys):
    for first, other in (("--csv", "--report"), ("--json", "--csv")):
        assert teach("evaluate", "--compare", first, tmp_path / "x", other, tmp_path / "y" / ".." / "x") == 2
        assert "; choose another name" in capsys.readouterr().err
    assert list(tmp_path.glob("x*")) == []


def test_options_of_a_comparison_need_it(teach, tmp_path, capsys):
    assert teach("evaluate", "--csv", tmp_path / "table.csv") == 2
    assert "--compare" in capsys.readouterr().err
    assert teach("evaluate", "--compare", "--ks", "2") == 2
    assert "--detectors" in capsys.readouterr().err
