"""What is remembered of a user: one file, each user's own, and nothing that breaks a page."""

import json

import pytest

from inspect_core.runtime import workspace
from inspect_core.ui import preferences, shell


@pytest.fixture
def work_as(monkeypatch):
    return lambda name: monkeypatch.setattr(shell, "current_user", lambda: name)


def test_each_user_has_preferences_that_outlive_a_session(work_as):
    work_as("Ana")
    preferences.remember("table format", "point")
    preferences.remember("folders used last", ["/a", "/b"])
    work_as("Ben")
    assert preferences.read("table format") is None
    preferences.remember("table format", "comma")
    work_as("Ana")
    assert preferences.read("table format") == "point"
    assert preferences.read("folders used last") == ["/a", "/b"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"Ana": 3}', b'{"Ana": {"x": 1}', b"\xff"])
def test_a_damaged_file_counts_as_nothing_and_is_replaced(work_as, content):
    work_as("Ana")
    (workspace.root() / preferences.FILE).write_bytes(content)
    assert preferences.read("x") is None
    preferences.remember("x", 2)
    assert json.loads((workspace.root() / preferences.FILE).read_text()) == {"Ana": {"x": 2}}
