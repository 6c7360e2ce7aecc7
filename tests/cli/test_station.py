"""`loupe station`: settings said to be wrong before anything starts, and a belt that runs on an exported recipe."""

import re
from pathlib import Path

import pytest
import yaml

from inspect_core.audit.entry import PART
from inspect_core.audit.log import AuditLog
from inspect_core.cli.commands import main
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.recipe_io.recipe_file import save
from inspect_core.runtime.json_record import check, rules_of
from inspect_core.station.register_map import register_map
from inspect_core.station.settings import StationSettings, _with_defaults
from tests.station.conftest import free_port

LINE = Path(__file__).parents[2] / "docs/LINE.md"


def test_the_example_has_every_setting_and_is_understood(capsys):
    assert main(["station", "--example"]) == 0
    text = capsys.readouterr().out
    check(_with_defaults(StationSettings, yaml.safe_load(text)), rules_of(StationSettings), "", "example")
    named = set(re.findall(r"^(?:# )?(\w+):", text, flags=re.MULTILINE))
    assert set(rules_of(StationSettings)) - named == {"trial"}


def test_the_documented_registers_are_those_of_the_signals(capsys):
    assert main(["station", "--registers"]) == 0
    assert capsys.readouterr().out.strip() == register_map()
    documented = LINE.read_text(encoding="utf-8").split("<!-- registers -->")[1].split("<!-- /registers -->")[0]
    assert documented.strip() == register_map(), "loupe station --registers"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("modbus: {port: PORT}", ""), "no controller reaches the station"),
        (("name: press", "name: press\nspeed: 3"), "unknown field 'speed'"),
        (("number: 1", "number: 0"), "a whole number from 1"),
        (("folder: in", "folder: in, camera: '999999'"), "cannot be opened"),
        (("file: line.zip", "file: gone.zip"), "there is no recipe"),
    ],
)
def test_what_cannot_run_is_said_in_a_line(tmp_path, exported, capsys, change, words):
    path = settings_file(tmp_path, exported)
    path.write_text(path.read_text().replace(change[0].replace("PORT", str(PORT)), change[1]))
    assert main(["station", str(path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_belt_runs_on_an_exported_recipe(tmp_path, exported, product, capsys):
    path = settings_file(tmp_path, exported)
    assert main(["station", str(path), "--simulate", str(product / "test"), "--parts", "4", "--every", "0"]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"PLC: part \d (?:passes|is taken off)", out)) == 4
    with AuditLog.open() as log:
        parts = [entry.facts for entry in log.entries(kind=PART)]
    passed = re.findall(r"PLC: part (\d) passes", out)
    assert [part["part"] for part in parts if part["verdict"] == "accept"] == passed
    assert len(parts) == 4


def test_a_recipe_that_is_not_approved_judges_no_production(tmp_path, exported, capsys):
    path = settings_file(tmp_path, exported)
    path.write_text(path.read_text().replace("trial: true", "trial: false"))
    assert main(["station", str(path)]) == 2
    assert "is not approved" in capsys.readouterr().err


PORT = free_port()


def settings_file(tmp_path: Path, exported: Path) -> Path:
    (tmp_path / "line.zip").write_bytes(exported.read_bytes())
    lines = (
        "name: press",
        "trial: true",
        "recipes: [{number: 1, file: line.zip}]",
        "views: [{name: top, folder: in}]",
        "keep: {folder: kept, least_free_gigabytes: 0}",
        f"modbus: {{port: {PORT}}}",
    )
    path = tmp_path / "station.yaml"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory, product, backbone):
    """A small recipe, exported."""
    from inspect_core.datasets.folders import scan
    from inspect_core.features.store import FeatureStore
    from inspect_core.study.study import Study

    folder = tmp_path_factory.mktemp("exported")
    study = Study.from_photos(
        scan(product), backbone, FeatureStore(folder / "store"), parameters={"k": 6}, grid=(8, 8)
    ).fit()
    recipe = save(study.recipe(product="part"), folder / "recipe")
    export(recipe, folder / "line.zip", check_images=find_photos(recipe).paths)
    return folder / "line.zip"
