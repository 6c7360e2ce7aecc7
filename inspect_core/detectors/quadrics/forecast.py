"""How long a fit of quadrics will take, before it starts: the number of operations over this machine's rate.

No clock here: the caller knows the rate.
"""

from inspect_core.detectors.quadrics.algebraic import LARGEST_MONOMIALS, monomial_count
from inspect_core.detectors.quadrics.refinement import LBFGS_ITERATIONS, LBFGS_LIMIT, SGD_BATCH, SGD_STEPS

# Arithmetic in float64 counts double. Finding eigenvectors runs at a fraction of a matrix product's rate.
DOUBLE = 2
EIGENVECTOR_OPERATIONS = 4


def forecast_seconds(n: int, d: int, m: int, *, operations_per_second: float, refined: bool = True) -> float:
    """Expected seconds of `quadrics.fit` on n points of width d (after reduction) with m quadrics.

    refined: False for the closed form alone, `quadrics.fit_algebraic_hs`. A guide that errs on the long side: 1.6 to
    3.2 times what five measured fits took.
    """
    return fit_operations(n, d, m, refined=refined) / operations_per_second


def fit_operations(n: int, d: int, m: int, *, refined: bool = True) -> float:
    """Floating-point operations of a fit, in float32 equivalents, with the passes that compare and order quadrics."""
    monomials = monomial_count(d)
    start = 0.0
    if monomials <= LARGEST_MONOMIALS:
        start = DOUBLE * (n * (monomials + d + 1) ** 2 + EIGENVECTOR_OPERATIONS * monomials**3)
    a_pass = 2.0 * n * m * d * d
    if not refined:
        return start + a_pass
    if n * d * d * m <= LBFGS_LIMIT:
        refinement = DOUBLE * LBFGS_ITERATIONS * step_operations(n, d, m)
    else:
        refinement = SGD_STEPS * step_operations(min(n, SGD_BATCH), d, m)
    return start + refinement + 3 * a_pass


def step_operations(n: int, d: int, m: int) -> float:
    """One loss and gradient: two products over the points, two over the Hilbert-Schmidt inner products."""
    return 4.0 * n * m * d * d + 4.0 * m * m * d * d
