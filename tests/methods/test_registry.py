import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.methods.method import stops_up_to
from inspect_core.methods.registry import ALL, CANDIDATES, METHODS, SECOND, methods_of, parameters_of


def test_what_methods_declare_is_compared_in_one_order():
    """Ties go to the first, so another order is another choice for some folder."""
    assert CANDIDATES == (
        "mahalanobis+nearby+shade", "corp+nearest+shade", "mahalanobis", "quadrics", "corp",
        "nearest", "nearby", "mahalanobis+quadrics", "mahalanobis+corp", "mahalanobis+nearest", "corp+nearest",
        "mahalanobis+nearby", "mahalanobis+corp+nearest",
    )  # fmt: skip
    assert ALL[: len(CANDIDATES)] == CANDIDATES
    assert {"mahalanobis+kernel_pca", "cop", "kernel_pca"} <= set(ALL[len(CANDIDATES) :])
    assert SECOND[:4] == ["quadrics", "corp", "kernel_pca", "nearest"]


@given(st.integers(1, 20_000))
def test_stops_are_few_ascending_and_reach_both_ends(top: int):
    stops = stops_up_to(top)
    assert stops[0] == 1
    assert stops[-1] == top
    assert list(stops) == sorted(set(stops))
    assert len(stops) <= 65
    assert top > 64 or stops == tuple(range(1, top + 1))


def test_stops_hold_the_round_values_people_ask_for():
    assert {20, 50, 100} <= set(stops_up_to(100))
    assert {20, 50, 100, 200} <= set(stops_up_to(256))


def test_parameters_are_defaults_overlaid():
    assert parameters_of(methods_of("mahalanobis"), {"k": 20}) == ({"k": 20, "ridge": 0.01},)
    first, second = parameters_of(methods_of("mahalanobis+quadrics"), {"k": 20, "components": 8})
    assert (first["k"], second["components"], set(first) & set(second)) == (20, 8, set())
    assert METHODS["mahalanobis"].defaults["k"] == 100


@pytest.mark.parametrize(
    ("method", "values"), [("nonsense", {}), ("mahalanobis", {"gamma": 1}), ("mahalanobis+nonsense", {})]
)
def test_unknown_names_are_refused_by_name(method, values):
    with pytest.raises(ValueError, match=r"nonsense|gamma"):
        parameters_of(methods_of(method), values)


@pytest.mark.parametrize("detector", ["corp+cop", "mahalanobis+sampled", "nearest+nearest"])
def test_methods_that_move_the_same_parameter_are_not_joined(detector):
    with pytest.raises(ValueError, match="same parameter"):
        methods_of(detector)
