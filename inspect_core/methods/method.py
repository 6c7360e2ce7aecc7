"""The interface of a method: how it is fitted, what moves live, what it costs, how it is shown."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor, nn

from inspect_core.package.arrays import LARGEST_RECIPE, Array, require_memory
from inspect_core.package.fields import Rule

BATCH = 16
"""Photos whose patches a fit processes at once."""
LARGEST_FIT = 2 * LARGEST_RECIPE
"""Bytes of memory that teaching may take: at least twice what its recipe takes, so a taught recipe can be loaded."""
LARGEST_TILED_FIT = LARGEST_RECIPE
"""The same for large photos in tiles."""
STOPS = 64

Parameters = Mapping[str, Any]
"""Parameters of a fit by name: whole numbers, decimals, and None where the method chooses the value."""


class Detector(Protocol):
    """A fitted detector: frozen arrays and a score, higher for more unusual features."""

    def score(self, features: Tensor, /) -> Tensor: ...
    def arrays(self) -> dict[str, Tensor]: ...
    def params(self) -> dict: ...


@dataclass(frozen=True)
class Patches:
    """The good patches a detector is fitted on. photos: how many; grid: (h, w); width: features of a patch."""

    photos: int
    grid: tuple[int, int]
    width: int


@dataclass(frozen=True)
class Workload:
    """Amount of work of a fit: photos fitted and shown, places of the grid, features of a patch."""

    fit: int
    shown: int
    places: int
    width: int


@dataclass(frozen=True)
class Costs:
    """Seconds on two cores and peak bytes of memory, without the backbone; rough, for a forecast."""

    seconds: float
    memory: int

    def with_photos(self, photo_bytes: int, most: int = LARGEST_FIT) -> "Costs":
        """These costs plus the memory of the photos being read, two at a time.

        Raises ValueError with the sum when it is more than `most`.
        """
        memory = self.memory + 2 * photo_bytes
        require_memory(memory, most, "teaching this")
        return replace(self, memory=memory)


@dataclass(frozen=True)
class Control:
    """How a parameter is shown. effect: one line on what a move does to the parts; help: the full explanation."""

    label: str
    unit: str
    effect: str
    help: str

    @property
    def story(self) -> str:
        """Help text of the control: what a move does, the reason, and the unit."""
        return f"{self.effect} {self.help} Unit: {self.unit}."

    @property
    def sign(self) -> str:
        """The parameter's sign alone: "γ"."""
        return self.label.split(":")[0]


@dataclass(frozen=True)
class Space:
    """Where a detector sees patches before it scores them.

    words: for the reader of a plot; apply(detector, features (n, d), places (n, 2) row and column, live) -> (n, D).
    """

    words: str
    apply: Callable[[Any, Tensor, Any, int | None], Tensor]


def _score_as_sweep(detector: Any, patches: Tensor, stops: tuple[int, ...]) -> Tensor:
    return detector.score(patches)[None]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    title and when: the words of the Teach page; reference: the paper; rank: place in the table; offered: whether the
    Teach page offers it (the others are for comparison only); defaults: parameters of the fit.
    taps: the preset of taps it works best on, where a backbone has several; project(d, seed, parameters): the columns
    applied to the joined channels; pool: side of the neighbourhood averaged before scoring; ceiling(detector, value):
    the largest score that strange patches reach at a live value (the local scale is then the same at every place), None
    for a method without one; place(detector): the share of the variance of patch features that the mean of their place
    explains, where the method learns it; costs: of a fit, without the backbone; graph(detector, columns, value): what
    an exported graph applies to the joined channels, and to the result, at one live value (`methods.graphs`).
    A fit is begin(patches, columns, seed, parameters), which returns empty statistics; see(statistics, features (n, h,
    w, k), photos), for photos in the order of their numbers; finish(statistics, seed, parameters, report) -> detector,
    which calls report(fraction) for its own work. Statistics have merge(other), to add later photos to earlier ones,
    and state() and restore(state), to carry them to another process.
    arrays, fields: what the detector's arrays and parameters may be in a recipe, built with `package.arrays` and
    `package.fields`; a recipe that says otherwise is refused.
    live: the parameter whose every smaller value comes from the same fit, empty without one; score(detector, patches,
    value) and sweep(detector, patches, stops) take (1, h, w, d); top(detector): its largest legal value;
    start(detector): the value to begin with.
    refits: parameters that a preview on a patch sample follows; refit_values(detector): their values in a fitted one.
    controls: how live and refit parameters are shown, by name; space: where the detector sees patches, None: unchanged.
    settings(sample, seed): parameters of the fit worth trying on a sample of good patches; trial_stops(detector,
    parameters, fixed): live values worth trying -> what the fit must be given to begin there;
    one_fit: whether every setting worth trying comes from the one full fit.
    """

    title: str
    when: str
    reference: str
    rank: int
    defaults: Parameters
    project: Callable[[int, int, Parameters], Tensor | None]
    begin: Callable[[Patches, Tensor | None, int, Parameters], Any]
    see: Callable[[Any, Tensor, Sequence[int]], object]
    finish: Callable[[Any, int, Parameters, Callable[[float], None]], Detector]
    costs: Callable[[Workload, Parameters], Costs]
    graph: Callable[[Any, Tensor | None, int], tuple[Tensor | None, nn.Module]]
    from_arrays: Callable[[dict[str, Tensor], dict], Detector]
    arrays: Mapping[str, Array]
    fields: Mapping[str, Rule] = field(default_factory=dict)
    taps: str = "outputs"
    pool: int = 3
    ceiling: Callable[[Any, int], float] | None = None
    place: Callable[[Any], float] | None = None
    offered: bool = True
    live: str = ""
    score: Callable[[Any, Tensor, int | None], Tensor] = lambda detector, patches, value: detector.score(patches)
    sweep: Callable[[Any, Tensor, tuple[int, ...]], Tensor] = _score_as_sweep
    top: Callable[[Any], int] = lambda detector: 0
    start: Callable[[Any], int] = lambda detector: 0
    refits: tuple[str, ...] = ()
    refit_values: Callable[[Any], dict[str, float]] = lambda detector: {}
    controls: Mapping[str, Control] = field(default_factory=dict)
    space: Space | None = None
    settings: Callable[[Tensor, int], list[dict[str, float]]] = lambda sample, seed: [{}]
    trial_stops: Callable[[Any, Parameters, Collection[str]], dict[int, dict[str, float]]] = (
        lambda detector, parameters, fixed: {}
    )
    one_fit: bool = False


def stops_up_to(top: int, count: int = STOPS) -> tuple[int, ...]:
    """At most `count` whole numbers from 1 to `top`: every one up to count / 2, then round ones, and `top` itself."""
    if top <= count:
        return tuple(range(1, top + 1))
    dense = count // 2
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if top // step - dense // step + 1 <= count - dense)
    return tuple(sorted({*range(1, dense + 1), *range(step * (dense // step + 1), top + 1, step), top}))


def one_fit_stops(top: int) -> dict[int, dict[str, float]]:
    """Round values worth trying, and `top` itself, for a parameter whose every value comes from one fit."""
    return {value: {} for value in {10, 20, 30, 50, 70, 100, 150, 200, top} if value <= top}
