from pathlib import Path

from inspect_core.runtime import workspace


def test_saved_recipes_never_clash():
    first = workspace.free_recipe_path("a b")
    first.parent.mkdir(parents=True)
    first.write_bytes(b"")
    assert workspace.free_recipe_path("a b").name == "a-b-2.zip"


def test_a_whole_file_system_is_never_allowed_by_itself(monkeypatch):
    monkeypatch.delenv("LOUPE_ROOTS", raising=False)
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/")
    assert Path("/") not in workspace.allowed_roots()
    assert workspace.root() in workspace.allowed_roots()
