"""Three products in any order on one line: by number, by a code, by the product check; none by a wrong recipe."""

import itertools
import os
import random
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import zxingcpp
from PIL import Image

from inspect_core.station import view_photos
from inspect_core.station.controller import Controller, ModbusLink
from inspect_core.station.modbus import ModbusServer
from inspect_core.station.parts import code_on
from inspect_core.station.settings import BY_CODE, BY_NUMBER, BY_PRODUCT, RecipeEntry
from inspect_core.whole_part.product_check import RIGHT
from tests.line.conftest import ByBrightness

LEVELS = {1: 40, 2: 60, 3: 80}
"""Brightness of a good part of each product; a defect adds DEFECT."""
DEFECT = 150
PARTS = 100


class OfOneProduct(ByBrightness):
    """Knows parts of its level, defective or not, by the corner that no code covers."""

    level = 0

    def inspect(self, image):
        corner = int(image[0, 0, 0])
        known = corner % DEFECT == self.level
        verdict = super().inspect(np.full_like(image, corner))
        return replace(verdict, product_check=RIGHT if known else "This does not look like the taught product.")


def inspectors() -> dict[str, OfOneProduct]:
    made = {}
    for number, level in LEVELS.items():
        made[f"{number}.zip"] = OfOneProduct(digest=f"{number}" * 64)
        made[f"{number}.zip"].level = level
    return made


def picture(level: int, code: str) -> Image.Image:
    pixels = np.full((160, 160, 3), level, np.uint8)
    drawn = np.array(zxingcpp.create_barcode(code, zxingcpp.BarcodeFormat.QRCode).to_image(scale=3))
    pixels[20 : 20 + drawn.shape[0], 20 : 20 + drawn.shape[1]] = drawn[..., None]
    return Image.fromarray(pixels)


def test_a_code_is_read_and_two_are_none():
    pixels = np.array(picture(200, "flange 7"))
    assert code_on(pixels) == "flange 7"
    assert code_on(np.full_like(pixels, 200)) == ""
    both = np.concatenate([pixels, np.array(picture(200, "cover 2"))], axis=1)
    assert code_on(both) == ""


@pytest.mark.slow
@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("choose", [BY_NUMBER, BY_CODE, BY_PRODUCT])
def test_no_part_is_judged_by_a_wrong_recipe(settings, started, tmp_path, monkeypatch, choose):
    monkeypatch.setattr(view_photos, "SETTLE_SECONDS", 0.005)  # the camera puts whole photos in place
    rng = random.Random(3)
    plan = [(rng.choice(list(LEVELS)), rng.random() < 0.3) for _ in range(PARTS)]
    recipes = tuple(RecipeEntry(number, f"{number}.zip", code=f"P{number}") for number in LEVELS)
    chosen = settings(recipes=recipes, choose=choose, view_seconds=5.0)  # this machine may do other work
    station = started(chosen, inspectors())

    def photograph(part: int) -> None:
        product, defective = plan[part - 1]
        hidden = tmp_path / f"{part}.png"
        picture(LEVELS[product] + DEFECT * defective, f"P{product}").save(hidden)
        os.replace(hidden, tmp_path / "in/top" / hidden.name)

    with closing(ModbusServer(station, chosen.modbus)), closing(ModbusLink(chosen.modbus)) as link:
        controller = Controller(link, in_place=photograph, window=8.0)
        outcomes, switches = [], []
        for part, (product, _) in enumerate(plan, start=1):
            if choose == BY_NUMBER and station.signals.recipe != product:
                assert controller.wait_for(lambda signals: signals.ready, time.monotonic() + 10)
                began = time.monotonic()
                controller.say(request_recipe=True, recipe=product)
                assert controller.wait_for(lambda signals: signals.recipe_acknowledged, time.monotonic() + 10)
                switches.append(time.monotonic() - began)
                controller.say(request_recipe=False)
            outcomes.append(controller.run_part(part))
    assert [outcome.result.judged_by for outcome in outcomes] == [product for product, _ in plan]
    assert [outcome.accepted for outcome in outcomes] == [not defective for _, defective in plan]
    if choose == BY_NUMBER:
        assert len(switches) == sum(first != second for first, second in itertools.pairwise([1, *(p for p, _ in plan)]))
