"""Folders to click through: only those that pages may read, and those used last first."""

import pytest

from inspect_core.ui import folder_browser, shell


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "photos"
    for name in ("b", "a", ".hidden"):
        (root / name).mkdir(parents=True)
    (root / "a photo.png").touch()
    (root / "b" / "inner.JPG").touch()
    (tmp_path / "elsewhere").mkdir()
    (root / "out").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("LOUPE_ROOTS", str(root))
    return root


def test_only_folders_that_may_be_read_are_listed(root):
    assert [path.name for path in folder_browser.subfolders(root)] == ["a", "b"]
    assert folder_browser.subfolders(root / "gone") == []
    assert folder_browser._count(root) == "2 photos"
    (root / "ground_truth" / "scratch").mkdir(parents=True)
    (root / "ground_truth" / "scratch" / "inner_mask.png").touch()
    assert folder_browser._count(root) == "2 photos", "masks are none"


def test_folders_used_last_come_first_while_they_are_there(root, tmp_path, workspace, monkeypatch):
    monkeypatch.setattr(shell, "current_user", lambda: "Ana")
    for name in ("a", "b", "a"):
        folder_browser.remember(root / name)
    assert folder_browser._recent() == [root / "a", root / "b"]
    folder_browser.remember(tmp_path / "elsewhere")
    (root / "b").rename(root / "c")
    assert folder_browser._recent() == [root / "a"], "nothing that is gone or not allowed"
    (workspace / "preferences.json").write_text('{"a": 1')
    assert folder_browser._recent() == []
