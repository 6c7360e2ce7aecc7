import pytest

from inspect_core.datasets.folders import scan
from inspect_core.images.tolerances import DEFAULT_TOLERANCES
from inspect_core.recipe_io.recipe_file import load

pytestmark = pytest.mark.slow


def test_screen_names_the_photos_that_fit_leaves_out(teach, fit, product, tmp_path, capsys, tree):
    before = tree(product)
    assert teach("screen", "--most", "3") == 0
    printed = capsys.readouterr().out.splitlines()
    assert any("good photos" in line for line in printed)
    named = [line.split()[-1] for line in printed if line.strip().endswith(".jpg")]
    good = [sample.name for sample in scan(product).good]
    assert set(named) <= set(good)
    assert len(named) >= 3
    out = [name for name in good if name.startswith("train")][:2]
    assert (
        fit(tmp_path / "r", "--tolerance", str(DEFAULT_TOLERANCES), "--leave-out", out[0], "--leave-out", out[1]) == 0
    )
    recipe = load(tmp_path / "r")
    assert recipe.provenance.calibration_note == (
        f"trained on 12 good photos, 2 excluded beforehand ({out[0]}, {out[1]}), each within the tolerances "
        f"{DEFAULT_TOLERANCES}; labels from folder: 16 good, 3 defective"
    )
    assert not {row.name for row in recipe.calibration_photos} & set(out)
    assert tree(product) == before


@pytest.mark.parametrize("name", ["none.jpg", "test/scratch", "../x"])
def test_a_name_that_is_no_good_photo_is_refused(fit, tmp_path, capsys, name):
    assert fit(tmp_path / "r", "--leave-out", name) == 2
    assert "no good photo has this name" in capsys.readouterr().err


def test_a_list_is_fitted_as_its_folder_is(fit, product, tmp_path, capsys):
    table = product / "labels.csv"
    rows = [f"{path.name},{path.parent.name}\n" for path in sorted(product.glob("t*/*/*.jpg"))]
    table.write_text("file,label\n" + "".join(rows))
    try:
        assert fit(tmp_path / "r", photos=table) == 0
        assert "18 " in capsys.readouterr().out
        recipe = load(tmp_path / "r")
        assert recipe.product == "labels"
        assert recipe.provenance.photo_root == str(product)
        assert fit(product / "r", photos=table) == 2
    finally:
        table.unlink()
