"""docs/PYTHON.md and the example of every name that the package offers, run as they stand."""

import doctest
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inspect_core
from inspect_core.cli.commands import main
from inspect_core.recipe_io.recipe_file import files_of

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "sample_data/flange"
PAGE = ROOT / "docs/PYTHON.md"


@pytest.fixture(scope="module")
def examples(unhurried, product, tmp_path_factory):
    """What the examples find: a folder, two photos, a recipe that is saved and exported, and the ten names."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(product, folder / "flange")
    for name, photo in {"good": "good/part_060", "scratch": "scratch/part_092"}.items():
        shutil.copy(PARTS / f"test/{photo}.jpg", folder / f"{name}.jpg")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LOUPE_WORKSPACE", str(folder / "workspace"))
        recipe = inspect_core.teach_folder("flange", detector="mahalanobis", device="cpu")
        names = {name: getattr(inspect_core, name) for name in inspect_core.__all__}
        names["save"](recipe, "flange.zip")
        names["export"](recipe, "line.zip")
        yield names | {"recipe": recipe}


def failures(example: doctest.DocTest) -> str:
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=report.append)
    return "".join(report)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", inspect_core.__all__)
def test_the_example_of_a_name_is_true(examples, name):
    [example] = doctest.DocTestFinder(recurse=False).find(examples[name], name, globs=examples)
    assert example.examples, f"{name} has no example"
    assert failures(example) == ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_is_true(examples):
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    assert len(page.examples) > 10
    assert failures(page) == ""


def test_it_is_the_recipe_of_the_command(examples, tmp_path):
    options = ["--detector", "mahalanobis", "--device", "cpu"]
    assert main(["fit", "flange", "--out", str(tmp_path / "flange"), *options]) == 0
    files, others = files_of(examples["recipe"]), files_of(inspect_core.load(tmp_path / "flange"))
    assert files.keys() == others.keys()
    assert [name for name in files if files[name] != others[name]] in ([], ["recipe.json"])  # who and when


def test_every_name_is_named_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in inspect_core.__all__ if name not in text and name != "Verdict"] == []
    with pytest.raises(AttributeError, match="it offers teach_folder, save"):
        inspect_core.fit  # noqa: B018
    assert set(inspect_core.__all__) <= set(dir(inspect_core))


def test_a_runner_is_had_without_torch(tmp_path):
    code = "import sys, inspect_core; inspect_core.Runner, inspect_core.read; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
