"""The interface of a method: how a detector is fitted, what moves live, what it costs, how it is shown."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from torch import Tensor

from inspect_core.detectors.mahalanobis import semi_orthogonal
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.graphs import Graph
from inspect_core.methods.spectrum import LocalSpectrum
from inspect_core.recipe_format.arrays import LARGEST_RECIPE, require_memory
from inspect_core.runtime.json_record import LARGEST, SMALLEST, Rules
from inspect_core.runtime.stored import ArraySpec

BATCH = 16
"""Photos whose patches a fit processes at once."""
LARGEST_FIT = 2 * LARGEST_RECIPE
"""Bytes of memory that teaching may take: at least twice what its recipe takes, so a taught recipe can be loaded."""
LARGEST_TILED_FIT = LARGEST_RECIPE
"""The same for large photos in tiles."""
STOPS = 64
WIDEST = 256
LEAST_PATCHES = 16_384
PATCHES_A_COMPONENT = 50

Parameters = Mapping[str, Any]
"""Parameters of a fit by name: whole numbers, decimals, and None where the method chooses the value."""
PUBLISHED = {
    "taps": ("layer1", "layer2", "layer3"),
    "size": (256, 256),
    "grid": (64, 64),
    "area": 1,
    "tolerances": None,
}
"""Of Kim et al. 2021 on a photo of 256 x 256; also for papers that say nothing of patches."""
Settings = dict[int, dict[str, float]]
"""Live values, each with what the fit must be given to begin there."""
Tell = Callable[[float], None]
"""Takes the fraction of the work that is done; it raises to stop."""


class Detector(Protocol):
    """A fitted detector: frozen arrays and a score, higher for more unusual features.

    `runtime.stored.Stored` gives it all but the score.
    """

    def score(self, features: Tensor, /) -> Tensor: ...
    def arrays(self) -> dict[str, Tensor]: ...
    def params(self) -> dict: ...
    @classmethod
    def from_arrays(cls, arrays: dict[str, Tensor], params: dict) -> Self: ...
    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]: ...
    @classmethod
    def rules(cls) -> Rules: ...


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
    """How a parameter is shown on the bench. effect: what a move does, in a few words; help: the full
    explanation; stops: whole numbers to choose from, for a refit parameter; none: half octaves about the one in force.
    """

    label: str
    unit: str
    effect: str
    help: str
    stops: tuple[int, ...] = ()

    @property
    def tooltip(self) -> str:
        """Help text of the control: what it is, what a move does and why, and the unit."""
        return f"{self.help} Unit: {self.unit}."

    @property
    def sign(self) -> str:
        """The parameter's sign alone: "γ" of "Sharpness (γ)"."""
        return self.label.rpartition("(")[2].removesuffix(")")


@dataclass(frozen=True)
class Option:
    """What a user may set before a fit: on the command line, and on Teach if it has a label.

    words: help of the command line; kind: int, float, or bool for 0 and 1, a switch on Teach; bounds: least and
    largest as they are typed; label, help, values: of the switch or slider; per: by which what is typed
    or slid is divided; unit: of what is typed.
    """

    words: str
    kind: type[int] | type[float] = int
    label: str = ""
    help: str = ""
    values: range = range(0)
    per: int = 1
    bounds: tuple[float, float] = (SMALLEST, LARGEST)
    unit: str | None = None


class Method(ABC):
    """How the app uses a detector: METHOD in a file of this folder is a row of the table, named by the file."""

    title: str
    """Name on the pages, short enough for a narrow table."""
    use_case: str
    """What it is for: a sentence on Teach."""
    reference: str
    """The paper."""
    rank: int
    """Place in the table, unlike any other's."""
    defaults: Parameters
    """Parameters of the fit, all there are."""
    detector_class: type[Detector]
    """Class of the fitted detector. Among the lengths of its arrays in a recipe is k, the features of a patch."""

    taps: str = "outputs"
    """The preset of taps it works best on, where a backbone has several."""
    pool: int = 3
    """Side of the neighbourhood of patches that is averaged before scoring, 1 or 3."""
    has_one_scale: bool = False
    """Whether all places share one local scale: for errors that vary with what the part shows there, not with where."""
    votes: float = 1.0
    """How many maps its map stands for where it is added to those of others."""
    counts_excess: bool = False
    """Whether its errors, joined to those of others, count only where they exceed what good parts show."""
    is_offered: bool = True
    """Whether Teach offers it by itself."""
    learns_from_defects: bool = False
    """Whether it learns from known defects: it is joined to a fit, and no detector that is fitted names it."""
    ensemble_rank: int = 0
    """Its place among the methods whose maps are added, 0: none. The first is taught without a comparison; Teach joins
    the others to it."""
    candidates: tuple[str, ...] = ()
    """Detectors, joined ones too, of which it is the last method and that are compared for a new folder."""
    comparison_detectors: tuple[str, ...] = ()
    """Further ones, for the Compare page and `evaluate --compare`."""

    published: Parameters = PUBLISHED
    """Fields of an order and parameters of the fit with which it is as its paper has it."""
    published_words: str
    """What of these, and of the defaults, is the paper's and what is not."""

    options: Mapping[str, Option] = {}
    """Parameters of the fit that a user may set, by name."""
    live_parameter: str = ""
    """The parameter whose every smaller value, down to 1, comes from the same fit; empty without one."""
    refit_parameters: tuple[str, ...] = ()
    """Parameters that a preview on a patch sample follows, for a method whose live parameter has `variances`."""
    controls: Mapping[str, Control] = {}
    """How the live and the refit parameters are shown, by name."""
    space: str = ""
    """The space in which the detector sees patches before it scores them, for the reader of a plot; empty: that of the
    features."""

    def rules(self) -> Rules:
        """What `params()` of the detector may be in a recipe: all that its class allows, or less."""
        return self.detector_class.rules()

    def project(self, d: int, seed: int, parameters: Parameters) -> Tensor | None:
        """(d, k) float32 columns for the d joined channels: all up to WIDEST (None), else WIDEST mixed ones."""
        return None if d <= WIDEST else semi_orthogonal(d, WIDEST, seed=seed)

    @abstractmethod
    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> Any:
        """Empty statistics of a fit; columns: of `project`.

        They have merge(other), to add later photos to earlier ones; without(other), what is left without these; and
        state() and restore(state), to carry them to another process as arrays.
        """

    @abstractmethod
    def update(self, statistics: Any, features: Tensor, photos: Sequence[int]) -> object:
        """Add photos, (n, h, w, k) float32, with their numbers, in ascending order."""

    @abstractmethod
    def finish(self, statistics: Any, seed: int, parameters: Parameters, report: Tell) -> Detector:
        """The detector; reports during long work of its own."""

    @abstractmethod
    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """That of a fit and of scoring, without the backbone; seconds are linear in the photos shown."""

    def score(self, detector: Any, patches: Tensor, value: int | None) -> Tensor:
        """(n, h, w, k) -> (n, h, w) errors at a value of the live parameter, None for the detector's own.

        Raises ValueError for another width, values that are not finite, and a live value outside the fit.
        """
        return (
            detector.score(patches, **{self.live_parameter: value}) if self.live_parameter else detector.score(patches)
        )

    def sweep(self, detector: Any, patches: Tensor, stops: tuple[int, ...]) -> Tensor:
        """(1, h, w, k) -> (stops, 1, h, w) errors at each of these values of the live parameter."""
        return detector.sweep(patches, stops) if self.live_parameter else detector.score(patches)[None]

    def max_value(self, detector: Any) -> int:
        """Largest value of the live parameter."""
        return 0

    def start(self, detector: Any) -> int:
        """Value of the live parameter to begin with."""
        return self.max_value(detector)

    def ceiling(self, detector: Any, value: int) -> float | None:
        """The most that strange patches score at a live value, None for no bound; local scales are then one."""
        return None

    def refit_values(self, detector: Any) -> dict[str, float]:
        """The values of `refit_parameters` in a detector, also where the method chose them."""
        return {name: detector.params()[name] for name in self.refit_parameters}

    def sample_size(self, parameters: Parameters, value: int) -> int:
        """Patches that a preview is fitted on, where `value` of the live parameter is in force."""
        return max(LEAST_PATCHES, PATCHES_A_COMPONENT * value)

    def coarse(self, parameters: Parameters) -> Parameters | None:
        """The parameters of a quicker fit that shows much the same map, for a first look; None without one."""
        return None

    def slider_values(self, name: str, chosen: Parameters, tiles: TilePlan | None) -> tuple[range, int]:
        """Values of an option's slider on Teach, and the one to begin with; chosen: the parameters so far."""
        option = self.options[name]
        return option.values, round(option.per * chosen[name])

    def variances(self, detector: Any) -> Tensor | None:
        """(r,) of good patches along each component, largest first, if the live parameter counts components."""
        return None

    def spectrum(self, detector: Any) -> LocalSpectrum | str:
        """Where the variance of good patches goes, for a method without `variances`: by place, or in words."""
        return "This detector does not use variances. The plot below shows how those of the good patches fall."

    def to_space(self, detector: Any, features: Tensor, places: np.ndarray, value: int | None) -> Tensor:
        """(n, k) -> (n, D): patches in `space`, at a live value; places: (n, 2) row and column of each."""
        return features

    def fit_warning(self, detector: Any, patches: Patches, parameters: Parameters, value: int) -> str | None:
        """What to know of a fit on these patches at a live value, and what to do about it; None for nothing."""
        return None

    @property
    def exportable(self) -> bool:
        """Whether it has a graph: a recipe of a method without one inspects in the app only."""
        return type(self).graph is not Method.graph

    def graph(self, detector: Any, columns: Tensor | None, value: int) -> Graph:
        """What an exported graph applies to the joined channels, then to the result, at one live value."""
        raise NotImplementedError(f"{self.title} has no graph")


def stops_up_to(top: int, count: int = STOPS) -> tuple[int, ...]:
    """At most `count` whole numbers from 1 to `top`: every one up to count / 2, round ones, `top`."""
    if top <= count:
        return tuple(range(1, top + 1))
    dense = count // 2
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if top // step - dense // step + 1 <= count - dense)
    return tuple(sorted({*range(1, dense + 1), *range(step * (dense // step + 1), top + 1, step), top}))
