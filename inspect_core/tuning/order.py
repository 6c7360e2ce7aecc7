"""An order to teach, placed by the page or the command line."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inspect_core.images.alignment import SHIFT, TURN, Alignment
from inspect_core.images.areas import Areas
from inspect_core.images.folders import Split
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import CAREFUL, Tolerances
from inspect_core.tuning.comparison import BUDGET
from inspect_core.whole_part.product_check import WARN

NO_ALIGNMENT, RIGID, SIMILARITY = "none", "rigid", "similarity"
ALIGN = {NO_ALIGNMENT: "As taken", RIGID: "Shifted and turned", SIMILARITY: "Shifted, turned, nearer or farther"}
"""How parts lie in the photos, by the value of --align."""


@dataclass(frozen=True)
class Order:
    """What to teach: the photos as split, and every choice; the defaults are those of the page and the command line.

    method: a detector, None: the one that a comparison of the candidates chooses, of those whose methods take at most
    `budget` milliseconds a photo. parameters: of the fit; for a live parameter, the largest value that can be tried.
    fixed: names of parameters that the user has chosen and no suggestion changes, also live ones. taps: for all
    methods, None: those each works best on. area: the smallest that counts, in pixels of the map, None: .2 % of it.
    align: one of ALIGN; align_turn, align_shift: how far parts may be turned and shifted (`learn`); alignment: what was
    learned for it (`aligned`); areas: by which a comparison judges; tiles: how large photos are cut (`tiled`); their
    grid replaces that of the order. tolerances: how far photos of the same part may differ, None: not at all. weights:
    a file to use instead of the one found on this machine. guard: its mode, "off" for none. notes: sentences on the
    photos, passed through.
    """

    product: str
    photos: Split
    backbone: str = "efficientnet_lite0"
    taps: str | tuple[str, ...] | None = None
    size: tuple[int, int] = (256, 256)
    grid: tuple[int, int] = (32, 32)
    method: str | None = None
    budget: float = BUDGET
    parameters: Mapping[str, float] = field(default_factory=dict)
    fixed: Collection[str] = ()
    area: int | None = None
    align: str = NO_ALIGNMENT
    align_turn: float = TURN
    align_shift: float = SHIFT
    alignment: Alignment | None = None
    areas: Areas | None = None
    tiles: TilePlan | None = None
    tolerances: Tolerances | None = CAREFUL
    seed: int = 0
    guard: str = WARN
    fused_guard: bool = False
    weights: Path | None = None
    device: str = "auto"
    notes: tuple[str, ...] = ()
