"""Recipes of earlier schemas as this one says the same."""

from collections.abc import Callable

SCHEMAS = (2, 3)
"""What can be read: 2 knew one detector, judged by the largest value of its raw map."""


def converted(document: dict) -> dict:
    """recipe.json of any readable schema in the current one; what is missing or odd is left for the check of fields."""
    if document["schema"] != 2:
        return document
    document = dict(document)
    geometry, detector, backbone = (document.get(name) for name in ("geometry", "detector", "backbone"))
    if not all(isinstance(table, dict) for table in (geometry, detector, backbone)):
        return document
    geometry, detector = dict(geometry), dict(document.pop("detector"))
    live = detector.pop("live", None)
    view = detector | {"taps": backbone.get("taps"), "pool": geometry.pop("pool", None), "scales": []}
    document |= {"geometry": geometry, "views": [view], "live": live | {"area": 1} if isinstance(live, dict) else live}
    return document


def names_of(schema: int) -> Callable[[str], str]:
    """From the name of an array in a recipe of that schema to its present one."""
    if schema != 2:
        return lambda name: name
    return lambda name: (
        "view0.columns"
        if name == "features.projection"
        else name.replace("detector.", "view0.", 1)
        if name.startswith("detector.")
        else name
    )
