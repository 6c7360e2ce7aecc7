"""The net of arrays against a unit-by-unit derivation and against torch; training that repeats and stops."""

import itertools

import numpy as np
import pytest
import torch

from inspect_core.classify import net_training
from inspect_core.classify.net_training import train_for, train_until_held_out_rises
from inspect_core.classify.relu_net import ReluNet


def random_net(*, with_output=False, widths=(2, 3, 4, 3), seed=0):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(widths))
    weights = tuple(rng.standard_normal((fan_out, fan_in)).astype(np.float32) for fan_in, fan_out in pairs)
    return ReluNet(weights, tuple(rng.standard_normal(fan_out).astype(np.float32) for _, fan_out in pairs), with_output)


def unit_by_unit(net, point):
    """Codes and posterior of one point in plain Python floats."""
    codes, z = [], [float(value) for value in point]
    for layer, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
        before = [
            sum(float(w) * v for w, v in zip(row, z, strict=True)) + float(b)
            for row, b in zip(weight, bias, strict=True)
        ]
        if layer < len(net.weights) - 1:
            codes += [value > 0 for value in before]
            z = [max(value, 0.0) for value in before]
    shares = np.exp(np.array(before) - max(before))
    return codes, shares / shares.sum()


@pytest.mark.parametrize("with_output", [False, True])
def test_codes_and_posterior_unit_by_unit(with_output):
    net = random_net(with_output=with_output)
    x = np.random.default_rng(1).standard_normal((40, 2))
    codes, proba = net.codes(x), net.proba(x)
    for i, point in enumerate(x):
        expected, posterior = unit_by_unit(net, point)
        expected += list(posterior > 1 / 3) if with_output else []
        np.testing.assert_array_equal(codes[i], expected)
        np.testing.assert_allclose(proba[i], posterior, rtol=1e-12)


def test_codes_are_torchs_away_from_zero():
    net = random_net(widths=(5, 50, 50, 2))
    x = np.random.default_rng(1).standard_normal((200, 5))
    z, before = torch.from_numpy(x).float(), []
    for weight, bias in list(zip(net.weights, net.biases, strict=True))[:-1]:
        before.append(z @ torch.from_numpy(weight).T + torch.from_numpy(bias))
        z = before[-1].relu()
    before = torch.cat(before, dim=1).numpy()
    sure = np.abs(before) > 1e-5
    np.testing.assert_array_equal(net.codes(x)[sure], (before > 0)[sure])


def test_codes_do_not_depend_on_the_batch():
    net = random_net(widths=(30, 64, 64, 2))
    x = np.random.default_rng(2).standard_normal((300, 30))
    np.testing.assert_array_equal(net.codes(x), np.concatenate([net.codes(row[None]) for row in x]))


def test_the_kernel_multiplies_layers():
    net = random_net(widths=(2, 2, 3, 2))
    a, b = np.array([[1, 0, 1, 1, 1]], dtype=bool), np.array([[1, 1, 1, 1, 0]], dtype=bool)
    assert net.kernel(a, b) == pytest.approx(1 / 2 * 2 / 3, rel=1e-15)


def test_the_kernel_reaches_the_output_when_the_code_does():
    net = random_net(widths=(2, 2, 3, 2), with_output=True)
    a, b = np.array([[1, 0, 1, 1, 1, 1, 0]], dtype=bool), np.array([[1, 0, 1, 1, 1, 0, 0]], dtype=bool)
    assert net.kernel(a, b) == pytest.approx(1 / 2, rel=1e-15)


def corners(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(np.intp)


@pytest.mark.slow
def test_training_learns(monkeypatch):
    monkeypatch.setattr(net_training, "LARGEST_EPOCHS", 40)
    (x, y), (held_x, held_y) = corners(300, 0), corners(100, 1)
    shape = {"classes": 2, "hidden": (20, 20), "seed": np.random.SeedSequence(0), "with_output": False}
    net, _ = train_until_held_out_rises(x, y, held_x, held_y, **shape)
    assert (net.proba(held_x).argmax(axis=1) == held_y).mean() > 0.9


def test_training_returns_the_best_epoch(monkeypatch):
    monkeypatch.setattr(net_training, "PATIENCE", 3)
    monkeypatch.setattr(net_training, "_LEARNING_RATE", 0.05)
    (x, y), (held_x, held_y) = corners(100, 0), corners(100, 1)
    y = np.where(np.arange(100) % 4 == 0, 1 - y, y)
    shape = {"classes": 2, "hidden": (20,), "seed": np.random.SeedSequence(0), "with_output": False}
    net, epochs = train_until_held_out_rises(x, y, held_x, held_y, **shape)

    def held_out_loss(net):
        return -np.log(net.proba(held_x)[np.arange(100), held_y]).mean()

    others = [train_for(x, y, epochs=epoch, **shape) for epoch in range(1, epochs + 4)]
    assert held_out_loss(net) == min(held_out_loss(other) for other in others)
    for name, array in others[epochs - 1].arrays().items():
        np.testing.assert_array_equal(array, net.arrays()[name])


def test_training_stops_when_the_held_out_part_cannot_be_learned(monkeypatch):
    monkeypatch.setattr(net_training, "PATIENCE", 3)
    x, y = corners(200, 0)
    _, epochs = train_until_held_out_rises(
        x, y, x, 1 - y, classes=2, hidden=(20,), seed=np.random.SeedSequence(0), with_output=False
    )
    assert epochs < 30


def test_training_leaves_the_global_generator_alone():
    x, y = corners(50, 0)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train_for(x, y, epochs=2, classes=2, hidden=(4,), seed=np.random.SeedSequence(0), with_output=False)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)


def test_training_works_where_gradients_are_off():
    x, y = corners(50, 0)
    shape = {"epochs": 2, "classes": 2, "hidden": (4,), "seed": np.random.SeedSequence(0), "with_output": False}
    with torch.no_grad():
        off = train_for(x, y, **shape)
    np.testing.assert_array_equal(off.weights[0], train_for(x, y, **shape).weights[0])


def test_arrays_are_enough():
    net = random_net(with_output=True)
    x = np.random.default_rng(1).standard_normal((10, 2))
    restored = ReluNet.from_arrays(net.arrays() | {"mu": np.zeros(1)}, with_output=True)
    np.testing.assert_array_equal(restored.codes(x), net.codes(x))
    np.testing.assert_array_equal(restored.proba(x), net.proba(x))
