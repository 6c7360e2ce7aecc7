"""Teaching by worker processes against the plain path: time, memory, bytes moved, the same bits, 64 workers predicted.

Simulated photos have features drawn on the worker from the Gaussians of the sample part, so that 100,000 of them fill
no disk; their order, shards and merging are those of `sharding.study_workers`. Real ones are the sample's, shifted and
re-lit, read from files. Each run is checked to give the bits of the plain path; in one, workers are killed at random.

With OMP_NUM_THREADS=1 the plain path has one thread too, so that one worker is compared with one core:
OMP_NUM_THREADS=1 python -m benchmarks.methods.sharding [--simulated 100000] [--real 5000] [--workers 1 2]
"""

import hashlib
import json
import os
import pickle
import random
import signal
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.main_job.memory import make_photos
from benchmarks.main_job.setting import FULL, network, study, taught
from benchmarks.measure import machine, parser, status_of, write
from benchmarks.methods.sharding_worker import Simulating, learned
from inspect_core.datasets.folders import Split, scan
from inspect_core.datasets.grouping import ungrouped
from inspect_core.features.store import FeatureStore
from inspect_core.methods.method import Patches
from inspect_core.runtime import workspace
from inspect_core.sharding.checkpoints import ShardCheckpoints
from inspect_core.sharding.processes import Processes
from inspect_core.sharding.shard_runner import ShardsFailed, in_order, results, stored_results
from inspect_core.sharding.study_workers import KINDS, OnWorkers, merged_states
from inspect_core.study.statistics_gathering import FitPlan, merged, shards_of

SIDE = 32
KILLS = (2.0, 20.0)
"""Seconds between two kills, drawn evenly from between."""
PREDICTED = (2, 4, 8, 16, 32, 64)


def simulated(count: int, workers: list[int]) -> dict:
    """Seconds of the plain path and of each number of workers; bits, bytes, memory, merging, prediction."""
    mean, factor = sample_moments()
    k = mean.shape[-1]
    fit = FitPlan(
        ("mahalanobis",), (0,), (Patches(count, (SIDE, SIDE), k),), (torch.eye(k),), ({"k": k, "ridge": 0.01},), 0
    )
    began = time.perf_counter()
    plain = merged(fit, (learned(fit, mean, factor, photos.start, photos.stop) for photos in shards_of(count)))
    results = {"photos": count, "plain_s": time.perf_counter() - began, "workers": {}}
    expected = digest(plain)
    for number in workers:
        results["workers"][number] = by_workers(fit, mean, factor, count, number, expected)
    if workers:
        results["killed_at_random"] = by_workers(fit, mean, factor, count, max(workers), expected, kills=True)
        results["predicted"] = predicted(results, count)
    return results


def by_workers(
    fit: FitPlan, mean: np.ndarray, factor: np.ndarray, count: int, workers: int, expected: str, *, kills: bool = False
) -> dict:
    """One run, with what it moved and what its processes took."""
    parts = shards_of(count)
    task = Simulating(fit, mean, factor)
    pool = Processes(workers)
    moved = 0
    merging = 0.0
    peaks = {}
    begun_again = 0
    stop = threading.Event()
    checkpoints = ShardCheckpoints([task, count, workers, kills], kinds=KINDS)
    began = time.perf_counter()
    if kills:
        threading.Thread(target=kill_at_random, args=(pool, stop), daemon=True).start()

    def in_turn(first: int):
        nonlocal moved, merging
        shard_results = stored_results(
            checkpoints, range(first, len(parts)), lambda i: [str(parts[i])],
            partial(results, pool, task, lambda i: (parts[i].start, parts[i].stop), lambda i, result: result),
        )  # fmt: skip
        for number, result in in_order(shard_results, first, checkpoints):
            moved += sum(values.nbytes for values in result.content[0].values())
            peaks.update({process: peak_mb(process) for process in pool.ids})
            merge_began = time.perf_counter()
            yield number, result
            merging += time.perf_counter() - merge_began

    while True:
        try:
            gathered, _ = merged_states(fit, checkpoints, in_turn)
            break
        except ShardsFailed:  # stopped three times by chance: begun again, as its message says
            begun_again += 1
    seconds = time.perf_counter() - began
    stop.set()
    pool.close()
    return {
        "seconds": seconds,
        "same_bits": digest(gathered) == expected,
        "moved_to_client_mb": moved / 1e6,
        "sent_to_each_worker_mb": len(pickle.dumps(task)) / 1e6,
        "merging_and_keeping_s": merging,
        "shards": len(parts),
        "peak_mb_of_a_worker": max(peaks.values(), default=0.0),
        "processes_started": len(peaks),
        "begun_again": begun_again,
    }


def predicted(measured: dict, count: int) -> dict:
    """Seconds for more workers by a model of two rates, from the run of one worker: the work is divided, what this
    machine does with each shard (receive, keep, merge) is not, and both go on side by side. Checked on the other runs,
    in which workers and merging share the cores of one machine.
    """
    fewest = measured["workers"][min(measured["workers"])]
    parallel = fewest["seconds"] - fewest["merging_and_keeping_s"]
    serial = fewest["merging_and_keeping_s"]

    def seconds(workers: int) -> float:
        rounds = -(-fewest["shards"] // workers) / fewest["shards"]
        return max(parallel * rounds + serial / fewest["shards"], serial)

    on_one_machine = (parallel + serial) / (os.cpu_count() or 1)
    return {
        "seconds": {workers: seconds(workers) for workers in PREDICTED},
        "speed_up": {workers: (parallel + serial) / seconds(workers) for workers in PREDICTED},
        "model_to_measured": {
            workers: max(seconds(workers), on_one_machine) / run["seconds"]
            for workers, run in measured["workers"].items()
            if workers > 1
        },
        "photos_a_second_at_which_the_client_is_full": count / serial,
    }


def real(count: int, workers: list[int]) -> dict:
    """Seconds to fit and score, files read; nothing is stored, so that each run reads them all."""
    results = {"photos": count, "workers": {}}
    with tempfile.TemporaryDirectory(prefix="loupe-shards-", dir=workspace.root().parent) as folder:
        root = Path(folder)
        make_photos(root / "photos", count)
        samples = scan(root / "photos")
        _, calibrate, judge = taught(FULL)
        photos = Split(samples.good, calibrate, judge, groups=ungrouped(samples))
        network(FULL)
        expected = ""
        for number in (0, *workers):
            pool = Processes(number) if number else None
            store = FeatureStore(root / f"features-{number}", limit=1 << 20)
            session = study(FULL, photos, SIDE, store)
            session = session if pool is None else with_workers(session, OnWorkers(pool))
            began = time.perf_counter()
            session = session.fit()
            seconds = time.perf_counter() - began
            bits = hashlib.sha256(session.scores().tobytes())
            for values in session.scored.views[0].detector.arrays().values():
                bits.update(values.numpy().tobytes())
            if pool is None:
                results["plain_s"] = seconds
                expected = bits.hexdigest()
                continue
            peaks = [peak_mb(process) for process in pool.ids]
            pool.close()
            results["workers"][number] = {
                "seconds": seconds, "same_bits": bits.hexdigest() == expected, "peak_mb_of_a_worker": max(peaks),
            }  # fmt: skip
    return results


def with_workers(session, workers: OnWorkers):
    """The same study by workers."""
    return session.from_photos(
        session.split, session.extractor.backbone, session.store, method=session.method,
        parameters=session.order.parameters, grid=session.extractor.grid, workers=workers,
    )  # fmt: skip


def sample_moments() -> tuple[np.ndarray, np.ndarray]:
    """Mean (h, w, k) and factor (h w, k, k) of every place of the sample part, float32."""
    with tempfile.TemporaryDirectory(prefix="features-") as features:
        fitted = study(FULL, taught(FULL), SIDE, FeatureStore(features)).fit()
    detector = fitted.scored.views[0].detector
    k = detector.mean.shape[-1]
    return detector.mean.numpy(), detector.cholesky.reshape(-1, k, k).numpy()


def digest(gathered: list) -> str:
    sha256 = hashlib.sha256()
    for name, values in sorted(gathered[0].state().items()):
        sha256.update(name.encode() + values.numpy().tobytes())
    return sha256.hexdigest()


def kill_at_random(pool: Processes, stop: threading.Event) -> None:
    rng = random.Random(0)
    while not stop.wait(rng.uniform(*KILLS)):
        alive = [process for process in pool.ids]
        if alive:
            os.kill(rng.choice(alive), signal.SIGKILL)


def peak_mb(process: int) -> float:
    """Of another process, on Linux; 0 elsewhere and of one that has ended."""
    try:
        return status_of("VmHWM", process) / 1024
    except OSError:
        return 0.0


def main() -> None:
    asked = parser("sharding", __doc__)
    asked.add_argument("--simulated", type=int, default=100_000, help="photos; 0: none")
    asked.add_argument("--real", type=int, default=5000, help="photos; 0: none")
    asked.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = asked.parse_args()
    on = machine()
    result = {}
    if arguments.simulated:
        result["simulated"] = simulated(arguments.simulated, arguments.workers)
        write(arguments.name, result, measured_on=on)
    if arguments.real:
        result["real"] = real(arguments.real, arguments.workers)
    write(arguments.name, result, measured_on=on)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
