import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from inspect_core.cli.commands import SUBCOMMANDS, main
from inspect_core.recipe_io.recipe_file import load, save


@pytest.mark.slow
def test_the_list_of_verbs_is_printed_without_torch():
    code = "import runpy, sys; sys.argv[1:] = ['--help']; runpy.run_module('inspect_core', run_name='__main__')"
    check = f"import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); {code}"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", check], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert [verb for verb in SUBCOMMANDS if verb not in done.stdout.split()] == []


@pytest.mark.parametrize("verb", SUBCOMMANDS)
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: loupe {verb}")


def test_doctor_says_what_is_there(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert [
        word for word in ("torch ", "device:", "weights of efficientnet_lite0", "workspace:") if word not in printed
    ] == []


@pytest.mark.slow
def test_weights_are_fetched_by_the_flag_alone(recipe_folder, product, tmp_path, monkeypatch, capsys):
    fetched = []
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda url, *_, **__: fetched.append(url))
    recipe = load(recipe_folder)
    views = tuple(replace(view, spec=replace(view.spec, taps=("layer1",))) for view in recipe.views)
    foreign = replace(recipe, backbone=replace(recipe.backbone, name="resnet18", taps=("layer1",)), views=views)
    save(foreign, tmp_path / "r.zip")
    asked = [
        ["inspect", str(tmp_path / "r.zip"), str(product)],
        ["challenge", str(tmp_path / "r.zip"), str(product), "--name", str(tmp_path / "n.zip")],
        ["fit", str(product), "--out", str(tmp_path / "f.zip"), "--backbone", "resnet18"],
    ]
    for arguments in asked:
        assert main(arguments) == 2
        assert "--download" in capsys.readouterr().err
    assert fetched == []
    for arguments in asked:
        assert main([*arguments, "--download"]) == 2
    assert fetched == ["https://download.pytorch.org/models/resnet18-f37072fd.pth"] * 3
