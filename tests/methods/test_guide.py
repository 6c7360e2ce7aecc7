"""The guide to a new detector holds: its two files, as they stand there, are all that a detector needs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("unhurried")

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "ADD_A_DETECTOR.md"
NEW = "local_outliers"


@pytest.mark.slow
def test_guide_example_can_be_taught_inspected_and_evaluated(tmp_path: Path) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    files = re.findall(r"^## \d[^\n]*`inspect_core/(\w+)/(\w+)\.py`$.*?^```python\n(.*?)^```$", text, re.M | re.S)
    assert [(room, name) for room, name, _ in files] == [("detectors", NEW), ("methods", NEW)]
    for room, name, code in files:
        (tmp_path / room).mkdir()
        (tmp_path / room / f"{name}.py").write_text(code, encoding="utf-8")
    run = (
        "import sys, pytest\n"
        "from inspect_core import detectors, methods\n"
        f"detectors.__path__.append({str(tmp_path / 'detectors')!r})\n"
        f"methods.__path__.append({str(tmp_path / 'methods')!r})\n"
        "sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    tests = ["methods/newcomer.py", "methods/test_contract.py", "hostile/test_recipe_values.py"]
    options = ["-n", "0", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"), "-k", f"newcomer or {NEW}"]
    done = subprocess.run(
        [sys.executable, "-c", run, *options, *(f"tests/{name}" for name in tests)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
