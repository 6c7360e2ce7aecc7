"""What recipe.json must hold: every field, and the values that a fit and its user can give it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from inspect_core.classify import kernel_density
from inspect_core.images.alignment import Alignment
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format.origin import BackboneChoice, Provenance
from inspect_core.recipe_format.recorded_photos import ChallengePart, TeachingRecord, UnscoredPart
from inspect_core.runtime.json_record import (
    FLAG,
    LARGEST,
    OPTIONAL_TABLE,
    TABLE,
    TEXT,
    FieldRule,
    check,
    list_of,
    multiple_of,
    number,
    one_of,
    or_null,
    pair,
    rules_of,
    table_of,
    whole,
)  # fmt: skip
from inspect_core.verdict import Limits
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import ProductCheck

SCHEMA = 5
"""Of recipe.json, the only one that is read; docs/ARCHITECTURE.md says how it may change."""
FILE = "recipe.json"
RESIZE_RULE = "squash, Pillow BILINEAR"
DIRECTION = "higher is more anomalous"

SCALE = number(1e-6, 100)
"""mm per pixel of the photos."""

VIEW = {
    "name": TEXT,
    "params": TABLE,
    "taps": list_of(TEXT, least=1),
    "pool": one_of(1, 3),
    "scale_stops": list_of(whole(0)),
}
"""A method, its detector's parameters, what it sees, the live values it has local scales for."""

PARTS = {
    "product_check": (ProductCheck, "the product check"),
    "known_cases": (KnownCases, "the known cases"),
    "defect_types": (DefectTypes, "the defect type classifier"),
    "alignment": (Alignment, "the alignment"),
}
"""Parts that may be missing: field of recipe.json and of `Recipe` -> its class, and the part in words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlainFields:
    """The fields of a recipe that recipe.json states as they are; one more is one more line here.

    unscored: parts of its teaching without a score; challenge_parts: its challenge parts; depth: the bit depth at which
    photos are read, None takes any; areas: drawn on the part; tiles: how large photos are cut, None squashes them to
    the network's input; mm_per_pixel: of the photos, None when not known, used in texts only; quality: noise,
    brightness and sharpness of the photos taught; teaching: what it was taught from, None when that is not known;
    as_published: its method is as the paper has it.
    """

    product: str
    depth: Depth | None = None
    areas: InspectionAreas | None = None
    tiles: TilePlan | None = None
    mm_per_pixel: Annotated[float | None, or_null(SCALE)] = None
    quality: QualityRange | None = None
    teaching: TeachingRecord | None = None
    as_published: bool = False
    limits: Limits
    unscored: tuple[UnscoredPart, ...] = ()
    challenge_parts: tuple[ChallengePart, ...] = ()


FIELDS = {
    "schema": one_of(SCHEMA),
    **rules_of(Provenance),
    "backbone": rules_of(BackboneChoice),
    "geometry": {
        "size": pair(multiple_of(32)),
        "grid": pair(whole(1)),
        "resize": one_of(RESIZE_RULE),
        "colour_order": one_of("RGB"),
        "nearest_upsampling": FLAG,
        "sigma": number(0, LARGEST),
    },
    "views": (list_of(TABLE, least=1), VIEW),
    "live_values": table_of(whole(0)),
    **rules_of(PlainFields),
    "score_direction": one_of(DIRECTION),
    "calibration": {"good": whole(0), "note": TEXT},
    **{name: (OPTIONAL_TABLE, kind.rules()) for name, (kind, _) in PARTS.items()},
}
"""Every field and its rule, in the order of the file; a pair: the rule of a table that may be missing, or of a list of
tables, and its fields. What is named as a field of `Recipe` is written from it and read into it."""


def check_document(document: Any, detectors: Mapping[str, Mapping[str, FieldRule]] | None) -> None:
    """Raise ValueError naming the first field of recipe.json that is missing, unknown, or not what it must be.

    detectors: the parameters of each method's detector, by the method's name; None: the methods' own parameters are not
    checked, for a reader that uses the exported graph instead.
    """
    check(document, FIELDS, "", FILE)
    if detectors is not None:
        for place, view in enumerate(document["views"]):
            check(view["name"], one_of(*detectors), f"views.{place}.name", FILE)
            check(view["params"], detectors[view["name"]], f"views.{place}.params", FILE)
    if document["defect_types"] is not None:
        classifier = document["defect_types"]["classifier"]
        check(classifier.get("parent"), one_of(*kernel_density.RULES), "defect_types.classifier.parent", FILE)
        check(classifier, kernel_density.RULES[classifier["parent"]], "defect_types.classifier", FILE)
