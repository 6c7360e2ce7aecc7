"""The statistics of shards, merged in one fixed order: the same bits however the work is divided."""

import warnings
import weakref

import numpy as np
import pytest
import torch

from inspect_core.methods.method import Patches
from inspect_core.methods.registry import METHODS
from inspect_core.study import statistics_gathering
from inspect_core.study.statistics_gathering import FitPlan, merged, shards_of

GRID, WIDTH, SEED = (3, 4), 8, 5
SMALL = {"k": 5, "M": 32, "patches": 150, "components": 5}
DAMAGED = {3, 64, 65, 129}
every_method = pytest.mark.parametrize("name", METHODS)


def photo(number: int) -> list[tuple[torch.Tensor]]:
    rng = np.random.default_rng([7, number])
    values = np.tanh(rng.normal(size=(1, *GRID, WIDTH)) + np.arange(WIDTH))
    return [] if number in DAMAGED else [(torch.from_numpy(values.astype(np.float32)),)]


def fit_of(name: str, count: int) -> FitPlan:
    chosen = {key: SMALL.get(key, value) for key, value in METHODS[name].defaults.items()}
    columns = torch.eye(WIDTH) if name in ("mahalanobis", "sampled") else None
    return FitPlan((name,), (0,), (Patches(count, GRID, WIDTH),), (columns,), (chosen,), SEED)


def arrays(fit: FitPlan, gathered: list) -> dict[str, torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit.finish(gathered)[0].arrays()


@every_method
@pytest.mark.parametrize("count", [40, 150, 700])
def test_shards_from_elsewhere_give_the_bits_of_one_stream(name: str, count: int, monkeypatch) -> None:
    """Also continued from what was merged before."""
    monkeypatch.setattr(statistics_gathering, "MOST_SHARDS", 3)
    monkeypatch.setattr(statistics_gathering, "LARGE_SHARD", 192)
    fit = fit_of(name, count)
    shards = shards_of(count)
    assert [len(shard) for shard in shards[:-1]] == ([64] * 2 if count == 150 else [192] * (len(shards) - 1))
    plain = arrays(fit, merged(fit, (fit.shard((i, photo(i)) for i in numbers) for numbers in shards)))
    total: list = []
    for numbers in shards:
        carried = [statistics.state() for statistics in fit.shard((i, photo(i)) for i in numbers)]
        returned = fit.begin()
        for statistics, state in zip(returned, carried, strict=True):
            statistics.restore(state)
        total = merged(fit, [returned], total)
    for key, values in arrays(fit, total).items():
        assert torch.equal(values, plain[key]), key


def test_what_is_merged_is_let_go_before_the_next_is_gathered() -> None:
    """Two at a time, however many: the statistics of a shard take 42 MB at 32 x 32, whatever it counts."""
    fit, alive, most = fit_of("mahalanobis", 10), weakref.WeakSet(), 0
    for_all = []

    def shards():
        nonlocal most
        for number in range(6):
            gathered = fit.shard([(number, photo(number))])
            alive.update(gathered)
            most = max(most, len(alive))
            yield gathered
            del gathered
            for_all.append(number)

    merged(fit, shards())
    assert for_all == list(range(6))
    assert most == 2


def test_a_drawn_patch_does_not_depend_on_the_photos_before() -> None:
    fit = fit_of("nearest", 100)
    single = fit.shard([(70, photo(70))])[0].rows()
    among = fit.shard((number, photo(number)) for number in range(64, 80))[0].rows()
    assert any(torch.equal(single, among[i : i + len(single)]) for i in range(len(among)))
