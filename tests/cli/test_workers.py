"""--workers on the command line: the same recipe and the same table, and what cannot go together."""

import csv
import zipfile
from pathlib import Path

import pytest

from inspect_core.cli.commands import main


def table(path: Path) -> list[dict]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return [{**row, "time": "", "milliseconds": ""} for row in csv.DictReader(file)]


def test_workers_fit_and_inspect_to_the_same_bits(fit, recipe_folder, product, tmp_path, capsys):
    assert fit(tmp_path / "plain.zip") == 0
    assert fit(tmp_path / "workers.zip", "--workers", 1) == 0
    assert "Running on 1 process on this machine." in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "plain.zip") as archive, zipfile.ZipFile(tmp_path / "workers.zip") as other:
        for name in ("arrays.safetensors", "calibration.csv"):
            assert archive.read(name) == other.read(name)
    photos = str(product / "test")
    for name, more in (("plain", []), ("workers", ["--workers", "1"])):
        assert main(["inspect", str(recipe_folder), photos, "--csv", str(tmp_path / f"{name}.csv"), *more]) == 1
    assert table(tmp_path / "plain.csv") == table(tmp_path / "workers.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "workers is 0"),
        (["--workers", "1000"], "1000 processes need 1073.7 GB of memory, 1.1 each, and this machine has"),
        (["--workers", "2", "--cluster", "127.0.0.1:8786"], "cannot be used together"),
        (["--cluster", "tcp://10.0.0.2:8786"], "--tls-ca, --tls-cert and --tls-key"),
        (["--cluster", "tls://10.0.0.2:8786", "--tls-ca", "ca.pem"], "provide all three of"),
    ],
)
def test_what_cannot_be_used_is_said(recipe_folder, product, options, message, capsys):
    assert main(["inspect", str(recipe_folder), str(product / "test"), *options]) == 2
    assert message in capsys.readouterr().err


def test_screen_takes_no_workers_as_it_uses_none(product, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["screen", str(product), "--workers", "2"])
    assert stop.value.code == 2
    assert "unrecognized arguments: --workers 2" in capsys.readouterr().err
