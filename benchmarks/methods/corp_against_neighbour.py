"""Time per sample of CoRP, whose cost is fixed by M, against nearest neighbour, whose cost grows with its bank.

python -m benchmarks.methods.corp_against_neighbour --json OUT    the same features, training sets of two sizes
Also the costs that live tuning depends on: the preview refit, one image, a hundred images and the full pass.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from inspect_core.detectors import baselines, cop_corp
from inspect_core.runtime.threads import cores

WIDTH = 200
GRID = (32, 32)


def patches(images: int, seed: int) -> np.ndarray:
    """(images, 32, 32, 200) float32 of six kinds of patch, each with 15 latent directions of falling strength."""
    mix, rng = np.random.default_rng(0), np.random.default_rng((seed, 1))
    centres = mix.standard_normal((6, WIDTH))
    directions = mix.standard_normal((6, 15, WIDTH)) / np.arange(1, 16)[:, None]
    defect_types = rng.integers(0, 6, (images, *GRID))
    features = centres[defect_types] + 0.1 * rng.standard_normal((images, *GRID, WIDTH))
    for kind in range(6):
        of_kind = defect_types == kind
        features[of_kind] += rng.standard_normal((int(of_kind.sum()), 15)) @ directions[kind]
    return features.astype(np.float32)


def time_per_sample(image: np.ndarray, train: np.ndarray, *, M: int) -> dict:
    """Microseconds per patch of both detectors after fits on `train`."""
    corp = cop_corp.fit_corp(train, gamma=1.0, M=M)
    neighbour = baselines.fit_nearest_neighbour_unit(train)
    count = image[..., 0].size
    return {
        "training_patches": len(train),
        "corp_us": 1e6 * _seconds(lambda: corp.score(image)) / count,
        "nearest_neighbour_us": 1e6 * _seconds(lambda: neighbour.score(image)) / count,
    }


def live_costs(*, M: int) -> dict[str, float]:
    """Seconds of a preview refit on 16,384 patches, of scoring, and of a full pass over 200 images."""
    hundred = patches(100, seed=2)
    sample = hundred.reshape(-1, WIDTH)[: 100 * 1024 : 6][:16384]
    model = cop_corp.fit_corp(sample, gamma=1.0, M=M)
    stops = np.unique(np.linspace(1, M, 64).astype(int))

    def full_pass() -> None:
        collected = cop_corp.MappedCovariance(cop_corp.cosine_fourier_map(WIDTH, gamma=1.0, M=M))
        for image in np.concatenate([hundred, hundred]):
            collected.update(image)
        collected.finish()

    return {
        "preview_refit_16384_patches_s": _seconds(lambda: cop_corp.fit_corp(sample, gamma=1.0, M=M)),
        "one_image_s": _seconds(lambda: model.score(hundred[:1]), repeats=9),
        "one_image_64_stops_s": _seconds(lambda: model.sweep(hundred[:1], stops), repeats=9),
        "hundred_images_s": _seconds(lambda: model.score(hundred), repeats=1),
        "full_pass_200_images_s": _seconds(full_pass, repeats=1),
    }


def _seconds(work: Callable[[], object], *, repeats: int = 3) -> float:
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True, help="file to write the figures to")
    parser.add_argument("--M", type=int, default=1024, help="random Fourier features")
    options = parser.parse_args()
    train = patches(64, seed=1).reshape(-1, WIDTH)
    image = patches(1, seed=3)
    figures = {
        "M": options.M,
        "time_per_sample": [time_per_sample(image, train[:: len(train) // n][:n], M=options.M) for n in (4096, 65536)],
        "live_costs": live_costs(M=options.M),
        "threads": cores(),
        "machine": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
    }
    with open(options.json, "w") as file:
        json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
