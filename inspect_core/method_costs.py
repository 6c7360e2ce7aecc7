"""What a fit takes in time and memory beyond the backbone, method by method, to be said before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from inspect_core.detectors.quadric_algebraic import monomial_count
from inspect_core.detectors.quadric_forecast import forecast_seconds
from inspect_core.recipe_arrays import LARGEST_RECIPE, ROW_BYTES, require_memory

BATCH = 16
"""Photos whose patches a fit holds at once."""
QUADRICS = 100
QUADRIC_RATE = 4e10
"""Operations a second on two cores, from `benchmarks.quadrics`."""
LARGEST_FIT = 2 * LARGEST_RECIPE
"""Bytes of memory that teaching may take. It takes at least twice what its recipe does, so what can be taught loads."""
Parameters = Mapping[str, float | None]


@dataclass(frozen=True)
class Workload:
    """How much a fit has to do: photos learned from and shown, places of the grid, features of a patch."""

    fit: int
    shown: int
    places: int
    width: int


@dataclass(frozen=True)
class Costs:
    """Seconds on two cores and bytes of memory at the peak, beyond the backbone; rough, to be said beforehand."""

    seconds: float
    memory: int


def with_photos(costs: Costs, photo_bytes: int) -> Costs:
    """The costs with the memory of the photos on their way, of which two are in work.

    Raises ValueError with the sum when it is more than LARGEST_FIT.
    """
    memory = costs.memory + 2 * photo_bytes
    require_memory(memory, LARGEST_FIT, "teaching this")
    return replace(costs, memory=memory)


def quadric_count(components: int, parameters: Parameters) -> int:
    """m as asked for, else QUADRICS or as many as that many components carry."""
    return min(QUADRICS, monomial_count(components)) if parameters["m"] is None else int(parameters["m"])


def mahalanobis_costs(work: Workload, parameters: Parameters) -> Costs:
    """A covariance and its factor at every place, and a triangular solve for every patch shown."""
    k = min(int(parameters["k"]), work.width)
    triangle = work.places * k * k
    return Costs(2.5e-11 * triangle * work.fit + 2e-10 * triangle * work.shown + 3e-8 * triangle, 20 * triangle)


def covariance_costs(work: Workload, parameters: Parameters) -> Costs:
    """One covariance of the mapped features over all patches, and its eigenvectors."""
    D = int(parameters.get("M") or work.width)
    rows = work.places * (work.fit + work.shown)
    memory = 32 * D * D + 2 * ROW_BYTES * D + 8 * BATCH * work.places * work.width
    return Costs(2.5e-11 * rows * D * D + 1.5e-9 * D**3, memory)


def kernel_costs(work: Workload, parameters: Parameters) -> Costs:
    """Eigenvectors of the kernel matrix of the sample, and kernel values of every patch shown."""
    n = int(parameters["patches"])
    return Costs(3e-10 * n**3 + 2.5e-8 * work.places * work.shown * n, 48 * n * n + 2 * ROW_BYTES * n)


def quadric_costs(work: Workload, parameters: Parameters) -> Costs:
    """The closed form, the refinement when it is robust, and the distances of every patch shown."""
    n, d = int(parameters["patches"]), min(int(parameters["components"]), work.width)
    m = quadric_count(d, parameters)
    scoring = 2.0 * work.places * work.shown * m * d * d
    fitting = forecast_seconds(n, d, m, operations_per_second=QUADRIC_RATE, refined=bool(parameters["robust"]))
    return Costs(fitting + scoring / QUADRIC_RATE, 8 * n * work.width + 32 * d**4)
