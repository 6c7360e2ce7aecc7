import shutil
from pathlib import Path

import cv2
import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split
from inspect_core.features.backbones import Backbone
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_quality import BLUR
from inspect_core.images.photo_reader import read_mask
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.photo_screening import COPY, PRODUCT, screen_photos

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
ORDER = TeachingConfig(
    "flange", Split((), (), ()), taps="expansions", size=(128, 128), grid=(16, 16), align="none", device="cpu"
)

pytestmark = pytest.mark.usefixtures("unhurried")


def silent(fraction, step):
    assert 0 <= fraction <= 1


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """30 good flanges, of which one is blurred and one copied, a scratched one and two boards."""
    folder = tmp_path_factory.mktemp("screened") / "flange"
    folder.mkdir()
    good = sorted((SAMPLES / "flange/train/good").iterdir())[:30]
    for path in good:
        shutil.copy(path, folder)
    cv2.imwrite(str(folder / good[3].name), cv2.GaussianBlur(cv2.imread(str(good[3])), (0, 0), 3))
    cv2.imwrite(str(folder / "zz copy.jpg"), cv2.imread(str(good[8])), [cv2.IMWRITE_JPEG_QUALITY, 92])
    shutil.copy(SAMPLES / "flange/test/scratch/part_092.jpg", folder / "lined.jpg")
    for path in sorted((SAMPLES / "board/train/good").iterdir())[:2]:
        shutil.copy(path, folder / f"board {path.name}")
    return folder, good[3].name, good[8].name


@pytest.fixture(scope="module")
def screened(photos, shared_workspace, tmp_path_factory):
    """What the look at them found, and the store with their features."""
    store = FeatureStore(tmp_path_factory.mktemp("store"))
    fractions = [0.0]

    def forward(fraction, step):
        assert fractions[-1] <= fraction <= 1, f"the bar runs back: {step}"
        fractions.append(fraction)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_WORKSPACE", str(shared_workspace))
        return screen_photos(scan(photos[0]), ORDER, store, forward), store


def test_what_hides_among_the_good_photos_is_found(photos, screened, monkeypatch):
    (folder, blurred, copied), (screening, store) = photos, screened
    topics = {photo.sample.name: {finding.topic for finding in photo.findings} for photo in screening.photos}
    assert BLUR in topics[blurred]
    assert COPY in topics["zz copy.jpg"]
    first = [photo.sample.name for photo in screening.photos[:4]]
    assert "lined.jpg" in first
    assert {name for name, topic in topics.items() if PRODUCT in topic} == {"board part_000.jpg", "board part_001.jpg"}
    others = set(topics) - {blurred, copied, "zz copy.jpg", "lined.jpg"}
    assert sum(bool(topics[name]) for name in others if "board" not in name) <= 1
    assert f"{len(screening.unusual)} of 34 good photos are unusual." == screening.sentence()

    def run(*_):
        raise AssertionError("the network is run again")

    monkeypatch.setattr(Backbone, "run", run)
    assert screen_photos(scan(folder), ORDER, store, silent) == screening


def test_the_scratch_lies_where_the_ring_is(screened):
    (photo,) = [photo for photo in screened[0].photos if photo.sample.name == "lined.jpg"]
    height, width = photo.sample.size
    mask = read_mask(SAMPLES / "flange/ground_truth/scratch/part_092_mask.png", (height, width))
    x, y = round(photo.peak_cell[0] * width), round(photo.peak_cell[1] * height)
    assert mask[max(0, y - 30) : y + 30, max(0, x - 30) : x + 30].any()


def test_few_photos_are_not_compared_and_a_damaged_one_is_listed(product, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    for path in sorted((product / "train/good").iterdir())[:4]:
        shutil.copy(path, folder)
    samples = scan(folder)
    (folder / samples.good[0].name).write_bytes(b"no image")
    screening = screen_photos(samples, ORDER, FeatureStore(tmp_path / "store"), silent)
    assert "too few to detect outliers;" in screening.sentence()
    assert [name for name, _ in screening.skipped] == [samples.good[0].name]
    assert not screening.unusual


def test_a_look_can_be_stopped(photos, tmp_path):
    def stop(fraction, step):
        if fraction > 0.1:
            raise Cancelled

    with pytest.raises(Cancelled):
        screen_photos(scan(photos[0]), ORDER, FeatureStore(tmp_path), stop)
