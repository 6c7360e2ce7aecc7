"""A recipe that the command line fitted to the small product."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from inspect_core.cli.commands import main


@pytest.fixture(scope="session")
def teach(product: Path, backbone) -> Callable[..., int]:
    """teach(verb, *arguments) runs a verb that teaches the small product, or `photos`, quickly; the exit code."""
    quick = [
        "--size",
        "128",
        "--grid",
        "16",
        "--taps",
        "expansions",
        "--k",
        "8",
        "--device",
        "cpu",
        "--tolerance",
        "none",
    ]
    return lambda verb, *arguments, photos=product: main([verb, str(photos), *quick, *map(str, arguments)])


@pytest.fixture(scope="session")
def fit(teach: Callable[..., int]) -> Callable[..., int]:
    """As `teach` with the verb fit, one detector and no product check: for tests of all the rest."""
    return functools.partial(teach, "fit", "--detector", "mahalanobis", "--product-check", "off", "--out")


@pytest.fixture(scope="session")
def recipe_folder(teach: Callable[..., int], shared_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe in one file."""
    saved = tmp_path_factory.mktemp("cli") / "flange.zip"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_WORKSPACE", str(shared_workspace))
        assert teach("fit", "--detector", "mahalanobis", "--out", saved) == 0
    return saved
