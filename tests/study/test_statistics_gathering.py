"""The statistics of shards, merged in one fixed order: the same bits however the work is divided."""

import warnings

import numpy as np
import pytest
import torch

from inspect_core.methods.method import Patches
from inspect_core.methods.registry import METHODS
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.study import statistics_gathering
from inspect_core.study.statistics_gathering import FitPlan, StatisticsMerger, merged

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
def test_blocks_from_elsewhere_give_the_bits_of_one_stream(name: str, count: int, monkeypatch) -> None:
    monkeypatch.setattr(statistics_gathering, "BLOCK", 3)
    fit = fit_of(name, count)
    shards = ranges(count, statistics_gathering.SHARD)
    plain = arrays(fit, merged(fit, (fit.shard((i, photo(i)) for i in numbers) for numbers in shards)))
    merger = StatisticsMerger(fit)
    for numbers in ranges(count, 3 * statistics_gathering.SHARD):
        block = StatisticsMerger(fit)
        for shard in ranges(len(numbers), statistics_gathering.SHARD):
            elsewhere = fit.shard((numbers[i], photo(numbers[i])) for i in shard)
            carried = [statistics.state() for statistics in elsewhere]
            block.add_shard(
                [
                    statistics.restore(state) or statistics
                    for statistics, state in zip(fit.begin(), carried, strict=True)
                ]
            )
        merger.add_block(block.total())
    for key, values in arrays(fit, merger.total()).items():
        assert torch.equal(values, plain[key]), key


def test_a_drawn_patch_does_not_depend_on_the_photos_before() -> None:
    fit = fit_of("nearest", 100)
    single = fit.shard([(70, photo(70))])[0].rows()
    among = fit.shard((number, photo(number)) for number in range(64, 80))[0].rows()
    assert any(torch.equal(single, among[i : i + len(single)]) for i in range(len(among)))
