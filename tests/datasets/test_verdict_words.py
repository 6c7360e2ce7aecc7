"""Words for good and defective, whole and in parts of names, in the languages of the table."""

import pytest

from inspect_core.datasets.verdict_words import condition_sign, is_good_word

GOOD = ["good", "OK", "ok_parts", "01 Good", "i.O.", "Gut", "IO", "iO", "Gutteile", "GutTeile", "IO-Teile", "conforme"]
GOOD += ["zgodne", "良品", "正常", "合格", "ＯＫ", "buono", "bueno", "異常なし", "defect-free", "OK2"]
BAD = ["not ok", "not_good", "NotGood", "n.i.O.", "NIO", "nIO", "N_I_O", "NG", "ng1", "no good", "bad", "Nicht_iO"]
BAD += ["Schlechtteile", "Ausschuß", "Mängel", "nicht in Ordnung", "Fehlerbilder", "non conforme", "niezgodne", "KO"]
BAD += ["Défauts", "złe", "不良", "不良品01", "不合格", "不正常", "malo", "difettoso", "wadliwe", "불량품"]
PARTS = {
    "2026 OK front": "good", "cam1_NG_003": "defective", "def_front": "defective", "part_nio_4x": "defective",
    "检查_不合格_2": "defective", "part-scratch-7": "type", "x_OK_y_NG": "defective", "no_12_ok_x": "good",
}  # fmt: skip
SILENT = ["goods in", "okra", "badge", "goodyear", "lot 17", "2026-11-24", "part_0017", "cam1", "IMG_2031"]


@pytest.mark.parametrize("name", GOOD)
def test_whole_names_of_good_parts(name):
    assert is_good_word(name)


@pytest.mark.parametrize("name", BAD)
def test_whole_names_of_defective_parts(name):
    sign = condition_sign(name)
    assert (sign.condition, sign.is_whole) == ("defective", True)


def test_words_in_parts_of_names_and_names_that_say_nothing():
    assert {name: condition_sign(name).condition for name in PARTS} == PARTS
    assert [name for name in SILENT if condition_sign(name) is not None] == []
