"""Confidence under shift, net against KDN: python -m benchmarks.methods.kernel_density_shift

Circles of radius 10 and rectangles 20 x 50 on 100 x 100 grey images, then (a) their grey level, (b) a blend of a circle
and a rectangle, (c) the width of an ellipse is moved away from what was taught. A small net, one 3 x 3 convolution and
dense layers of 10 and 2, learns the images; its layer of 10 is the embedding that KDN is fitted on, as it would be on
a backbone's. Mean of the largest posterior over test images and repetitions, one value for each step of each shift.
After Dey et al., "Simple Calibration via Geodesic Kernels" (TMLR 2025).
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.measure import parser, write
from inspect_core.classify.kernel_density import KernelDensityClassifier, fit_kdn
from inspect_core.judge.metrics import mean_max_confidence
from inspect_core.playgrounds.shifted_shapes import GREY, SHIFTS, SIDE, centres, ellipses, rectangles, shifted

EPOCHS, BATCH = 10, 50
TEST_IMAGES = 100


def repetition(seed: int, per_class: int) -> dict[str, dict[str, list[float]]]:
    """Confidence of the net and of KDN at every step of every shift, after one training."""
    rng = np.random.default_rng(seed)
    images = GREY * np.concatenate([ellipses(centres(per_class, rng)), rectangles(centres(per_class, rng))])
    classes = np.repeat([0, 1], per_class)
    order = rng.permutation(len(images))
    images, classes = images[order].astype(np.float32), classes[order]
    net = train(images, classes, rng)
    held = len(images) // 5
    embedded = embed(net, images)
    kdn = fit_kdn(embedded[held:], classes[held:], held_out=(embedded[:held], classes[:held]), seed=seed)
    return {shift: curve(shift, values, net, kdn, rng) for shift, values in SHIFTS.items()}


def curve(
    shift: str, values: np.ndarray, net: nn.Sequential, kdn: KernelDensityClassifier, rng: np.random.Generator
) -> dict[str, list[float]]:
    """Mean largest posterior of the net, of the ReLU head that KDN is built on, and of KDN, value by value."""
    models: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "net": lambda images: posterior(net, images),
        "parent": lambda images: kdn.parent_proba(embed(net, images)),
        "kdn": lambda images: kdn.predict_proba(embed(net, images)),
    }
    steps = [shifted(shift, value, centres(TEST_IMAGES, rng)) for value in values]
    return {name: [mean_max_confidence(proba(images)) for images in steps] for name, proba in models.items()}


def train(images: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> nn.Sequential:
    """Adam on the cross-entropy; the first weights are drawn from `rng`."""
    net = nn.Sequential(
        nn.Conv2d(1, 1, 3), nn.ReLU(), nn.Flatten(), nn.Linear((SIDE - 2) ** 2, 10), nn.ReLU(), nn.Linear(10, 2)
    )
    with torch.no_grad():
        for layer in (net[0], net[3], net[5]):
            bound = 1 / np.sqrt(layer.weight[0].numel())
            layer.weight.copy_(torch.from_numpy(rng.uniform(-bound, bound, layer.weight.shape)))
            layer.bias.zero_()
        # A lone filter of negative weights would never pass light and never learn.
        net[0].weight.abs_()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for batch in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
            loss = nn.functional.cross_entropy(net(_as_input(images[batch])), torch.from_numpy(classes[batch]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return net


def embed(net: nn.Sequential, images: np.ndarray) -> np.ndarray:
    """The dense layer of 10 after its ReLU: (n, 100, 100) -> (n, 10)."""
    with torch.no_grad():
        return net[:5](_as_input(images)).numpy()


def posterior(net: nn.Sequential, images: np.ndarray) -> np.ndarray:
    """(n, 100, 100) -> (n, 2)."""
    with torch.no_grad():
        return net(_as_input(images)).double().softmax(dim=1).numpy()


def _as_input(images: np.ndarray) -> Tensor:
    return torch.from_numpy(images[:, None]).float() / 255


def main() -> None:
    asked = parser("kernel_density_shift", __doc__)
    asked.add_argument("--repetitions", type=int, default=10)
    asked.add_argument("--per-class", type=int, default=2_000)
    arguments = asked.parse_args()
    runs = [repetition(seed, arguments.per_class) for seed in range(arguments.repetitions)]
    curves = {
        shift: {"values": values.tolist()}
        | {name: np.mean([run[shift][name] for run in runs], axis=0).tolist() for name in runs[0][shift]}
        for shift, values in SHIFTS.items()
    }
    for shift, columns in curves.items():
        print(shift)
        for row in zip(*columns.values(), strict=True):
            print("  ", *(f"{name} {value:.3g}" for name, value in zip(columns, row, strict=True)))
    report = {"repetitions": arguments.repetitions, "per_class": arguments.per_class}
    write(arguments.name, report | {"confidence": curves})


if __name__ == "__main__":
    main()
