"""A folder watched in a real browser: a photo arrives, its verdict shows by itself and after a reload; pause, stop."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.recipe_io.recipe_file import save
from inspect_core.study.study import Study

ROOT = Path(__file__).resolve().parents[2]
expect.set_options(timeout=60_000)


@pytest.fixture
def address(serve, tmp_path, product, backbone, monkeypatch) -> str:
    """A server with one saved recipe, which may read the folder of the test."""
    study = Study.from_photos(
        scan(product), backbone, FeatureStore(tmp_path / "store"), parameters={"k": 8}, grid=(16, 16)
    ).fit()
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    (tmp_path / "ws" / "recipes").mkdir(parents=True)
    save(study.recipe(product="flange"), tmp_path / "ws" / "recipes" / "flange.zip")
    return serve(ROOT / "app.py", tmp_path / "ws", small=True)


def test_a_photo_arrives_and_its_verdict_is_shown(address, open_page, product, start_watching, tmp_path):
    good, dent = (sorted((product / folder).iterdir())[0] for folder in ("train/good", "test/dent"))
    (tmp_path / "in").mkdir()
    page = open_page(f"{address}/batch")
    start_watching(page, tmp_path / "in")

    shutil.copy(dent, tmp_path / "in" / "dent.jpg")
    expect(page.get_by_text("✕ Rejected").first).to_be_visible()
    expect(page.get_by_role("img", name="dent.jpg: ✕ Rejected").first).to_be_visible()
    assert (tmp_path / "in-sorted" / "reject" / "dent.jpg").is_file()
    page.reload()
    expect(page.get_by_role("img", name="dent.jpg: ✕ Rejected").first).to_be_visible()

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. New photos wait in the folder.")).to_be_visible()
    shutil.copy(good, tmp_path / "in" / "good.jpg")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("img", name="good.jpg: ✓ Accepted")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("^Stopped: 1 accepted, 1 rejected"))).to_be_visible()
    assert not list((tmp_path / "in").iterdir())
