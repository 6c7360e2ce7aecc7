"""One thread for sums: the bits of a product must not depend on the cores of the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_whoever_has_a_backbone_sums_with_one_thread():
    program = """
import json, threadpoolctl
from inspect_core.features import backbones
from inspect_core.runtime.threads import cores
import scipy.linalg, torch
own = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps([cores(), torch.get_num_threads(), *own]))
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, check=True
    ).stdout
    to_share, *threads = json.loads(result)
    assert to_share >= 1
    assert threads == [1, 1, 1]  # torch, and an OpenBLAS each of NumPy and SciPy
