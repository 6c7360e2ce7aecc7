import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inspect_core.runtime import workspace


def test_saved_recipes_never_clash():
    with workspace.free_recipe_path("a b") as first:
        first.write_bytes(b"")
    with workspace.free_recipe_path("a b") as second:
        assert (first.name, second.name) == ("a-b.zip", "a-b-2.zip")


def test_recipes_saved_at_the_same_moment_share_no_name():
    meet = threading.Barrier(4)

    def save(number: int) -> Path:
        meet.wait(60)
        with workspace.free_recipe_path("part") as path:
            meet.wait(60)
            path.write_text(f"{number}")
        return path

    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(save, range(4)))
    assert sorted(path.name for path in paths) == ["part-2.zip", "part-3.zip", "part-4.zip", "part.zip"]
    assert [path.read_text() for path in paths] == ["0", "1", "2", "3"]
    assert {path.name for path in workspace.recipes_folder().iterdir()} == {path.name for path in paths}


def test_a_name_that_was_claimed_and_not_used_is_free_again():
    with pytest.raises(OSError, match="full"), workspace.free_recipe_path("part"):
        raise OSError("the disk is full")
    claim = workspace.recipes_folder() / ".part.zip.claim"
    claim.touch()
    with workspace.free_recipe_path("part") as path:
        assert path.name == "part-2.zip", "another process is saving it"
    os.utime(claim, (0, 0))
    with workspace.free_recipe_path("part") as path:
        assert path.name == "part.zip", "the process was killed long ago"


def test_a_whole_file_system_is_never_allowed_by_itself(monkeypatch):
    monkeypatch.delenv("LOUPE_ROOTS", raising=False)
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/")
    assert Path("/") not in workspace.allowed_roots()
    assert workspace.root() in workspace.allowed_roots()
