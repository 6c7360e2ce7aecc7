"""What may come to lie where Loupe keeps features, exported networks and labels: a miss, never an error or a wait."""

import io
import os
import stat
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.features.store import FeatureStore
from inspect_core.line.journal import journal_of, rows_kept
from inspect_core.runtime import atomic_write
from inspect_core.runtime import workspace as workspace_module
from inspect_core.sharding.checkpoints import ShardCheckpoints
from tests.examples import examples

SHAPE = (1, 3, 4, 5)
HAND = SimpleNamespace(
    product="part", scored=SimpleNamespace(photos=[SimpleNamespace(digest="a", label="dent", is_defect=True)])
)
SOUND = np.arange(60, dtype=np.float32).reshape(SHAPE)

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes, devices and links as on Unix"),
    pytest.mark.usefixtures("no_waiting"),
]


def saved(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def sealed(body):
    """A body with the check that the store writes under the key "part", so that only the content is wrong."""
    return body + zlib.crc32(body, zlib.crc32(b"part")).to_bytes(4, "little")


def with_value(value):
    changed = SOUND.copy()
    changed[0, 1, 2, 3] = value
    return sealed(saved(changed))


def claiming(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return sealed(buffer.getvalue() + SOUND.tobytes())


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("features.npy", saved(SOUND))
    return sealed(buffer.getvalue())


CONTENTS = {
    "nothing": b"",
    "a check of nothing": sealed(b""),
    "text": b"Dear store,\nplease send features.\n",
    "not a number": with_value(np.nan),
    "infinite": with_value(-np.inf),
    "another shape": sealed(saved(SOUND[0])),
    "another order of the shape": sealed(saved(SOUND.reshape(1, 4, 3, 5))),
    "a longer array": sealed(saved(np.zeros((2, 3, 4, 5), np.float32))),
    "float64": sealed(saved(SOUND.astype(float))),
    "integers": sealed(saved(SOUND.astype(np.int32))),
    "the other byte order": sealed(saved(SOUND.astype(">f4"))),
    "columns first": sealed(saved(np.asfortranarray(SOUND))),
    "objects": sealed(saved(SOUND.astype(object), allow_pickle=True)),
    "a zip": zipped(),
    "a claim of much": claiming((10**6, 10**6)),
    "a claim beyond 64 bits": claiming((10**30,)),
    "a claim below nothing": claiming((-1, 60)),
    "a deep header": sealed(saved(SOUND)[:10] + b"(" * 5_000 + saved(SOUND)[10:]),
    "cut short": sealed(saved(SOUND)[:-1]),
    "one value more": sealed(saved(SOUND) + bytes(4)),
}


def folder(path, _):
    path.mkdir()


def full_folder(path, _):
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def sparse(path, _):
    path.touch()
    os.truncate(path, 2**40)


def unreadable(path, sound):
    path.write_bytes(sound)
    path.chmod(0)


def link_to_a_sound_one(path, sound):
    target = path.parent.parent / "elsewhere.npy"
    target.write_bytes(sound)
    path.symlink_to(target)


def device(path, _):
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only the superuser makes devices")


PLACED = {
    "a folder": folder,
    "a full folder": full_folder,
    "a terabyte of nothing": sparse,
    "unreadable": unreadable,
    "a pipe": lambda path, _: os.mkfifo(path),
    "a link to itself": lambda path, _: path.symlink_to(path),
    "a link to nothing": lambda path, _: path.symlink_to(path.parent / "gone"),
    "a link to a device": lambda path, _: path.symlink_to("/dev/zero"),
    "a link to a sound entry": link_to_a_sound_one,
    "a device": device,
} | {name: (lambda path, _, content=content: path.write_bytes(content)) for name, content in CONTENTS.items()}
"""What lies in the place of a sound file: a function of its path and of the sound content."""


def entry(folder):
    """The path of the only entry of a store, and its content; removed."""
    FeatureStore(folder).put("part", SOUND)
    (path,) = folder.glob("*.npy")
    content = path.read_bytes()
    path.unlink()
    return path, content


def filled(store: FeatureStore) -> None:
    """Beyond its limit: the least recently used go, and what was put last is there."""
    for number in range(10):
        store.put(str(number), SOUND)
    assert np.array_equal(store.get("9", SHAPE), SOUND)


@pytest.mark.parametrize("what", PLACED)
def test_anything_in_an_entrys_place_is_a_miss_and_replaced(tmp_path, what):
    if what == "unreadable" and os.geteuid() == 0:
        pytest.skip("the superuser can read everything")
    path, sound = entry(tmp_path / "store")
    PLACED[what](path, sound)
    store = FeatureStore(path.parent, limit=2_000)
    assert store.get("part", SHAPE) is None
    store.put("part", SOUND)
    if "folder" not in what:
        assert np.array_equal(store.get("part", SHAPE), SOUND)
    filled(store)
    assert store.bytes_used() <= 2_000
    assert store.would_fit(2_000)
    if what == "a full folder":
        assert (path / "notes.txt").read_text() == "mine"
    if what == "a link to a sound entry":
        assert (tmp_path / "elsewhere.npy").read_bytes() == sound


@pytest.mark.parametrize("name", ["a.npy", "a.part", "kept"])
@pytest.mark.parametrize("what", ["a folder", "a pipe", "a link to itself", "a link to a device", "text"])
def test_a_store_opens_on_whatever_lies_beside_its_entries(tmp_path, what, name):
    PLACED[what](tmp_path / name, b"")
    filled(FeatureStore(tmp_path, limit=2_000))


@given(st.binary(max_size=600), st.booleans())
@settings(deadline=None, max_examples=examples(200))
def test_any_content_but_the_sound_one_is_a_miss(tmp_path_factory, noise, after_the_header):
    path, sound = entry(tmp_path_factory.mktemp("store"))
    content = sealed((sound[:128] if after_the_header else b"") + noise)
    path.write_bytes(content)
    result = FeatureStore(path.parent).get("part", SHAPE)
    assert result is None or (result.tobytes() == content[128:-4] and np.isfinite(result).all())


@pytest.mark.parametrize("what", PLACED)
def test_whatever_lies_in_a_shards_place_is_missing(workspace, what):
    if what == "unreadable" and os.geteuid() == 0:
        pytest.skip("the superuser can read everything")
    work = ShardCheckpoints([b"a run"])
    work.put(0, b"shard 0")
    path = work.folder / "0"
    sound = path.read_bytes()
    path.unlink()
    PLACED[what](path, sound)
    assert work.get(0) is None
    assert work.numbers() == {0}


@pytest.mark.parametrize("what", PLACED)
def test_foreign_files_among_unfinished_records_are_ignored(workspace, what):
    records = workspace / "unfinished"
    records.mkdir()
    PLACED[what](records / ("a" * 32), b"")
    folder = workspace / f".loupe-{'b' * 32}"
    folder.mkdir()
    (records / ("b" * 32)).write_bytes(os.fsencode(folder))
    atomic_write.clear()
    assert not folder.exists()


WORDS = {
    "cut short": "{",
    "a deep list": "[" * 100_000,
    "a deep map": '{"a": ' * 100_000,
    "a long number": "1" + "0" * 10_000,
    "infinite": '{"a": 1e400}',
    "a map for a word": '{"a": {"b": 1}}',
    "no word": '{"a": null}',
    "a byte order mark": "\ufeff{}",
}
LABELS = PLACED | {f"text: {name}": (lambda path, _, text=text: path.write_text(text)) for name, text in WORDS.items()}


@pytest.mark.parametrize("what", LABELS)
def test_unreadable_labels_are_asked_for_again(workspace, what):
    from inspect_core.workbench import defect_labels

    LABELS[what](workspace / "kinds.json", b"")
    assert defect_labels.labels_of(HAND) == {0: "dent"}


@pytest.mark.parametrize("what", ["a folder", "a pipe", "a link to a device", "a device"])
def test_what_lies_in_a_journals_place_has_no_rows(tmp_path, what):
    PLACED[what](journal_of(tmp_path / "verdicts.csv"), b"")
    assert rows_kept(tmp_path / "verdicts.csv") == 0


def test_only_an_ordinary_file_has_content(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert workspace_module.content(tmp_path / "file", at_most=5) == b"12345"
    assert workspace_module.content(tmp_path / "file", at_most=4) is None
    assert workspace_module.content(tmp_path / "file" / "below", at_most=5) is None
    assert workspace_module.content(tmp_path / ("long" * 100), at_most=5) is None


@pytest.mark.parametrize("what", ["a folder", "a pipe", "a link to a device", "a link to a sound entry", "a device"])
def test_file_that_changes_its_kind_on_opening_is_refused(tmp_path, monkeypatch, what):
    (tmp_path / "store").mkdir()
    PLACED[what](tmp_path / "store" / "file", b"12345")
    monkeypatch.setattr(workspace_module, "regular_file_stat", lambda path: True)
    with pytest.raises(OSError, match=r"."):
        workspace_module.open_regular_file(tmp_path / "store" / "file")
    assert workspace_module.content(tmp_path / "store" / "file", at_most=5) is None
