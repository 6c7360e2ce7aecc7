"""The sample parts on a conveyor: the same parts, lying where `pose` says."""

import csv

import numpy as np
import pytest

from inspect_core.cli.commands import main
from inspect_core.images.alignment import learn_alignment
from sample_data.make import products
from sample_data.make.conveyor import RIGID, SCALED

pytestmark = pytest.mark.usefixtures("unhurried")


def test_poses_are_exact():
    """Points of the part come to lie at one place each on a reference learned without them."""
    photos = [products.render("board", index, conveyor=RIGID)[0] for index in range(4)]
    learned, part = learn_alignment(photos), np.array([(-20.0, -20), (20, -15), (0, 22)])
    places = []
    for index, photo in enumerate(photos):
        pose = products.pose("board", index, conveyor=RIGID)
        observed = (
            np.array([pose.place(*point) for point in part]) / pose.field * products.SIZE + (products.SIZE - 1) / 2
        )
        places.append([learned.locate(photo).to_reference(tuple(point)) for point in observed])
    off = np.linalg.norm(np.array(places) - np.mean(places, axis=0), axis=2)
    assert off.max() < 0.3


def test_poses_stay_within_what_was_ordered_and_fill_it():
    poses = [products.pose("flange", index, conveyor=SCALED) for index in range(60)]
    fields = np.array([pose.field for pose in poses])
    assert 0.06 < np.abs(np.array([pose.shift for pose in poses]) / fields[:, None]).max() <= 0.08
    assert 8 < np.abs(np.rad2deg([pose.angle for pose in poses])).max() <= 10
    assert 1.04 < fields.max() / fields.min() <= 1.03 / 0.97


def test_defect_changes_only_its_mask_and_a_cut_shows_the_belt():
    good, _ = products.render("flange", 84, conveyor=RIGID)
    image, mask = products.render("flange", 84, defect="stain", conveyor=RIGID)
    assert 0 < mask.mean() < 0.2
    assert not np.array_equal(good, image)
    assert np.abs(good.astype(int) - image)[~mask].max() < 40
    images = {index: products.render("flange", index, defect="cut", conveyor=RIGID) for index in (102, 105)}
    for index, (image, mask) in images.items():
        good, _ = products.render("flange", index, conveyor=RIGID)
        assert 0.02 < mask.mean() < 0.4
        assert image[mask].mean() < 0.6 * good[mask].mean()
    assert not np.array_equal(images[102][1], images[105][1])


def test_the_command_writes_photos_masks_and_poses(tmp_path, monkeypatch):
    monkeypatch.setattr(products, "plan", lambda product: [(0, "train/good/part_000.jpg", None)])
    monkeypatch.setattr(products, "TEST_CUT", 1)
    assert main(["synthetic", "--out", str(tmp_path), "--moved", "rigid"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board_moved", "flange_moved", "linen_moved"]
    assert [path.name for path in tmp_path.glob("*/test/cut/*")] == ["part_001.jpg"]
    row = next(csv.DictReader((tmp_path / "board_moved" / "poses.csv").open()))
    pose = products.pose("board", 0, conveyor=RIGID)
    assert float(row["angle_deg"]) == pytest.approx(np.rad2deg(pose.angle), abs=1e-4)
    assert float(row["x_px"]) == pytest.approx(products.SIZE * pose.shift[0] / pose.field, abs=1e-3)
    assert float(row["size"]) == pytest.approx(1)
