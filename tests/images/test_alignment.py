"""Alignment: exact poses found again, failures that are said, one warp with a mask of what it leaves empty."""

import json
import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images import alignment, registration
from inspect_core.images.alignment import Alignment, NotLocated, ValueRange, learn_alignment
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_reader import read, squash
from inspect_core.images.registration import Keypoints
from tests.examples import examples

pytestmark = pytest.mark.slow
SAMPLES = Path(__file__).parents[2] / "sample_data"
SIDE = 320


def belt(rng, side=SIDE):
    """(side, side, 3) uint8: a ribbed belt."""
    ribs = 45 + 12 * np.sin(2 * np.pi * (np.arange(side)[:, None] + rng.uniform(0, 16)) / 16)
    grain = cv2.GaussianBlur(rng.normal(0, 12, (side, side)), (5, 5), 0)
    return np.repeat(np.clip(ribs + grain, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def lying(part, rng, *, x=0.0, y=0.0, turn=0.0, size=0.75, light=1.0, ground=None):
    """A photo of a part, shifted by shares of the side and turned clockwise by degrees, and its pixels' matrix."""
    middle = (part.shape[0] - 1) / 2
    pose = cv2.getRotationMatrix2D((middle, middle), -turn, size * SIDE / part.shape[0])
    pose[:, 2] += (SIDE - 1) / 2 - middle + SIDE * np.array([x, y])
    ground = belt(rng) if ground is None else ground
    overlay = cv2.warpAffine(part, pose, (SIDE, SIDE), flags=cv2.INTER_AREA)
    cover = cv2.warpAffine(np.full(part.shape[:2], 255, np.uint8), pose, (SIDE, SIDE))[:, :, None] / 255
    photo = light * (cover * overlay + (1 - cover) * ground) + rng.normal(0, 2, (SIDE, SIDE, 1))
    return np.clip(photo, 0, 255).astype(np.uint8), pose


def drawn(rng):
    """A pose as a conveyor gives it."""
    x, y, turn = rng.uniform(-1, 1, 3) * (0.08, 0.08, 10)
    return {"x": x, "y": y, "turn": turn, "light": rng.uniform(0.85, 1.1)}


@pytest.fixture(scope="module")
def part():
    return read(SAMPLES / "board" / "train" / "good" / "part_000.jpg").pixels


@pytest.fixture(scope="module")
def learned(part):
    rng = np.random.default_rng(0)
    return learn_alignment(lying(part, rng, **drawn(rng))[0] for _ in range(12))


def on_reference(located, pose):
    """(3, 2): where three points of the part lie on the reference."""
    return [located.to_reference(pose @ (*point, 1)) for point in ((40, 50), (280, 60), (150, 290))]


def test_a_moved_part_is_found_to_a_fraction_of_a_pixel(part, learned):
    rng, places = np.random.default_rng(1), []
    for _ in range(8):
        photo, pose = lying(part, rng, **drawn(rng))
        located = learned.locate(photo)
        places.append(on_reference(located, pose))
        assert located.to_photo(located.to_reference((10.0, 20.0))) == pytest.approx((10, 20))
    off = np.linalg.norm(np.array(places) - np.mean(places, axis=0), axis=-1) * 256 / SIDE
    assert np.median(off) < 0.25
    assert off.max() < 1


def test_shift_turn_and_scale_are_those_of_the_part(part):
    rng = np.random.default_rng(2)
    photos = [lying(part, rng, **drawn(rng), size=0.75 * rng.uniform(0.97, 1.03))[0] for _ in range(8)]
    learned = learn_alignment(photos, scale=True)
    ways = {}, {"turn": 6, "x": 0.05, "y": -0.03}, {"size": 0.765}
    level, turned, large = (learned.locate(lying(part, rng, **way)[0]) for way in ways)
    assert turned.angle - level.angle == pytest.approx(6, abs=0.1)
    assert large.scale / level.scale == pytest.approx(1.02, abs=0.003)
    assert np.subtract(turned.shift, level.shift) == pytest.approx((0.05, -0.03), abs=0.02)


def test_part_with_a_missing_piece_is_located_by_the_rest(part, learned):
    rng, places = np.random.default_rng(10), []
    for _ in range(8):
        whole, pose = lying(part, rng, **drawn(rng))
        turn, y, x = rng.uniform(0, 2 * np.pi), *np.mgrid[:SIDE, :SIDE] - SIDE / 2
        missing = x * np.cos(turn) + y * np.sin(turn) > rng.uniform(25, 80)  # up to two fifths of it
        located = learned.locate_or_raise(np.where(missing[..., None], belt(rng), whole))
        places.append(on_reference(located, pose))
        assert located.correlation < 0.95
    whole, pose = lying(part, rng)
    assert (
        np.linalg.norm(np.subtract(places, on_reference(learned.locate_or_raise(whole), pose)), axis=-1).max()
        * 256
        / SIDE
        < 1
    )


def test_part_taught_at_rest_is_found_within_the_stated_range(part):
    rng = np.random.default_rng(11)
    still = [lying(part, rng)[0] for _ in range(4)]
    usual, narrow = learn_alignment(still), learn_alignment(still, turn=3, shift=0.02)
    ways = [dict(zip(("x", "y", "turn"), rng.uniform(-1, 1, 3) * (0.05, 0.05, 8), strict=True)) for _ in range(10)]
    assert all(usual.locate(lying(part, rng, **way)[0]) for way in ways)
    assert usual.ranges["angle"].low <= -10
    assert usual.ranges["y"].high >= 0.1
    for way, reason in (({"turn": 7}, "rotated"), ({"x": 0.06}, "sideways")):
        with pytest.raises(NotLocated, match=reason):
            narrow.locate_or_raise(lying(part, rng, **way)[0])
    assert narrow.locate(lying(part, rng, x=0.01, turn=-2)[0])


def test_photo_just_outside_is_reported_with_enough_decimals(part):
    rng = np.random.default_rng(4)
    learned = learn_alignment([lying(part, rng)[0] for _ in range(4)])
    photo = lying(part, rng, turn=3)[0]
    angle = learned.locate_or_raise(photo).angle
    just = replace(learned, ranges=learned.ranges | {"angle": ValueRange(-5.0, float(angle) - 1e-4)})
    with pytest.raises(NotLocated) as refused:
        just.locate_or_raise(photo)
    value, low, high = re.findall(r"-?\d+\.\d+(?=°)", str(refused.value))
    assert float(value) > float(high)
    assert low.startswith("-5.0")


@pytest.mark.parametrize(("side", "matches"), [(250, True), (125, True), (50, False)])
def test_features_that_agree_in_one_corner_alone_give_no_pose(side, matches):
    rng = np.random.default_rng(12)
    points, codes = rng.uniform(0, 250, (500, 2)).astype(np.float32), rng.integers(0, 256, (500, 32), np.uint8)
    corner = points.max(axis=1) < side
    assert corner.sum() >= registration.FEWEST
    poses = registration.poses_from_keypoints(
        Keypoints(points, codes), Keypoints(points[corner] + 9, codes[corner]), scale=False
    )
    assert [pose.pose[:, 2] == pytest.approx((9, 9), abs=1e-3) for pose in poses] == [True] * matches


def two_parts(part, rng, size=0.48):
    return lying(part, rng, size=size, x=0.25, ground=lying(part, rng, size=size, x=-0.25)[0])[0]


HOSTILE = {
    "one tone": (lambda part, rng: np.full((SIDE, SIDE, 3), 90, np.uint8), "uniform"),
    "noise": (lambda part, rng: rng.integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8), ""),
    "no part": (lambda part, rng: belt(rng), ""),
    "half outside": (lambda part, rng: lying(part, rng, x=0.5)[0], ""),
    "mirrored": (lambda part, rng: lying(np.ascontiguousarray(part[:, ::-1]), rng)[0], ""),
    "upside down": (lambda part, rng: lying(part, rng, turn=180)[0], "rotated by -?1[78]"),
    "two parts": (two_parts, ""),
    "another ratio": (lambda part, rng: lying(part, rng)[0][:200], "200 px, and the reference"),
    "turned too far": (lambda part, rng: lying(part, rng, turn=40)[0], "rotated by 4[0-9]"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_not_found_is_said(part, learned, case):
    make, reason = HOSTILE[case]
    photo = make(part, np.random.default_rng(3))
    with pytest.raises(NotLocated, match=reason or "."):
        learned.locate_or_raise(photo)
    assert learned.locate(photo) is None


def test_two_parts_of_the_size_that_was_taught_are_told(part):
    rng = np.random.default_rng(4)
    small = learn_alignment(lying(part, rng, **drawn(rng), size=0.45)[0] for _ in range(6))
    with pytest.raises(NotLocated, match="two parts"):
        small.locate_or_raise(two_parts(part, rng, 0.45))


def test_a_pose_beside_the_photo_correlates_with_nothing():
    picture, everywhere = np.random.default_rng(0).integers(0, 256, (40, 60), np.uint8), np.ones((40, 60), bool)
    for shift in (100, -100):
        pose = np.array([[1.0, 0, shift], [0, 1, 0]])
        assert registration.correlation(picture, everywhere, picture, pose) == -1


@pytest.mark.usefixtures("unhurried")
def test_a_part_of_little_texture_is_found_by_phase_correlation():
    """A bent bar out of focus: no corner that a feature could hold on to."""
    rng = np.random.default_rng(5)
    shape = np.full((240, 240, 3), 60, np.uint8)
    cv2.ellipse(shape, (110, 130), (80, 34), 20, 0, 360, (190, 190, 190), -1)
    cv2.circle(shape, (160, 90), 26, (150, 150, 150), -1)
    shape = cv2.GaussianBlur(shape, (0, 0), 7)
    even = np.full((SIDE, SIDE, 3), 60, np.uint8)
    photos = [lying(shape, rng, **drawn(rng), size=0.9, ground=even) for _ in range(6)]
    learned = learn_alignment(photo for photo, _ in photos)
    assert learned.ranges["share"].low <= 0
    places = [learned.locate(photo).to_reference(pose @ (120, 110, 1)) for photo, pose in photos]
    assert np.linalg.norm(places - np.mean(places, axis=0), axis=1).max() < 1.5


def test_a_part_that_looks_the_same_turned_is_told_as_ambiguous():
    rng = np.random.default_rng(6)
    shape = np.full((240, 240, 3), 150, np.uint8)
    for sign in (-1, 1):
        for x, y in ((70, 20), (35, 80), (90, 60)):
            middle = np.array([120 + sign * x, 120 + sign * y])
            cv2.rectangle(shape, middle - np.array([9, 6]), middle + np.array([9, 6]), (20, 20, 20), -1)
    photos = [lying(shape, rng, x=0.02 * rng.uniform(-1, 1), turn=3 * rng.uniform(-1, 1))[0] for _ in range(6)]
    learned = learn_alignment(photos)
    assert 180 in learned.symmetry_angles
    assert any("180°" in sentence for sentence in learned.sentences())
    assert learned.locate(photos[0]).ambiguous


@pytest.mark.parametrize(
    ("photos", "reason"),
    [
        ([np.full((64, 64, 3), 9, np.uint8)] * 4, "uniform"),
        ([np.zeros((64, 64, 3), np.uint8)] * 2, "at least 3"),
        ([np.zeros((64, 64 + 16 * i, 3), np.uint8) for i in range(3)], "different shapes"),
        ([belt(np.random.default_rng(i)) for i in range(4)], "not reliably"),
    ],
)
def test_photos_that_teach_no_alignment_are_refused(photos, reason):
    with pytest.raises(ValueError, match=reason):
        learn_alignment(photos)


@pytest.mark.usefixtures("unhurried")
def test_photos_of_two_sizes_are_aligned_but_no_other_shape(part, learned):
    rng = np.random.default_rng(12)
    photos = [lying(part, rng, **drawn(rng))[0] for _ in range(10)]
    photos[1::2] = [cv2.resize(photo, (480, 480), interpolation=cv2.INTER_CUBIC) for photo in photos[1::2]]
    of_two_sizes = learn_alignment([*photos, photos[0][:200]])
    assert of_two_sizes.photos_seen == len(photos)
    photo, pose = lying(part, rng, turn=4)
    places = [on_reference(of_two_sizes.locate_or_raise(photo), pose)]
    wide = np.diag([1.5, 1.5]) @ pose + [[0, 0, 0.25], [0, 0, 0.25]]
    large = cv2.resize(photo, (480, 480), interpolation=cv2.INTER_CUBIC)
    places.append(on_reference(of_two_sizes.locate_or_raise(large), wide))
    assert np.abs(np.diff(places, axis=0)).max() < 1


@pytest.mark.parametrize("how", [{"turn": -1}, {"turn": 181}, {"shift": 0.6}, {"shift": float("nan")}])
def test_impossible_turn_or_shift_is_refused_before_reading(how):
    with pytest.raises(ValueError, match="give 0° to 180° and 0% to 50%"):
        learn_alignment(iter(lambda: pytest.fail("a photo was read"), None), **how)


def test_it_comes_back_from_its_arrays_as_it_was(part, learned):
    assert (learned.symmetry_angles, max(learned.reference.shape)) == ((), alignment.SIDE)
    restored = Alignment.from_arrays(learned.arrays(), json.loads(json.dumps(learned.params())))
    photo, _ = lying(part, np.random.default_rng(7), x=0.03, turn=4)
    assert np.array_equal(restored.locate(photo).matrix, learned.locate(photo).matrix)
    assert {value.dtype for value in learned.arrays().values()} == {np.dtype(np.uint8)}
    with pytest.raises(ValueError, match="reference is"):
        Alignment.from_arrays(learned.arrays() | {"reference": np.zeros((4, 5, 3), np.uint8)}, learned.params())


def test_a_fine_step_that_does_not_converge_is_no_answer(part, learned, monkeypatch):
    def fails(*_):
        raise cv2.error("it does not converge")

    monkeypatch.setattr(registration.cv2, "findTransformECCWithMask", fails)
    assert learned.locate(lying(part, np.random.default_rng(8))[0]) is None


def placed(photo, turn=0.0, x=0.0, y=0.0):
    """A photo of this (height, width) that lies as the reference, or so turned, in radians, and shifted, in pixels."""
    c, s = np.cos(turn), np.sin(turn)
    return PartPose(np.array([[c, -s, x], [s, c, y]]), photo, photo, 1, 1, 1)


def test_photo_at_the_reference_is_unchanged_and_gaps_are_masked(part):
    located = placed(part.shape[:2])
    assert np.array_equal(located.squash(part, part.shape[:2]), part)
    assert not located.empty((96, 64)).any()
    half = located.squash(part, (160, 160))
    assert np.abs(half.astype(int) - part.reshape(160, 2, 160, 2, 3).mean(axis=(1, 3))).max() <= 1
    assert np.abs(half.astype(int) - squash(part, (160, 160))).mean() < 4
    stripes = np.tile(np.uint8([0, 255] * 512)[None, :, None], (1024, 1, 3))
    assert placed((1024, 1024)).squash(stripes, (128, 128)).std() < 2, "averaged: sampled, they would show a moiré"
    shifted = placed(part.shape[:2], x=80)
    assert np.array_equal(shifted.empty((64, 64)), np.broadcast_to(np.arange(64) < 16, (64, 64)))
    assert np.array_equal(shifted.squash(part, (320, 320))[:, 80:], part[:, :-80])
    assert shifted.to_reference((0, 0)) == (80, 0)


@given(
    st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 40), st.integers(1, 40)),
    st.floats(-0.5, 0.5),
    st.floats(-30, 30),
)
@settings(deadline=None, max_examples=examples(50))
def test_a_box_in_the_photo_covers_the_box_on_the_map(place, turn, shift):
    left, top, wide, high = place
    located = placed((300, 200), turn, shift, 2 * shift)
    x0, y0, x1, y1 = located.box_in_photo((left, top, left + wide, top + high), (128, 128))
    assert 0 <= x0 < x1 <= 200
    assert 0 <= y0 < y1 <= 300
    x, y = located.to_photo(((left + wide / 2) * 200 / 128 - 0.5, (top + high / 2) * 300 / 128 - 0.5))
    if 0 <= x <= 199 and 0 <= y <= 299:
        assert x0 - 0.5 <= x <= x1 - 0.5
        assert y0 - 0.5 <= y <= y1 - 0.5


def test_maps_lie_over_the_part_and_masks_over_the_map():
    located = placed((300, 200), 0.2, 30, -25)
    marked = np.zeros((300, 200), bool)
    marked[140:170, 90:120] = True
    on_map = located.mask(marked, (150, 100))
    assert on_map.sum() == pytest.approx(marked.sum() / 4, rel=0.05)
    values, is_inside = located.over_photo(on_map.astype(np.float32), (300, 200))
    assert values[145:165, 95:115].min() > 0.9
    assert values[~cv2.dilate(marked.astype(np.uint8), np.ones((9, 9))).astype(bool) & is_inside].max() == 0
    corner = located.to_reference((0, 0))
    assert is_inside[0, 0] == (-0.5 <= corner[0] <= 199.5 and -0.5 <= corner[1] <= 299.5)
    assert 0.5 < is_inside.mean() < 1


def spike(rng, *, hooked=True):
    """(H, W, 4) uint8: a long part with a thread, a head at one end and, hooked, a barb on one side; its cover last."""
    height, width = 90, 600
    cover = np.zeros((height, width), np.uint8)
    cv2.fillPoly(cover, [np.array([(20, 45), (60, 36), (480, 36), (540, 14), (540, 76), (480, 54), (60, 54)])], 255)
    if hooked:
        cv2.fillPoly(cover, [np.array([(150, 50), (260, 50), (260, 84)])], 255)
    thread = 150 + 60 * np.sin(2 * np.pi * (np.arange(width) / 13 + rng.uniform()))
    grey = np.clip(np.tile(thread, (height, 1)) + rng.normal(0, 4, (height, width)), 0, 255).astype(np.uint8)
    return np.dstack([grey, grey, grey, cover])


def thrown(part, rng, *, turn, size=0.85):
    """A photo of a long part at any angle on a belt, and its pixels' matrix."""
    height, width = part.shape[:2]
    pose = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), -turn, size * SIDE / width)
    pose[:, 2] += np.array([(SIDE - width) / 2, (SIDE - height) / 2]) + SIDE * rng.uniform(-0.04, 0.04, 2)
    overlay = cv2.warpAffine(part, pose, (SIDE, SIDE), flags=cv2.INTER_AREA).astype(float)
    ground = belt(rng)
    photo = ground + overlay[..., 3:] / 255 * (overlay[..., :3] - ground) + rng.normal(0, 2, (SIDE, SIDE, 1))
    return np.clip(photo, 0, 255).astype(np.uint8), pose


@pytest.fixture(scope="module")
def by_outline(unhurried):
    """Of parts whose thread lies differently in each, which are also nearer or farther."""
    rng = np.random.default_rng(20)
    photos = [
        thrown(spike(rng), rng, turn=rng.uniform(-180, 180), size=0.85 * rng.uniform(0.96, 1.04))[0] for _ in range(12)
    ]
    return learn_alignment(photos, scale=True, turn=180)


def test_the_edge_of_a_photo_is_beyond_reach_of_a_long_part(by_outline):
    """Its reach is 18 px at 256; other parts, which may fill the photo, are inspected up to 10 px from its edge."""
    rng, nearest = np.random.default_rng(22), []
    for _ in range(10):
        photo, _ = thrown(spike(rng), rng, turn=rng.uniform(-180, 180))
        covered = ~by_outline.locate_or_raise(photo).empty((SIDE, SIDE))
        distance = cv2.distanceTransform(covered.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        nearest.append(distance[by_outline.known((SIDE, SIDE))].min() * 256 / SIDE)
    assert np.median(nearest) > 18


def test_ground_beside_a_long_part_is_not_inspected(by_outline):
    rng = np.random.default_rng(25)
    photo, pose = thrown(spike(rng), rng, turn=35)
    located = by_outline.locate_or_raise(photo)
    alpha = cv2.warpAffine(spike(rng)[..., 3], pose, (SIDE, SIDE)) > 127
    on_part = located.mask(alpha, by_outline.photo_size)
    inspected = by_outline.known(by_outline.photo_size)
    assert inspected[on_part].mean() > 0.97, "all but its ends, which lie close to the edge of the photo"
    distance = cv2.distanceTransform((~on_part).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    assert 2 < distance[inspected].max() < 0.1 * SIDE


def test_long_part_at_any_angle_is_found_by_its_outline(by_outline):
    assert by_outline.outlined
    rng, places = np.random.default_rng(21), []
    for turn in np.linspace(-175, 175, 25):
        photo, pose = thrown(spike(rng), rng, turn=turn, size=0.85 * rng.uniform(0.96, 1.04))
        places.append(
            [by_outline.locate_or_raise(photo).to_reference(pose @ (*point, 1)) for point in ((20, 45), (540, 45))]
        )
    off = np.linalg.norm(np.array(places) - np.median(places, axis=0), axis=-1) * 256 / SIDE
    along = np.diff(places, axis=1)[:, 0] @ (1, 1j)
    assert (off.max(axis=1) < 1).sum() >= 24
    assert np.abs(np.angle(along / np.median(along), deg=True)).max() < 0.5


def test_a_mirrored_and_a_foreign_long_part_are_refused(by_outline):
    rng = np.random.default_rng(22)
    bar = spike(rng, hooked=False)
    bar[..., 3] = 0
    bar[25:65, 60:520, 3] = 255
    for turn in np.linspace(-150, 180, 6):
        for part in (spike(rng)[::-1], bar):
            with pytest.raises(NotLocated):
                by_outline.locate_or_raise(thrown(part, rng, turn=turn)[0])


def test_two_long_parts_and_one_cut_by_the_edge_are_refused(by_outline):
    rng = np.random.default_rng(23)
    photo, _ = thrown(spike(rng), rng, turn=5)
    with pytest.raises(NotLocated, match="two parts"):
        by_outline.locate_or_raise(np.maximum(photo, np.roll(photo, 110, axis=0)))
    with pytest.raises(NotLocated):
        by_outline.locate_or_raise(np.roll(photo, 60, axis=1))


def test_outlined_reference_is_stored_and_older_ones_are_read(by_outline, learned):
    restored = Alignment.from_arrays(by_outline.arrays(), json.loads(json.dumps(by_outline.params())))
    assert restored.outlined
    assert restored.digest == by_outline.digest
    assert not Alignment.from_arrays(learned.arrays(), learned.params()).outlined
    assert "outline" in by_outline.sentences()[1]


def test_a_round_part_says_that_it_has_no_angle():
    rng, disc = np.random.default_rng(24), np.zeros((200, 200, 4), np.uint8)
    for radius, grey in ((95, 150), (60, 190), (25, 110)):
        cv2.circle(disc, (100, 100), radius, (grey, grey, grey, 255), -1)
    with pytest.raises(ValueError, match="round"):
        learn_alignment([thrown(disc, rng, turn=rng.uniform(-180, 180), size=0.6)[0] for _ in range(6)], turn=180)


@pytest.mark.usefixtures("unhurried")
def test_a_bar_that_is_the_same_turned_by_half_says_so():
    rng, bar = np.random.default_rng(25), np.zeros((90, 600, 4), np.uint8)
    bar[30:60, 40:560] = (170, 170, 170, 255)
    learned = learn_alignment([thrown(bar, rng, turn=rng.uniform(-180, 180))[0] for _ in range(10)], turn=180)
    assert learned.symmetry_angles == (180,)
    assert learned.locate_or_raise(thrown(bar, rng, turn=70)[0]).ambiguous
