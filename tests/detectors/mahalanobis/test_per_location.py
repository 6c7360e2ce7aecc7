import numpy as np
import pytest
import torch

from inspect_core.detectors.mahalanobis.per_location import (
    BLOCK_ROWS,
    factorise,
    grid_distances,
    location_blocks,
    location_name,
    per_location_product,
    whitening_blocks,
)


def lower_factors(p: int, k: int) -> torch.Tensor:
    rng = np.random.default_rng(p * k)
    return torch.from_numpy(np.tril(rng.standard_normal((p, k, k))) * 0.1 + np.eye(k)).float()


@pytest.mark.parametrize("k", [1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS])
def test_whitening_blocks_are_the_rows_of_the_inverse(k: int) -> None:
    factors = lower_factors(4, k)
    inverse = np.linalg.inv(factors.double().numpy())
    rebuilt = np.zeros((4, k, k))
    start = 0
    for block in whitening_blocks(factors):
        _, columns, rows = block.shape
        rebuilt[:, start : start + rows, :columns] = block.transpose(1, 2)
        start += rows
    np.testing.assert_allclose(rebuilt, inverse, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3, 400])
def test_grid_distances_for_any_number_of_images(n: int) -> None:
    rng = np.random.default_rng(n)
    x, mean = rng.standard_normal((n, 9, 5, 23)), rng.standard_normal((9, 5, 23))
    factors = lower_factors(45, 23)
    y = np.linalg.solve(factors.double().numpy(), (x - mean).reshape(n, 45, 23, 1))[..., 0]
    expected = np.sqrt((y[..., :7] ** 2).sum(-1)), np.sqrt((y**2).sum(-1))
    actual = grid_distances(
        torch.from_numpy(x).float(), torch.from_numpy(mean).float(), whitening_blocks(factors), [7, 23]
    )
    np.testing.assert_allclose(actual, np.stack(expected).reshape(2, n, 9, 5), rtol=1e-5)


def test_product_is_the_matrix_product() -> None:
    rng = np.random.default_rng(0)
    a, b = torch.from_numpy(rng.standard_normal((3, 4, 5))), torch.from_numpy(rng.standard_normal((3, 5, 2)))
    assert torch.allclose(per_location_product(a[..., :3], b[:, :3]), a[..., :3] @ b[:, :3])


def test_factorise_names_the_matrix_that_fails() -> None:
    covariance = torch.eye(3, dtype=torch.float64).repeat(5, 1, 1)
    covariance[3, 1, 1] = -1
    with pytest.raises(ValueError, match=r"place 3 cannot be factorised with ridge = 0\.5; raise ridge"):
        factorise(covariance, 0.5, place=lambda index: f"place {index}")


def test_factorise_refuses_what_float32_cannot_hold() -> None:
    with pytest.raises(ValueError, match="scale the features"):
        factorise(torch.full((1, 1, 1), 1e80, dtype=torch.float64), 0.01, place=str)


def test_location_blocks_cover_everything_once() -> None:
    assert [list(range(10))[here] for here in location_blocks(10, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert location_name(6, 4, 3) == "location (row 2, column 1)"
