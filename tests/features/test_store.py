"""The feature store: what goes in comes out, within the limit, and never a damaged array."""

import errno
import multiprocessing
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from inspect_core.features.store import FeatureStore
from tests.examples import examples

ONE = (250,)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def entry(value: float, cells: int = 250) -> np.ndarray:
    return np.full((cells,), value, np.float32)


SIZE = 1132
"""What one `entry` takes on disk."""


@pytest.fixture
def store(tmp_path) -> FeatureStore:
    return FeatureStore(tmp_path)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@settings(deadline=None, max_examples=examples(25))
@given(array=arrays.arrays(np.float32, SHAPES, elements=st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_round_trip_to_the_bit(array, tmp_path_factory):
    store = FeatureStore(tmp_path_factory.mktemp("store"))
    store.put("key", array)
    got = store.get("key", array.shape)
    assert got.shape == array.shape
    assert got.dtype == np.float32
    assert got.tobytes() == array.tobytes()


@settings(deadline=None, max_examples=examples(25))
@given(keys=st.lists(st.text(max_size=30), unique=True, min_size=2, max_size=4))
def test_any_text_is_a_key_and_stays_in_the_folder(keys, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "inside"
    store = FeatureStore(folder)
    for number, key in enumerate([*keys, "../../out"]):
        store.put(key, entry(number))
    assert [store.get(key, ONE)[0] for key in keys] == list(range(len(keys)))
    assert {path.parent for path in files(folder.parent)} == {folder}


def test_put_is_seen_by_another_store_and_replaced_by_the_next(store, tmp_path):
    assert store.get("a", ONE) is None
    store.put("a", entry(1))
    other = FeatureStore(tmp_path)
    assert other.get("a", ONE)[0] == 1
    (path,) = files(tmp_path)
    assert other.bytes_used() == path.stat().st_size == SIZE
    assert np.array_equal(np.load(path, allow_pickle=False), entry(1)), "a plain .npy"
    store.put("a", entry(2))
    assert store.get("a", ONE)[0] == 2
    assert store.bytes_used() == SIZE


def test_least_recently_used_entry_goes_first_and_alone(tmp_path):
    store = FeatureStore(tmp_path, limit=3 * SIZE)
    for key in "abc":
        store.put(key, entry(ord(key)))
    store.put("c", entry(3))
    assert store.get("a", ONE) is not None
    store.put("d", entry(4))
    assert [key for key in "abcd" if store.get(key, ONE) is not None] == ["a", "c", "d"]
    assert store.bytes_used() == 3 * SIZE


def test_no_file_of_another_name_is_counted_or_removed(tmp_path):
    theirs = [tmp_path / name for name in ("mine.npy", f"{'a' * 32}.npy", f"{'A' * 64}.npy", f"{'a' * 64}.npy.npy")]
    for path in theirs:
        path.write_bytes(bytes(10_000))
    store = FeatureStore(tmp_path, limit=2 * SIZE)
    for number in range(4):
        store.put(str(number), entry(number))
    assert all(path.is_file() for path in theirs)
    assert store.bytes_used() == 2 * SIZE


def test_the_limit_holds_over_many_puts_of_many_sizes(tmp_path):
    rng = np.random.default_rng(0)
    store = FeatureStore(tmp_path, limit=20_000)
    for number in range(150):
        last = (int(rng.integers(1, 2000)),)
        store.put(str(number), entry(number, *last))
        assert sum(path.stat().st_size for path in files(tmp_path)) <= store.limit
    assert store.get("149", last) is not None


def test_entries_of_another_process_count_towards_the_limit(tmp_path):
    store, other = FeatureStore(tmp_path, limit=4 * SIZE), FeatureStore(tmp_path, limit=4 * SIZE)
    for number in range(3):
        other.put(f"other {number}", entry(number))
    for number in range(5):
        store.put(str(number), entry(number))
    assert store.bytes_used() <= store.limit


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    "damaged",
    [
        *(lambda content, keep=keep: content[:keep] for keep in (0, 3, 60, 500, -1)),
        *(lambda content, place=place: flipped(content, place) for place in (0, 8, 20, 200, 700, -1)),
        lambda content: content[:-4] + zlib.crc32(content[:-4]).to_bytes(4, "little"),  # the key left out
    ],
)
def test_a_damaged_file_is_a_miss_and_removed(store, tmp_path, damaged):
    store.put("a", entry(1))
    (path,) = files(tmp_path)
    path.write_bytes(damaged(path.read_bytes()))
    assert store.get("a", ONE) is None
    assert files(tmp_path) == []
    assert store.bytes_used() == 0
    store.put("a", entry(2))
    assert store.get("a", ONE)[0] == 2


def test_entries_that_changed_places_are_misses(store, tmp_path):
    store.put("a", entry(1))
    (first,) = files(tmp_path)
    store.put("b", entry(2))
    (second,) = set(files(tmp_path)) - {first}
    first.rename(tmp_path / "aside")
    second.rename(first)
    (tmp_path / "aside").rename(second)
    assert store.get("a", ONE) is store.get("b", ONE) is None
    assert files(tmp_path) == []


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros(3, np.int32), np.array([object()]), [1.0]])
def test_only_float32_goes_in(store, tmp_path, array):
    with pytest.raises(ValueError, match="the store takes NumPy float32"):
        store.put("a", array)
    assert files(tmp_path) == []


def test_array_beyond_the_limit_is_refused_without_loss(tmp_path):
    with pytest.raises(ValueError, match="limit is 0 bytes"):
        FeatureStore(tmp_path, limit=0)
    store = FeatureStore(tmp_path, limit=2000)
    store.put("a", entry(1))
    with pytest.raises(ValueError, match=r"array takes 2\d\d\d bytes, the store's limit is 2000"):
        store.put("b", entry(2, 520))
    assert store.get("a", ONE) is not None


def test_would_fit_counts_old_entries_as_room(tmp_path):
    store = FeatureStore(tmp_path, limit=2 * SIZE)
    store.put("a", entry(1))
    store.put("b", entry(2))
    assert store.would_fit(2 * SIZE)
    assert not store.would_fit(2 * SIZE + 1)
    assert not FeatureStore(tmp_path, limit=1 << 62).would_fit(1 << 61)


def test_a_full_disk_is_said_and_leaves_nothing_behind(store, tmp_path):
    resource = pytest.importorskip("resource")
    store.put("a", entry(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError, match="free disk space") as caught:
            store.put("b", entry(2, 100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert len(files(tmp_path)) == 1
    assert store.get("a", ONE) is not None
    assert store.get("b", ONE) is None
    assert store.bytes_used() == files(tmp_path)[0].stat().st_size


def churn(store: FeatureStore, seed: int) -> bool:
    """Puts and gets a few keys at random; False when a get gives anything but what was put under the key."""
    rng = np.random.default_rng(seed)
    right = True
    for _ in range(100):
        number = int(rng.integers(12))
        if rng.random() < 0.5:
            store.put(str(number), entry(number, 2000))
        got = store.get(str(number), (2000,))
        right &= got is None or np.array_equal(got, entry(number, 2000))
    return right


def churn_own(folder: Path, seed: int) -> bool:
    return churn(FeatureStore(folder, limit=40_000), seed)


def test_threads_share_a_folder(tmp_path):
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(churn_own, [tmp_path] * 3, range(3)))


def test_threads_share_a_store(tmp_path):
    store = FeatureStore(tmp_path, limit=40_000)
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(churn, [store] * 3, range(3)))
    assert 0 < store.bytes_used() <= store.limit


@pytest.mark.slow
def test_processes_share_a_folder(tmp_path):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(churn_own, [(tmp_path, seed) for seed in range(2)]) == [True, True]
    assert {path.suffix for path in files(tmp_path)} == {".npy"}
