"""The grid errors of photos in a file: what was appended is read, whatever else is appended meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from inspect_core.study.stored_errors import AppendOnlyArray, StoredErrors

STOPS = ((1, 2, 4), (8, 9))
GRID = (3, 4)


def some_errors(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random((len(stops), *GRID), np.float32) for stops in STOPS]


@pytest.fixture(scope="module")
def stored() -> StoredErrors:
    """Of three photos; the last was photographed again."""
    empty = StoredErrors.empty(STOPS, GRID)
    rows = [[empty.append(f"{seed}.png", some_errors(seed))] for seed in (0, 1, 2)]
    rows[2].append(empty.append("2.png", some_errors(3)))
    return empty.with_blocks(rows)


@pytest.mark.parametrize(("view", "stop"), [(view, stop) for view, stops in enumerate(STOPS) for stop in stops])
def test_one_stop_of_some_photos(stored, view, stop):
    entry = STOPS[view].index(stop)
    expected = np.stack([some_errors(seed)[view][entry] for seed in (0, 1, 2)])
    np.testing.assert_array_equal(stored.at(slice(None), view, stop), expected)
    np.testing.assert_array_equal(stored.at([2, 0], view, stop), expected[[2, 0]])
    np.testing.assert_array_equal(stored.at(np.array([], int), view, stop), expected[:0])
    np.testing.assert_array_equal(stored.at(1, view, stop), expected[1])
    np.testing.assert_array_equal(stored.photographed_again().at([2], view, stop), [some_errors(3)[view][entry]])


def test_all_stops_of_a_photo(stored):
    for errors, expected in zip(stored.errors_of(1), some_errors(1), strict=True):
        np.testing.assert_array_equal(errors, expected)
    [errors] = stored.reordered(np.array([2, 0])).of_views([1]).errors_of(0)
    np.testing.assert_array_equal(errors, some_errors(2)[1])


def test_what_is_read_is_a_copy(stored):
    stored.at(0, 0, 1)[:] = -1
    np.testing.assert_array_equal(stored.at(0, 0, 1), some_errors(0)[0][0])


def test_appending_and_reading_from_several_threads():
    blocks = AppendOnlyArray((2, 5))

    def append(number: int) -> bool:
        row = blocks.append(np.full((2, 5), number, np.float32))
        return bool((blocks.read(np.array([row, row]), 0, 2) == number).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(append, range(200)))
