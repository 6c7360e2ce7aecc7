"""Converts recipes of earlier schemas to the current one."""

from collections.abc import Callable

SCHEMAS = (2, 3, 4, 5)
"""Schemas that can be read. 2: one detector, judged by the largest value of its raw map; 3: without the photos' folder
and challenge parts; 4: without alignment, areas and tiles. A recipe without a depth reads photos of any depth, over the
full range of their bytes.
"""


def converted(document: dict) -> dict:
    """recipe.json of any readable schema, converted to the current one; missing or odd values are left for the check of
    fields.

    The state, which early recipes held, is dropped: it is in the audit log.
    """
    document = {name: value for name, value in document.items() if name != "state"}
    if document["schema"] == 2:
        document = _with_views(document)
    if document["schema"] < 4:
        document = document | {"photos": None, "challenge": []}
    added = dict.fromkeys(("depth", "alignment", "areas", "tiles", "mm_per_pixel"))
    return added | document | {"challenge": _with_reasons(document.get("challenge"))}


def _with_reasons(parts: object) -> object:
    """Challenge parts that were named before their reasons were kept were to be judged by their scores."""
    if not isinstance(parts, list):
        return parts
    return [{"reason": ""} | part if isinstance(part, dict) else part for part in parts]


def _with_views(document: dict) -> dict:
    geometry, detector, backbone = (document.get(name) for name in ("geometry", "detector", "backbone"))
    if not (isinstance(geometry, dict) and isinstance(detector, dict) and isinstance(backbone, dict)):
        return document
    live = detector.get("live")
    view = {name: value for name, value in detector.items() if name != "live"}
    view |= {"taps": backbone.get("taps"), "pool": geometry.get("pool"), "scales": []}
    return {name: value for name, value in document.items() if name != "detector"} | {
        "geometry": {name: value for name, value in geometry.items() if name != "pool"},
        "views": [view],
        "live": live | {"area": 1} if isinstance(live, dict) else live,
    }


def names_of(schema: int) -> Callable[[str], str]:
    """From the name of an array in a recipe of that schema to its present one."""

    def present(name: str) -> str:
        if name == "features.projection":
            return "view0.columns"
        return f"view0.{name.removeprefix('detector.')}" if name.startswith("detector.") else name

    return present if schema == 2 else str
