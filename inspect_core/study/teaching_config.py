"""An order: what to teach, placed by the page or the command line. The one home of every choice."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from inspect_core.datasets.folders import PhotoFile, Split
from inspect_core.features.backbone_catalogue import CATALOGUE
from inspect_core.features.backbones import Backbone
from inspect_core.images.alignment import MAX_ROTATION_DEGREES, MOST_SHIFT, SHIFT, TURN, Alignment
from inspect_core.images.areas import InspectionAreas, Outline
from inspect_core.images.shape import grid_of, input_size
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.method import Option
from inspect_core.methods.registry import METHODS, methods_of, parameters_of
from inspect_core.recipe_format.recorded_photos import TeachingPhoto, TeachingRecord
from inspect_core.runtime.json_record import MANY
from inspect_core.whole_part.product_check import OFF, WARN

AUTOMATIC, NO_ALIGNMENT, RIGID, SIMILARITY = "auto", "none", "rigid", "similarity"
ALIGN = {AUTOMATIC: "Automatic", NO_ALIGNMENT: "Fixed", RIGID: "Shift, rotation", SIMILARITY: "with scale"}
"""How parts lie in the photos, by the value of --align; automatic is one of the two after it."""
MOST_RECORDED = 20_000
"""Photos; what was taught from more is taught again from its folder."""


MOST_COPIES = 240
"""Copies of all photos to fit, beyond which each has one."""


def _set_by(default: Any, words: str, **details: Any) -> Any:
    """A field that command line and Teach set as this `Option` says."""
    return field(default=default, metadata={"option": Option(words, **details)})


@dataclass(frozen=True)
class TeachingConfig:
    """What to teach: the photos as split, and every choice; the defaults are those of the page and the command line.

    method: a name in METHODS, or several joined by "+", whose maps are added; None: the one that a comparison of the
    candidates chooses, of those whose methods take at most `budget` milliseconds a photo on two cores by their
    forecast, without the network. parameters: of the fit, None for the method's own choice; for a live parameter, the
    largest value that can be tried. taps: for all methods, None: those each works best on. area: the smallest that
    counts, in pixels of the map, None: .2 % of it. align: one of ALIGN; align_turn, align_shift: how far parts may be
    turned and shifted; alignment: what was learned for it (`decide_alignment`), over whose reference photos are laid;
    areas: by which a comparison judges; tiles: how large photos are cut, None squashes them to the backbone's size;
    their grid replaces that of the order. as_published: the method is as its paper has it (`as_fitted`), without local
    scale. tolerances: how far photos of the same part may differ, None: not at all; within them copies of every photo
    to fit are learned from too, and of the others one each is scored. weights: a file to use instead of the one found
    on this machine. product_check: its mode, or "off". notes: sentences on the photos, passed through.
    """

    product: str
    photos: Split
    backbone: str = "efficientnet_lite0"
    taps: str | tuple[str, ...] | None = None
    size: tuple[int, int] = (256, 256)
    grid: tuple[int, int] = (32, 32)
    method: str | None = None
    budget: float = _set_by(
        80.0,
        "maximum detector time per photo for the automatic choice, in milliseconds on two cores without the network "
        "(default: %(default)g)",
        kind=float,
        bounds=(1.0, 10_000.0),
        unit="MS",
        label="Maximum time per photo, ms",
    )
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    area: int | None = _set_by(
        None,
        "minimum number of map pixels above the limit that rejects a part (default 0.2%% of the map)",
        bounds=(1, MANY),
    )
    align: str = AUTOMATIC
    align_turn: float = _set_by(
        TURN,
        "with --align: maximum rotation, or the range in the good photos if larger (default: %(default)g)",
        kind=float,
        bounds=(0.0, MAX_ROTATION_DEGREES),
        unit="DEGREES",
        label="Maximum rotation, degrees",
    )
    align_shift: float = _set_by(
        SHIFT,
        "with --align: maximum shift in %% of the photo, or of the good photos if larger (default: %(default)g)",
        kind=float,
        bounds=(0.0, 100 * MOST_SHIFT),
        per=100,
        unit="PERCENT",
        label="Maximum shift, % of the photo",
    )
    alignment: Alignment | None = None
    areas: InspectionAreas | None = None
    tiles: TilePlan | None = None
    tolerances: Tolerances | None = DEFAULT_TOLERANCES
    seed: int = _set_by(0, "of the split and the fit (default: %(default)s)", bounds=(0, MANY))
    as_published: bool = False
    product_check: str = WARN
    fused_product_check: bool = False
    weights: Path | None = None
    device: str = "auto"
    notes: tuple[str, ...] = ()

    @classmethod
    def from_photos(
        cls,
        product: str,
        photos: Split,
        *,
        size: tuple[int, int] | None = None,
        grid: tuple[int, int] | None = None,
        tiles: TilePlan | None = None,
        **choices: Any,
    ) -> Self:
        """The order of photos as split, for every page and command: of the size of a tile where there are tiles, else
        at the size that suits the shape of the good photos where none is named, and its grid.
        """
        if tiles is not None:
            size = tiles.tile
        size = size or input_size([sample.size for sample in photos.train])
        return cls(product, photos, size=size, grid=grid or grid_of(size), tiles=tiles, **choices)

    def untiled(self) -> Self:
        """This order for photos that are squashed to the network's input."""
        return replace(self, tiles=None, grid=grid_of(self.size), areas=None, area=None)

    @property
    def setters(self) -> list[PhotoFile]:
        """The good photos that set limits, fold after fold; none where there are too few."""
        return [sample for fold in self.photos.limit_photos(self.seed) for sample in fold]

    @property
    def scored(self) -> tuple[PhotoFile, ...]:
        """The photos that are scored whatever sets the limits."""
        return (*self.photos.calibration, *self.photos.validation, *self.photos.test)

    @property
    def copied(self) -> Tolerances | None:
        """The tolerances with the seed of the order, and as many copies of each photo as its good photos lack: what a
        good part may look like is learned from many photos as well as from many copies of few.
        """
        if self.tolerances is None:
            return None
        copies = max(1, MOST_COPIES // max(len(self.photos.train), 1))
        return replace(self.tolerances, seed=self.seed, copies=min(self.tolerances.copies, copies))

    def record(
        self,
        digests: Mapping[str, str],
        taps: tuple[str, ...] | None,
        drawn: Mapping[str, tuple[Outline, ...]] = MappingProxyType({}),
    ) -> TeachingRecord | None:
        """What a recipe keeps of it; digests: of the photos that could be read, by name; taps: by layer; drawn:
        outlines of defects, by name.

        None for more than MOST_RECORDED photos.
        """
        sets = {"train": self.photos.train, "calibration": self.photos.calibration}
        groups = self.photos.groups
        sets |= {"validation": self.photos.validation, "test": self.photos.test}
        photos = tuple(
            TeachingPhoto(name, digests[name], sample.label, part, groups.get(name, ""), drawn.get(name, ()))
            for part, samples in sets.items()
            for sample in samples
            if (name := sample.name) in digests
        )
        if len(photos) > MOST_RECORDED:
            return None
        align = NO_ALIGNMENT if self.alignment is None else SIMILARITY if self.alignment.scale else RIGID
        tolerances = self.tolerances
        within = None if tolerances is None else asdict(tolerances)
        return TeachingRecord(photos, taps, dict(self.parameters), align, self.align_turn, self.align_shift, within)

    def as_fitted(self) -> Self:
        """This order, or as published what it means: what `Method.published` says replaces what was chosen.

        Layers are the paper's where the backbone has them. Raises ValueError as published for anything but one method,
        and for photos in tiles.
        """
        if not self.as_published:
            return self
        if self.method not in METHODS or self.tiles is not None:
            case = "in tiles" if self.tiles is not None else f"with detector {self.method!r}"
            raise ValueError(f"as published needs a single method on whole photos, but this is {case}")
        row = METHODS[self.method]
        changed = {key: value for key, value in row.published.items() if key not in row.defaults}
        known = CATALOGUE.get(self.backbone)
        if known is None or not any(set(changed["taps"]) <= set(taps) for taps in known.presets.values()):
            changed["taps"] = None
        parameters = dict(self.parameters) | {key: row.published[key] for key in row.published.keys() - changed.keys()}
        return replace(self, parameters=parameters, **changed)

    def to_compare(self) -> Self:
        """This order of a named detector without one, to compare all of them on its photos.

        Parameters that have their default are left out, as another method may have another.
        """
        usual = parameters_of(methods_of(str(self.method)), {}, self.tiles)
        defaults = {name: {of_method[name] for of_method in usual if name in of_method} for name in self.parameters}
        chosen = {name: value for name, value in self.parameters.items() if {value} not in (defaults[name], {None})}
        return replace(self, method=None, as_published=False, parameters=chosen, product_check=OFF, notes=())

    def parameters_for(self, methods: Sequence[str]) -> dict[str, float | None]:
        """Its parameters of the fit that these methods take; others are of detectors that it was compared with.

        Raises ValueError for a parameter that no method has.
        """
        for name in self.parameters:
            if not any(name in row.defaults for row in METHODS.values()):
                raise ValueError(f"no detector has a parameter {name!r}")
        known = {name for method in methods for name in METHODS[method].defaults}
        return {name: value for name, value in self.parameters.items() if name in known}

    def network(self, methods: Sequence[str]) -> tuple[Backbone, list[tuple[str, ...]]]:
        """The backbone with all taps that the methods see, and those of each; errors as `with_taps`."""
        return with_taps(
            methods, self.backbone, taps=self.taps, size=self.size, device=self.device, weights=self.weights
        )


ORDER_OPTIONS: Mapping[str, Option] = {
    field.name: field.metadata["option"] for field in fields(TeachingConfig) if "option" in field.metadata
}
"""The fields that are a number a user sets, by name."""
