"""The notebooks of the papers run from top to bottom: their last cells assert what they show."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.slow


def test_every_paper_has_one():
    assert len(NOTEBOOKS) == 5


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert "assert " in code[-1]
    names: dict[str, object] = {}
    for number, source in enumerate(code):
        exec(compile(source, f"{path.name}, cell {number}", "exec"), names)
    assert names["figure"].data, "it draws its figure"
