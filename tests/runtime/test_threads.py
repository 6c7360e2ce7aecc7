"""One thread for sums: the bits of a product must not depend on the cores of the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspect_core.runtime.threads import cores

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_whoever_has_a_backbone_sums_with_one_thread():
    program = """
import json, threadpoolctl
from inspect_core.features import backbones
import scipy.linalg, torch
own = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps([torch.get_num_threads(), *own]))
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, check=True
    ).stdout
    threads = json.loads(found)
    assert len(threads) == 3  # torch, and an OpenBLAS each of NumPy and SciPy
    assert set(threads) == {1}


def test_cores_are_those_of_this_process_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert cores() >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert cores() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "0")
    assert cores() != 0
