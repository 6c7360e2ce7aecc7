"""Every package that Loupe installs has a licence that lets it be used and passed on, and the document says which."""

import pytest

from benchmarks import licences
from benchmarks.licences import BY_FILE, DOCUMENT, PERMISSIVE, ROOT, installed, parts_of


def test_no_package_is_under_a_licence_that_binds_loupe():
    packages = dict(installed())
    assert len(packages) > 60
    assert {name: text for name, text in packages.items() if not parts_of(text)} == {}, "says no licence"
    allowed = PERMISSIVE | set(BY_FILE)
    assert {name: text for name, text in packages.items() if not parts_of(text) <= allowed} == {}


def test_the_document_lists_what_is_installed():
    rows = set(DOCUMENT.read_text(encoding="utf-8").splitlines())
    assert [name for name, text in installed() if f"| {name} | {text} |" not in rows] == [], "make licences"


@pytest.mark.parametrize(("text", "parts"), [
    ("MIT", {"MIT"}), ("Apache-2.0 OR BSD-2-Clause", {"Apache-2.0", "BSD-2-Clause"}),
    ("MIT AND (Apache-2.0 WITH LLVM-exception)", {"MIT", "Apache-2.0"}), ("GPL-3.0-only", {"GPL-3.0-only"}),
    ("", set()),
])  # fmt: skip
def test_an_expression_is_taken_apart(text, parts):
    assert licences.parts_of(text) == parts


def test_licence_notice_and_citation_agree():
    assert "Copyright 2026 the Loupe authors" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "the Loupe authors" in (ROOT / "NOTICE").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'license = "Apache-2.0"' in project
    version = next(line for line in project.splitlines() if line.startswith("version = ")).split('"')[1]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "closed under a date"
