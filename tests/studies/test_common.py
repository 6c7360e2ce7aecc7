"""How a study runs where a set of photos is not there."""

import sys

from benchmarks.studies import common


def test_what_is_not_there_stays_as_it_was_measured(monkeypatch, tmp_path, capsys):
    stored = {"sets": {"flange": 1, "magnetic_tile": 1}, "digits": 7}
    monkeypatch.setattr(common, "kept", lambda name: dict(stored))
    monkeypatch.setattr(common, "machine", dict)
    monkeypatch.setattr(common, "write", lambda name, figures, **more: stored.update(figures))
    monkeypatch.setattr(sys, "argv", ["study", "--data", str(tmp_path)])
    parts = {"sets": lambda options: {"flange": 2}, "digits": lambda options: 8}
    common.run("made up", "", parts, needs={"digits": "mnist"})
    assert stored["sets"] == {"magnetic_tile": 1, "flange": 2}
    assert stored["digits"] == 7
    assert "digits stays as it was measured; needs mnist: the arrays" in capsys.readouterr().err
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist/digits.npz").touch()
    common.run("made up", "", parts, needs={"digits": "mnist"})
    assert stored["digits"] == 8
