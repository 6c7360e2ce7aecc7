"""Geometry of a recipe: tiles, areas and the smallest area that counts, checked against each other."""

from collections.abc import Mapping
from dataclasses import dataclass

from inspect_core.images.alignment import Alignment
from inspect_core.images.areas import Areas
from inspect_core.images.tiles import TilePlan
from inspect_core.judge.anomaly_map import AREA, largest_area


@dataclass(frozen=True)
class Geometry:
    """size: (height, width) of the network's input; map_size: of the anomaly map."""

    size: tuple[int, int]
    map_size: tuple[int, int]
    tiles: TilePlan | None
    areas: Areas | None


def geometry_of(document: Mapping, alignment: Alignment | None) -> Geometry:
    """The geometry of a recipe.json whose fields were checked. Raises ValueError for parts that do not fit together."""
    geometry, area = document["geometry"], document["live"].get(AREA)
    size = tuple(geometry["size"])
    tiles = document["tiles"] and TilePlan.from_params(document["tiles"], size)
    if tiles is not None and list(tiles.grid) != geometry["grid"]:
        raise ValueError(f"geometry.grid is {geometry['grid']}, and its tiles give {list(tiles.grid)}")
    map_size = size if tiles is None else tiles.map_size
    if area is None or not 1 <= area <= largest_area(map_size):
        raise ValueError(f"live.area is {area}, outside 1..{largest_area(map_size)} pixels of the map")
    areas = document["areas"] and Areas.from_params(document["areas"])
    if areas:
        areas.check(map_size, alignment, least=area)
    return Geometry(size, map_size, tiles, areas)
