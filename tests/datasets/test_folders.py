"""Scanning folders and archives on disk; the parts have tests of their own."""

import contextlib
import os
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.listing import photos_in
from inspect_core.datasets.photo_tree import resolve_allowed_path


def picture(seed):
    """A picture like no other: smooth enough to keep its difference hash when it is saved again."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((48, 40), Image.Resampling.BICUBIC)


def save(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        picture(zlib.crc32(name.encode())).save(root / name)


def save_mask(root, name, size=(40, 48), value=255):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    mask = np.zeros(size, dtype=np.uint8)
    mask[5:9, 5:9] = value
    Image.fromarray(mask).save(root / name)


@pytest.fixture
def mvtec(tmp_path):
    root = tmp_path / "bottle"
    for folder, count in (("train/good", 10), ("test/good", 4), ("test/crack", 3), ("test/dent", 2)):
        save(root, *(f"{folder}/{number:03}.png" for number in range(count)))
    for number in range(3):
        save_mask(root, f"ground_truth/crack/{number:03}_mask.png")
    save_mask(root, "ground_truth/dent/001.png")
    (root / "readme.txt").write_text("as in the paper")
    return root


def test_mvtec_layout(mvtec):
    samples = scan(mvtec)
    test_names = {sample.name for sample in samples.good if sample.split_side == "test"}
    assert test_names == {f"test/good/00{n}.png" for n in range(4)}
    masks = {sample.name: sample.mask and sample.mask.relative_to(mvtec).as_posix() for sample in samples.defects}
    cracks = {f"test/crack/00{n}.png": f"ground_truth/crack/00{n}_mask.png" for n in range(3)}
    assert masks == cracks | {"test/dent/000.png": None, "test/dent/001.png": "ground_truth/dent/001.png"}
    assert [(skipped.name, skipped.role) for skipped in samples.skipped] == [("readme.txt", "other")]
    assert not [warning for warning in samples.warnings if "nearly the same" in warning or "copied" in warning]
    expected = [("good", 14), ("crack", 3), ("dent", 2), ("masks", 4), ("skipped", 1)]
    assert [(row.what, row.count) for row in samples.table()] == expected
    assert samples.table()[0].remark == "10 in train/, 4 in test/"
    assert samples.summary() == "14 good, 5 defects of 2 types, 4 masks, 1 skipped"


def test_a_flat_folder_is_good(tmp_path):
    save(tmp_path, "b.png", "a.jpg", "c.bmp", "d.tif", "e.webp")
    samples = scan(str(tmp_path))
    assert [sample.name for sample in samples.good] == ["a.jpg", "b.png", "c.bmp", "d.tif", "e.webp"]
    assert not samples.defects
    assert all(sample.size == (40, 48) and sample.path.is_file() for sample in samples.good)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(1).save(tmp_path / "a.jpg", exif=exif)
    assert scan(tmp_path).good[0].size == (48, 40), "upright"


def test_the_order_of_the_directory_does_not_matter(mvtec, monkeypatch):
    before = scan(mvtec)
    scandir = os.scandir

    @contextlib.contextmanager
    def backwards(folder):
        with scandir(folder) as entries:
            yield list(entries)[::-1]

    monkeypatch.setattr("os.scandir", backwards)
    assert scan(mvtec) == before


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda path: save_mask(path.parent, path.name, size=(20, 48)), "48 × 20 px but its photo is 48 × 40"),
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: picture(3).save(path, "JPEG"), "JPEG"),
        (lambda path: save_mask(path.parent, path.name, value=0), "the mask is empty"),
    ],
)
def test_useless_mask_is_listed_and_its_image_kept(mvtec, problem, reason):
    problem(mvtec / "ground_truth/crack/001_mask.png")
    save_mask(mvtec, "ground_truth/crack/099_mask.png")
    samples = scan(mvtec)
    assert len(samples.good) + len(samples.defects) == 19
    assert [sample.mask for sample in samples.defects if sample.name == "test/crack/001.png"] == [None]
    skipped, stray = (skipped for skipped in samples.skipped if skipped.role == "mask")
    assert (skipped.name, stray.name) == ("ground_truth/crack/001_mask.png", "ground_truth/crack/099_mask.png")
    assert reason in skipped.reason
    assert "without a matching photo" in stray.reason
    assert any("2 masks ignored (ground_truth/crack/001_mask.png, " in warning for warning in samples.warnings)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_zip_gives_what_its_folder_gives(mvtec, tmp_path, workspace, wrapped):
    packed = tmp_path / "upload.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in mvtec.rglob("*.*"):
            archive.write(path, path.relative_to(mvtec.parent if wrapped else mvtec))
        archive.writestr("__MACOSX/._000.png", b"not an image")
    samples, plain = scan(packed), scan(mvtec)
    facts, expected = (
        [(photo.name, photo.label, photo.size) for photo in (*dataset.good, *dataset.defects)]
        for dataset in (samples, plain)
    )
    assert facts == expected
    assert samples.summary() == plain.summary()
    assert samples.root.is_relative_to(workspace)
    assert scan(packed).root == samples.root, "unpacked once"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(mvtec / "test/good/000.png", "parts/a.png")
    assert [sample.name for sample in scan(packed).good] == ["a.png"], "a folder of images alone is entered"


def test_nothing_to_teach_from(tmp_path, workspace):
    with pytest.raises(ScanError, match="does not exist"):
        scan(tmp_path / "none")
    with pytest.raises(ScanError, match="is empty"):
        scan(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ScanError, match="not a list of photos that Loupe knows;"):
        scan(tmp_path / "notes.txt")
    with zipfile.ZipFile(tmp_path / "upload.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    with pytest.raises(ScanError, match=r"No photos in “upload\.zip”: it holds 1 other file"):
        scan(tmp_path / "upload.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "upload.zip").read_bytes()[:60])
    with pytest.raises(ScanError, match="damaged or incomplete zip archive"):
        scan(tmp_path / "cut.zip")
    assert not list(workspace.rglob("*.txt"))
    save(tmp_path, "scratch/a.png")
    with pytest.raises(ScanError, match=r"no good photos, only scratch; put good photos into a folder named good"):
        scan(tmp_path)
    save(tmp_path, "train/bad/a.png", "test/good/a.png")
    with pytest.raises(ScanError, match=r"good photos in test/ only"):
        scan(tmp_path)


def test_one_good_image_is_legal_and_warned_of(tmp_path):
    save(tmp_path, "a.png")
    samples = scan(tmp_path)
    assert "Only one good photo" in samples.warnings[0]
    fit, calibrate, judge = split(samples, seed=0)
    assert [len(fit), len(calibrate), len(judge)] == [1, 0, 0]


def test_foreign_files_are_listed_and_hidden_ones_are_not(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    save(root, "a.png", ".thumbnails/a.png", ".b.png")
    save(outside, "secret.png", "folder/secret.png")
    (root / "link.png").symlink_to(outside / "secret.png")
    (root / "nowhere.png").symlink_to(root / "gone.png")
    (root / "folder").symlink_to(outside / "folder")
    (root / "same.png").symlink_to(root / ".b.png")
    (root / "Thumbs.db").write_bytes(b"x")
    (root / "labels.csv").write_bytes(b"x")
    no_text = {"b\\udcff.png": "its name contains characters that cannot be displayed"}
    try:
        (root / "b\udcff.png").write_bytes((root / "a.png").read_bytes())
    except OSError:  # this file system refuses such names
        no_text = {}
    samples = scan(root)
    assert [sample.name for sample in samples.good] == ["a.png", "same.png"]
    assert {name: reason.split(";")[0] for name, reason, _ in samples.skipped} == no_text | {
        "link.png": "link to a file outside the folder",
        "nowhere.png": "broken link",
        "folder": "it is a link to a folder",
        "labels.csv": "it is not a photo (.csv)",
    }


def test_name_that_begins_like_its_folder_does_not_vanish(tmp_path):
    names = {"..%2f..%2fx.png", "..x.png", "a.png"}
    folder, archive = tmp_path / "folder", tmp_path / "photos.zip"
    save(folder, *names)
    with zipfile.ZipFile(archive, "w") as new:
        for name in names:
            new.write(folder / name, name)
    for place in (folder, archive):
        samples = scan(place)
        assert {sample.name for sample in samples.good} | {skipped.name for skipped in samples.skipped} == names
    assert {name for name, _ in photos_in([folder])} == names


def test_copies_and_contradictions_are_reported(tmp_path):
    save(tmp_path, *(f"good/{number}.png" for number in range(20)), "scratch/0.png")
    (tmp_path / "scratch/1.png").write_bytes((tmp_path / "good/1.png").read_bytes())
    (tmp_path / "good/copy.png").write_bytes((tmp_path / "good/2.png").read_bytes())
    samples = scan(tmp_path)
    skipped = {skipped.name: skipped.reason for skipped in samples.skipped if skipped.role == "photo"}
    assert skipped == {
        "good/1.png": "the same photo is also scratch (scratch/1.png); remove one of them",
        "good/copy.png": "it is a copy of good/2.png; one photo is one part",
    }
    assert (len(samples.good), len(samples.defects)) == (19, 2)


def test_a_defect_saved_in_another_format_is_not_taught(tmp_path):
    save(tmp_path, *(f"OK/{number}.png" for number in range(8)), "NG/8.png", "NG/9.png")
    with Image.open(tmp_path / "NG/8.png") as image:
        image.convert("RGB").save(tmp_path / "OK/18.bmp")
        image.convert("RGB").save(tmp_path / "OK/28.jpg", quality=92)
    samples = scan(tmp_path)
    assert (len(samples.good), len(samples.defects)) == (8, 2)
    assert {skipped.name for skipped in samples.skipped} == {"OK/18.bmp", "OK/28.jpg"}


def test_blank_and_unreadable_photos_are_named(tmp_path):
    save(tmp_path, *(f"{number}.png" for number in range(6)))
    for number in range(3):
        Image.new("RGB", (48, 40 + number)).save(tmp_path / f"black {number}.png")
    Image.new("RGB", (48, 40)).save(tmp_path / "moving.gif")
    samples = scan(tmp_path, labels="none")
    assert any("3 good photos of one even tone (black 0.png" in line for line in samples.warnings)
    assert [(skipped.name, skipped.role) for skipped in samples.skipped] == [("moving.gif", "photo")]
    assert "save it as PNG" in samples.skipped[0].reason


def test_copies_across_train_and_test_are_pointed_out(mvtec):
    (mvtec / "test/good/000.png").write_bytes((mvtec / "train/good/005.png").read_bytes())
    assert any("copied from another" in warning for warning in scan(mvtec).warnings)


def test_inside_resolves_links_and_keeps_to_the_roots(tmp_path):
    root, outside = tmp_path / "images", tmp_path / "images2"
    save(root, "a.png")
    save(outside, "a.png")
    (root / "link").symlink_to(outside)
    assert resolve_allowed_path(root / "sub" / ".." / "a.png", [tmp_path / "other", root]) == (root / "a.png").resolve()
    assert resolve_allowed_path(root, [root]) == root.resolve()
    for path in (outside, root / "link" / "a.png", root / ".." / "images2", "/etc/passwd"):
        with pytest.raises(ValueError, match=r"is outside the allowed folders \(.*images\)"):
            resolve_allowed_path(path, [root])
    with pytest.raises(ValueError, match=r"allowed folders \(none\)"):
        resolve_allowed_path(root, [])


def test_unreadable_sub_folder_is_named_and_others_are_used(tmp_path, monkeypatch):
    save(tmp_path, *(f"good/{number}.png" for number in range(6)), "locked/0.png")
    scandir = os.scandir

    def refusing(path):
        if os.fspath(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    samples = scan(tmp_path)
    assert len(samples.good) == 6
    assert any(skipped.name == "locked" and "cannot be read" in skipped.reason for skipped in samples.skipped)


def test_a_scan_says_how_far_it_is(product):
    shares = []
    scan(product, report=lambda share, step: shares.append(share))
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert min(shares) >= 0
    assert max(shares) <= 1
