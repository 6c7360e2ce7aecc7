"""README and docs: links lead somewhere, commands exist, every setting is named, pictures are as promised."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

from inspect_core.cli.commands import SUBCOMMANDS, main

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path
    for folder in (".", "docs", "benchmarks", "benchmarks/data", "sample_data")
    for path in (ROOT / folder).glob("*.md")
)
README, COMMANDS = ROOT / "README.md", ROOT / "docs/COMMANDS.md"
CODE = [path for folder in ("inspect_core", "pages") for path in (ROOT / folder).rglob("*.py")]
SETTING = re.compile(r"LOUPE_[A-Z_]+\b")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_code(document: str) -> str:
    return re.sub(r"^```.*?^```", "", document, flags=re.MULTILINE | re.DOTALL)


def anchors(document: Path) -> set[str]:
    """Headings as GitHub addresses them."""
    headings = re.findall(r"^#+ (.+)$", without_code(text_of(document)), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(document))):
        name, _, heading = link.partition("#")
        target = document.parent / name if name else document
        if link.startswith("https://"):
            continue
        if not target.exists() or (heading and target.suffix == ".md" and heading not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_document_named_in_words_is_there():
    named = {name for path in (*DOCUMENTS, *CODE) for name in re.findall(r"\bdocs/[A-Z_]+\.md\b", text_of(path))}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_section_named_in_words_is_there():
    named = {
        match
        for path in (*DOCUMENTS, *CODE)
        for match in re.findall(r"\b(METHODS|MEASUREMENTS)\]?(?:\(\w+\.md\))?,? (?:section )?(\d+)\b", text_of(path))
    }
    assert named
    lost = [
        f"{name} {section}"
        for name, section in sorted(named)
        if not re.search(rf"^## {section} ", text_of(ROOT / f"docs/{name}.md"), flags=re.MULTILINE)
    ]
    assert lost == []


@pytest.mark.parametrize(("name", "most"), [("METHODS", 8200), ("MEASUREMENTS", 4000), ("REPRODUCTION", 6500)])
def test_documents_of_figures_can_be_read(name, most):
    assert len(text_of(ROOT / f"docs/{name}.md").split()) <= most


def test_the_readme_is_short_and_leads_to_every_document():
    readme = text_of(README)
    assert len(readme.splitlines()) < 100
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f"(docs/{path.name})" not in readme] == []
    assert text_of(ROOT / ".ci/run").splitlines()[-1] == "make test-all"
    assert "\nmake test " in readme


def test_pictures_are_1200_pixels_wide_and_small():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text_of(README))
    assert len(shown) == 2
    for name in shown:
        assert (ROOT / name).stat().st_size < 200_000
        with Image.open(ROOT / name) as picture:
            assert picture.width == 1200


def commands() -> list[str]:
    """Command lines in README and docs/COMMANDS.md, without what comes after #."""
    lines = (text_of(README) + text_of(COMMANDS)).splitlines()
    return [line.partition("inspect_core ")[2] for line in lines if line.startswith("python -m inspect_core ")]


@pytest.mark.parametrize("line", commands())
def test_every_command_is_understood(line, monkeypatch):
    verb, *arguments = shlex.split(line)
    module = import_module(f"inspect_core.cli.{verb}")
    asked = []
    monkeypatch.setattr(module, "run", lambda options: asked.append(options.verb) or 0)
    assert main([verb, *arguments]) == 0
    assert asked == [verb]


def test_every_verb_has_its_section_and_every_option_exists(capsys):
    assert sorted(set(SUBCOMMANDS) - anchors(COMMANDS)) == []
    offered = ""
    for verb in SUBCOMMANDS:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        offered += capsys.readouterr().out
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text_of(COMMANDS)))
    assert sorted(option for option in named if not re.search(rf"{option}\b(?!-)", offered)) == []


def test_every_setting_is_named():
    read = {name for path in CODE for name in SETTING.findall(text_of(path))} - {"LOUPE_TLS_"}
    assert read == set(SETTING.findall(text_of(ROOT / "docs/SETTINGS.md")))


def test_the_start_file_for_windows_holds_in_any_folder():
    assert text_of(ROOT / ".gitattributes").split() == ["*.bat", "text", "eol=crlf"], "cmd loses labels in other lines"
    lines = text_of(ROOT / "start.bat").splitlines()
    assert [line for line in lines if "%~dp0" in line] == ['pushd "%~dp0" || goto failed']
    assert [line for line in lines if re.search(r"\b[A-Z]:\\|%(CD|USERPROFILE)%", line, re.IGNORECASE)] == []
    labels = {line[1:] for line in lines if line.startswith(":")}
    assert {label for line in lines for label in re.findall(r"goto (\w+)", line)} == labels
