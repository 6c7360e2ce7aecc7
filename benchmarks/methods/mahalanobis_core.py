"""Fit, one image, a move of k and the size of localized Mahalanobis, without backbone: python -m
benchmarks.methods.mahalanobis_core --json OUT

300 good images, k = 100, at 32 x 32 and 64 x 64. "fit" is from features already embedded, as the network gives them;
"first score" adds the inversion of the factors that the first score does once. Rounding is measured on test images
against the float32 model.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from benchmarks.measure import machine, own_peak_mb, timed
from inspect_core.detectors.mahalanobis import LocalGaussian, Mahalanobis, semi_orthogonal

K, WIDTH, GOOD, STUDY = 100, 1056, 300, 100
STOPS = np.unique(np.linspace(1, K, 64).astype(int))


def embedded(images: int, side: int, seed: int) -> torch.Tensor:
    """(images, side, side, K) float32 with a falling spectrum."""
    mixing = np.random.default_rng(0).standard_normal((K, K)).astype(np.float32) / np.sqrt(np.arange(1, K + 1))[:, None]
    draws = np.random.default_rng((seed, 1)).standard_normal((images, side, side, K), dtype=np.float32)
    return torch.from_numpy(draws @ mixing.astype(np.float32))


def packed_bytes(model: Mahalanobis) -> int:
    """Bytes of the arrays with the lower triangles packed."""
    arrays = model.arrays()
    cholesky = arrays.pop("cholesky")
    k = cholesky.shape[-1]
    packed = cholesky.element_size() * cholesky[..., 0, 0].numel() * k * (k + 1) // 2
    return packed + sum(array.nbytes for array in arrays.values())


def figures(side: int) -> dict:
    """Everything at one grid."""
    projection = semi_orthogonal(WIDTH, K)
    good = embedded(GOOD, side, seed=0)
    resting = own_peak_mb()

    def fitted() -> Mahalanobis:
        return LocalGaussian(projection, (side, side)).update_projected(good).finish()

    fit = timed(fitted, repeats=5, warm_up=1)
    model, test = fitted(), embedded(STUDY, side, seed=1)
    one = test[:1].clone()
    unwarmed = [Mahalanobis.from_arrays(model.arrays(), model.params()) for _ in range(4)]
    found = {
        "fit": fit,
        "fit_peak_mb_above_features": own_peak_mb() - resting,
        "first_score": timed(lambda: unwarmed.pop().score_projected(one), repeats=3, warm_up=1),
        "one_image": timed(lambda: model.score_projected(one), repeats=200),
        "hundred_images_one_k": timed(lambda: model.score_projected(test, k=50), repeats=7),
        "hundred_images_64_stops": timed(lambda: model.sweep_projected(test, STOPS), repeats=7),
        "packed_bytes_float32": packed_bytes(model),
        "packed_bytes_float16": packed_bytes(model.rounded()),
    }
    full, rounded = (m.score_projected(test).numpy().ravel() for m in (model, model.rounded()))
    found["float16_largest_relative_difference"] = float(np.abs(rounded / full - 1).max())
    found["float16_rank_correlation"] = float(spearmanr(rounded, full)[0])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    result = {"machine": machine(), "torch_threads": arguments.threads}
    result |= {f"{side}x{side}": figures(side) for side in (32, 64)}
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
