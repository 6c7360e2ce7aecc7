"""Confidence under shift, net against KDN, on circles and rectangles.

Circles of radius 10 and rectangles 20 x 50 on 100 x 100 grey images, then (a) their grey level, (b) a blend of a circle
and a rectangle, (c) the width of an ellipse is moved away from what was taught. A small net, one 3 x 3 convolution and
dense layers of 10 and 2, learns the images. KDN is fitted twice: on the net's own dense layers, whose polytopes lie in
the space of the convolution's 9,604 outputs, as published; and with a net of its own on the layer of 10, as it would be
on a backbone's embedding. After Dey et al., "Simple Calibration via Geodesic Kernels" (TMLR 2025).
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.classify.kernel_density import NETWORK_POWERS, KernelDensityClassifier, fit_kdn
from inspect_core.classify.polytope_gaussians import fit_gaussians, log_class_ratios
from inspect_core.classify.posterior import calibrated_constant, calibration_error
from inspect_core.classify.posterior import posterior as mixed
from inspect_core.classify.relu_net import ReluNet
from inspect_core.playgrounds.shifted_shapes import GREY, SHIFTS, SIDE, centres, ellipses, rectangles, shifted
from inspect_core.scoring.metrics import mean_max_confidence

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
    held_count = len(images) // 5
    embedded = embed(net, images)
    kdn = fit_kdn(
        embedded[held_count:], classes[held_count:], held_out=(embedded[:held_count], classes[:held_count]), seed=seed
    )
    on_layers = on_own_layers(net, convolved(net, images), classes, held_count)
    return {shift: curve(shift, values, net, on_layers, kdn, rng) for shift, values in SHIFTS.items()}


def on_own_layers(net: nn.Sequential, x: np.ndarray, classes: np.ndarray, held_count: int) -> KernelDensityClassifier:
    """KDN whose parent are the dense layers, 10 and 2: x (n, 9604) as they see it, the first `held` to choose with."""
    scale = np.linalg.norm(x, axis=1).max()
    x = x / scale
    weights, biases = ([getattr(net[i], name).detach().numpy().copy() for i in (3, 5)] for name in ("weight", "bias"))
    parent = ReluNet((weights[0] * np.float32(scale), weights[1]), tuple(biases), with_output=True)
    gaussians, counts = fit_gaussians(
        parent, x[held_count:], classes[held_count:], classes=2, lam=1e-6, lam_undivided=False
    )
    prior = np.bincount(classes[held_count:]) / len(classes[held_count:])
    nearest, log_normal = gaussians.log_density(parent, x[:held_count], euclidean=False)
    candidates = []
    for power, ratio in zip(
        NETWORK_POWERS, log_class_ratios(parent, gaussians.codes, counts, NETWORK_POWERS), strict=True
    ):
        log_density = ratio[nearest] + log_normal[:, None]
        constant = calibrated_constant(log_density)
        error = calibration_error(mixed(log_density, constant, prior), classes[:held_count])
        candidates.append((error, power, constant, ratio))
    _, power, constant, ratio = min(candidates, key=lambda row: row[0])
    return KernelDensityClassifier(
        parent, np.array([0, 1]), prior, gaussians, ratio, constant, float(scale), float(power), 1e-6, False
    )


def curve(
    shift: str,
    values: np.ndarray,
    net: nn.Sequential,
    on_layers: KernelDensityClassifier,
    kdn: KernelDensityClassifier,
    rng: np.random.Generator,
) -> dict[str, list[float]]:
    """Mean largest posterior of the net, of KDN on its own layers, and of a net on its embedding and of KDN there."""
    models: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "net": lambda images: posterior(net, images),
        "kdn_own_layers": lambda images: on_layers.predict_proba(convolved(net, images)),
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


def convolved(net: nn.Sequential, images: np.ndarray) -> np.ndarray:
    """What the dense layers see: (n, 100, 100) -> (n, 9604)."""
    with torch.no_grad():
        return net[:3](_as_input(images)).numpy()


def posterior(net: nn.Sequential, images: np.ndarray) -> np.ndarray:
    """(n, 100, 100) -> (n, 2)."""
    with torch.no_grad():
        return net(_as_input(images)).double().softmax(dim=1).numpy()


def _as_input(images: np.ndarray) -> Tensor:
    return torch.from_numpy(images[:, None]).float() / 255
