"""A recipe that the command line fitted to the small product."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inspect_core.cli.commands import main


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the network is exported to: in every workspace anew, it takes nearly all the time of a verb."""
    return tmp_path_factory.mktemp("onnx")


@pytest.fixture(autouse=True)
def exported_once(workspace: Path, graphs: Path) -> None:
    (workspace / "onnx").symlink_to(graphs, target_is_directory=True)


@pytest.fixture(scope="session")
def teach(product: Path) -> Callable[..., int]:
    """teach(verb, *arguments) runs a verb that teaches the small product, quickly; the exit code."""
    quick = ["--size", "128", "--grid", "16", "--k", "8", "--device", "cpu"]
    return lambda verb, *arguments: main([verb, str(product), *quick, *map(str, arguments)])


@pytest.fixture(scope="session")
def taught(teach: Callable[..., int], graphs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe in one file."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "workspace").mkdir()
    (folder / "workspace" / "onnx").symlink_to(graphs, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_WORKSPACE", str(folder / "workspace"))
        assert teach("fit", "--out", folder / "flange.zip") == 0
    return folder / "flange.zip"
