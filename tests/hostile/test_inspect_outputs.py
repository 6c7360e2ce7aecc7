"""What `inspect` writes: never outside its folder, never over what Loupe did not make, and no name forges a line."""

import csv
import os
import unicodedata
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspect_core.cli import commands, inspector_options
from inspect_core.cli.evaluate import write_figures
from inspect_core.inspection import COLUMNS
from inspect_core.line.map_folder import output_names
from inspect_core.recipe_io.recipe_file import save
from inspect_core.verdict import NOT_JUDGED, Verdict
from tests.hostile.files import made, photo

NUMBERS = {"score", "percentile_among_good", "regions", "largest_region_pixels"}
NUMBERS |= {"review", "reject", "area", "milliseconds"}
HOSTILE_NAMES = (
    *("=1+1.png", "+1.png", "-1.png", "@sum.png", "'quoted.png", " =1.png", "＝1.png", "＋1.png", "﹣1.png", "＠1.png"),
    *("\t=1.png", "\r=1.png", "\n=1.png", "a\nreject     9.0000  b.png", "a\r\nb.png", "a\u2028b.png", "a\x85b.png"),
    *("\x1b[2J.png", "\x1b]0;title\x07.png", "\x9b2J.png", "a\bb.png", "\x7f.png", "\u202egnp.png", "\u200b.png"),
    *("b\udcff.png", "\udce4\udcbd.png", 'a",reject,"b.png', "a,b;c.png", "ü 一.png", "%s{}$(x)`y`.png", "\\n.png"),
)


def by_brightness(recipe, refused=None) -> SimpleNamespace:
    """An inspector whose score is the mean of the photo, less 100; it cannot judge the level `refused`."""

    def inspect(pixels):
        if pixels[0, 0, 0] == refused:
            raise ValueError("score is not finite")
        score = float(pixels.mean()) - 100
        word, anomaly_map = recipe.limits.decide(score)[0], np.full((4, 6), score, np.float32)
        return Verdict(score, word, anomaly_map, (), product_check="=1+1")

    facts = {"product": "tile", "digest": "d" * 64, "release": "", "limits": recipe.limits, "area": 12, "depth": None}
    return SimpleNamespace(
        **facts,
        at_once=1,
        prepare=lambda pixels: pixels,
        compute=lambda photos: photos,
        judge=inspect,
        good_scores=np.arange(9.0),
        calibration_digests=frozenset(),
        challenge_parts=(),
        engine="nothing",
    )


@pytest.fixture
def line(recipe, tmp_path, monkeypatch):
    """line(*arguments) inspects without a network: score and map tell photos apart by their mean. The exit code."""

    save(recipe, tmp_path / "recipe.zip")
    monkeypatch.setattr(inspector_options, "open_inspector", lambda path, **_: by_brightness(recipe))
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            return commands.main(["inspect", str(tmp_path / "recipe.zip"), *map(str, arguments)])
        except SystemExit as stop:
            return stop.code

    return run


def rows_of(path: Path) -> list[dict]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


ALIKE = {
    "one name in two folders": ["a/part.png", "b/part.png"],
    "one name in three folders": ["a/part.png", "b/part.png", "a/c/part.png"],
    "two formats": ["part.jpg", "part.png"],
    "every format": ["part.jpg", "part.jpeg", "part.png", "part.bmp", "part.tif", "part.tiff", "part.webp"],
    "numbers for an ending": ["part.000", "part.001"],
    "numbers before the ending": ["part.000.png", "part.001.png"],
    "letter case": ["Part.png", "part.PNG", "PART.png", "part.Png"],
    "accents": [unicodedata.normalize(form, "pärt.png") for form in ("NFC", "NFD")],
    "dots at the end": ["part", "part.", "part..", "part ", "part. ."],
    "dots before the ending": ["part.png", "part..png", "..png", "...png", "....png"],
    "a name that another would get": ["part.jpg", "part.png", "part.jpg.png", "part-2.png", "part.jpg.png.png"],
    "a folder that another's map would be": ["part.jpg", "part.png/b.png", "part.npy/c.png", "part.jpg.png/d.png"],
    "hidden, but named": [".png", ".png.png", ".part.png"],
    "long names": ["n" * 251 + ".png", "n" * 251 + ".jpg", "n" * 255, "n" * 250 + ".jpeg"],
    "signs of shells and pages": list(HOSTILE_NAMES),
}


@pytest.mark.parametrize(
    ("given_as", "alike"),
    [*(("relative", alike) for alike in ALIKE), *((way, "two formats") for way in ("absolute", "from beside"))],
)
def test_every_photo_has_its_own_maps_and_no_other_file_changes(line, tmp_path, tree, monkeypatch, given_as, alike):
    names = ALIKE[alike]
    photos = [photo(tmp_path / "photos" / name, level) for level, name in enumerate(names)]
    before = tree(tmp_path)
    if given_as == "from beside":
        (tmp_path / "beside").mkdir()
        monkeypatch.chdir(tmp_path / "beside")
    asked = photos if given_as == "absolute" else [os.path.relpath(path) for path in photos]
    asked = [path if not str(path).startswith("-") else f"./{path}" for path in asked]
    assert line("--maps", tmp_path / "maps", "--csv", tmp_path / "v.csv", "--", *asked) == 0
    after = tree(tmp_path)
    assert {path: after.get(path) for path in before} == before
    assert {PurePosixPath(path).parts[0] for path in after.keys() - before.keys()} <= {"maps", "v.csv", "beside"}
    maps = sorted(float(np.load(path)[0, 0]) for path in (tmp_path / "maps").rglob("*.npy"))
    assert maps == [level - 100.0 for level in range(len(names))]
    images = [path for path in (tmp_path / "maps").rglob("*.png") if path.is_file()]
    assert len(images) == len(names)
    assert all(path.with_name(path.name.removesuffix(".png") + ".npy").is_file() for path in images)
    assert len({row["name"] for row in rows_of(tmp_path / "v.csv")}) == len(names)
    written = tree(tmp_path / "maps")
    assert line("--maps", tmp_path / "maps", "--", *asked) == 0, "a second time"
    assert tree(tmp_path / "maps") == written


PARTS = st.text(st.sampled_from("aA.é1 -\\n"), min_size=1, max_size=4).filter(lambda part: part not in (".", ".."))
SOME_NAMES = st.builds(
    lambda front, folders, stem, ending: front + "/".join([*folders, stem]) + ending,
    st.sampled_from(["", "/", "../", "../../", "//"]),
    st.lists(PARTS, max_size=2),
    PARTS,
    st.sampled_from(["", ".png", ".jpg", ".PNG", ".000", ".npy", "."]),
)


@given(st.lists(SOME_NAMES, unique=True, min_size=1, max_size=12))
@settings(deadline=None)
@example(["a.png", "a.jpg", "a-2.png", "A.png", "/a.png", "../a.png"])
def test_output_names_are_relative_and_distinct_on_any_system(names):
    outputs = output_names(names)
    assert outputs == output_names(names)
    files = [f"{name}{ending}" for name in outputs for ending in (".png", ".npy")]
    assert len({unicodedata.normalize("NFKC", name).casefold() for name in files}) == len(files)
    for name in files:
        path = PurePosixPath(name)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert not any(other.startswith(f"{name}/") for other in files), "a file where another needs a folder"


def test_names_stay_as_they_are_where_they_can():
    assert output_names(["a.png", "sub/b.jpg", "sub/a.tif", "part.000"]) == ["a", "sub/b", "sub/a", "part.000"]
    assert output_names(["part.jpg", "part.png", "part/a.png"]) == ["part.jpg", "part.png", "part/a"]


IN_THE_WAY = {
    "a heatmap's name": lambda maps, elsewhere: photo(maps / "sub" / "part.png", 7),
    "a raw map's name": lambda maps, elsewhere: np.save(made(maps / "sub/part.npy"), np.zeros((4, 6), np.float32)),
    "a link for a heatmap": lambda maps, elsewhere: made(maps / "sub/part.png").symlink_to(elsewhere / "part.png"),
    "a hard link for a raw map": lambda maps, elsewhere: made(maps / "sub/part.npy").hardlink_to(
        elsewhere / "part.png"
    ),
    "a link to nothing": lambda maps, elsewhere: made(maps / "sub/part.png").symlink_to(elsewhere / "gone"),
    "a link to itself": lambda maps, elsewhere: made(maps / "sub/part.png").symlink_to("part.png"),
    "a folder for a heatmap": lambda maps, elsewhere: (maps / "sub/part.png").mkdir(parents=True),
    "a pipe": lambda maps, elsewhere: os.mkfifo(made(maps / "sub/part.npy")),
    "a link for a folder": lambda maps, elsewhere: made(maps / "sub").symlink_to(elsewhere),
    "a link for a folder, within": lambda maps, elsewhere: (
        (maps / "other").mkdir(parents=True) or (maps / "sub").symlink_to("other")
    ),
    "a file for a folder": lambda maps, elsewhere: photo(maps / "sub"),
    "a list of the user": lambda maps, elsewhere: made(maps / ".loupe-written").write_text("of the user\n"),
    "a link for the list": lambda maps, elsewhere: made(maps / ".loupe-written").symlink_to(elsewhere / "part.png"),
    "a pipe for the list": lambda maps, elsewhere: os.mkfifo(made(maps / ".loupe-written")),
    "a file for it all": lambda maps, elsewhere: photo(maps),
    "a pipe for it all": lambda maps, elsewhere: os.mkfifo(maps),
    "a link to nothing for it all": lambda maps, elsewhere: maps.symlink_to(elsewhere / "part.png" / "gone"),
}


@pytest.fixture
def refused(line, tmp_path, tree, capsys):
    """refused(*arguments) is the error of an inspection that judges and changes nothing."""

    def run(*arguments) -> str:
        before = tree(tmp_path)
        assert line(tmp_path / "photos", *arguments) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert tree(tmp_path) == before
        return output.err

    return run


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_obstacles_to_a_map_are_named_before_inspecting(refused, tmp_path, what):
    photo(tmp_path / "photos" / "sub" / "part.png")
    photo(tmp_path / "photos" / "another.png")
    IN_THE_WAY[what](tmp_path / "maps", photo(tmp_path / "elsewhere" / "part.png").parent)
    message = refused("--maps", tmp_path / "maps")
    assert str(tmp_path / "maps") in message or str(tmp_path / "elsewhere") in message
    assert "; " in message


def test_maps_that_the_user_changed_stay(line, refused, tmp_path, capsys):
    photo(tmp_path / "photos/part.png")
    assert line(tmp_path / "photos", "--maps", tmp_path / "maps") == 0
    capsys.readouterr()
    for name in ("part.png", "part.npy"):
        content = (tmp_path / "maps" / name).read_bytes()
        photo(tmp_path / "maps" / name, 9)
        refused("--maps", tmp_path / "maps")
        (tmp_path / "maps" / name).write_bytes(content)
    photo(tmp_path / "photos/part.png", 3)
    assert line(tmp_path / "photos", "--maps", tmp_path / "maps") == 0, "another map of the same photo"
    assert np.load(tmp_path / "maps/part.npy")[0, 0] == -97


@pytest.mark.parametrize("maps", ["photos/maps", "photos"])
def test_maps_among_the_photos_are_no_photos_the_next_time(line, tmp_path, maps):
    photo(tmp_path / "photos/part.jpg")
    for _ in range(3):
        assert line(tmp_path / "photos", "--maps", tmp_path / maps, "--csv", tmp_path / "v.csv") == 0
        assert [row["name"] for row in rows_of(tmp_path / "v.csv")] == ["part.jpg"]


TABLES_OF_OTHERS = {
    "a photo": lambda tmp: tmp / "photos" / "part.png",
    "the recipe": lambda tmp: tmp / "recipe.zip",
    "a text": lambda tmp: made(tmp / "t.txt").write_text("of the user") and tmp / "t.txt",
    "another table": lambda tmp: made(tmp / "t.csv").write_text("name,digest,score\na,b,1\n") and tmp / "t.csv",
    "an empty file": lambda tmp: (tmp / "t.csv").touch() or tmp / "t.csv",
    "a folder": lambda tmp: tmp / "photos",
    "a pipe": lambda tmp: os.mkfifo(tmp / "t.csv") or tmp / "t.csv",
    "a link to a table": lambda tmp: (
        (tmp / "u.csv").write_text("name,digest,score,verdict\n"),
        (tmp / "t.csv").symlink_to("u.csv"),
        tmp / "t.csv",
    )[-1],
    "a link to itself": lambda tmp: (tmp / "t.csv").symlink_to("t.csv") or tmp / "t.csv",
    "below a file": lambda tmp: tmp / "photos" / "part.png" / "t.csv",
    "in a recipe": lambda tmp: tmp / "open" / "t.csv",
    "a recipe's own table": lambda tmp: tmp / "open" / "calibration.csv",
}


@pytest.mark.parametrize("what", TABLES_OF_OTHERS)
def test_a_table_replaces_nothing_but_a_table(refused, recipe, tmp_path, tree, what):
    photo(tmp_path / "photos" / "part.png")
    save(recipe, tmp_path / "open")
    table = TABLES_OF_OTHERS[what](tmp_path)
    before = tree(tmp_path)
    assert str(table) in refused("--csv", table)
    with pytest.raises(OSError, match=r"; "):
        write_figures(table, [{"live": {}}])
    assert tree(tmp_path) == before


AT_ONE_PLACE = {
    "one name": ("--csv", "x", "--report", "x"),
    "another spelling": ("--csv", "x", "--report", "photos/../x"),
    "another letter case": ("--csv", "new/x", "--report", "new/X"),
    "through a link": ("--csv", "new/x", "--report", "link/x"),
    "a hard link": ("--csv", "table", "--report", "the same table"),
    "the journal": ("--csv", "x", "--report", "x.unfinished"),
    "one below the other": ("--csv", "x", "--report", "x/r.html"),
    "the folder of maps": ("--csv", "x", "--maps", "x"),
    "around the folder of maps": ("--csv", "x", "--maps", "x/maps"),
    "a heatmap": ("--report", "link/maps/sub/part.png", "--maps", "new/maps"),
    "a folder of heatmaps": ("--report", "new/maps/sub", "--maps", "new/maps"),
    "below a raw map": ("--csv", "new/maps/sub/part.npy/x", "--maps", "new/maps"),
    "the list of maps": ("--csv", "new/maps/.loupe-written", "--maps", "new/maps"),
}


@pytest.mark.parametrize("what", AT_ONE_PLACE)
def test_two_outputs_at_one_place_are_refused_before_reading(refused, tmp_path, what):
    photo(tmp_path / "photos" / "sub" / "part.png")
    (tmp_path / "new").mkdir()
    (tmp_path / "link").symlink_to("new")
    (tmp_path / "table").write_text("name,digest,score,verdict\n")
    (tmp_path / "the same table").hardlink_to(tmp_path / "table")
    assert "; choose another " in refused(*AT_ONE_PLACE[what])


def test_outputs_beside_each_other_and_among_the_maps_are_fine(line, tmp_path):
    photo(tmp_path / "photos" / "part.png")
    for _ in range(2):
        assert line(tmp_path / "photos", "--csv", "o/v.csv", "--report", "o/r.html", "--maps", "o") == 0
    written = sorted(path.name for path in (tmp_path / "o").iterdir())
    assert written == [".loupe-written", "part.npy", "part.png", "r.html", "v.csv"]


def test_a_table_and_figures_replace_their_own(line, tmp_path):
    photo(tmp_path / "photos" / "part.png")
    for _ in range(2):
        assert line(tmp_path / "photos", "--csv", tmp_path / "new" / "v.csv") == 0
        write_figures(tmp_path / "figures.json", [{"live": {"k": 3}, "image_auroc": 1.0}])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["v.csv"]


def test_names_are_escaped_in_the_table_and_on_the_terminal(line, tmp_path, capsys):
    for level, name in enumerate(HOSTILE_NAMES):
        photo(tmp_path / "photos" / name, level)
    damaged = [f"dud {name}" for name in HOSTILE_NAMES if not name.startswith("'")]
    for name in damaged:
        (tmp_path / "photos" / name).write_bytes(b"no photo")
    assert line(tmp_path / "photos", "--csv", tmp_path / "v.csv", "--maps", tmp_path / "maps") == 1
    output = capsys.readouterr()
    note, *lines = output.out.splitlines()
    assert note.startswith("Note: Verdicts are not compared with labels."), "some names hold a word for defective"
    assert len(lines) == len(HOSTILE_NAMES) + 1
    assert len(output.err.splitlines()) == len(damaged)
    for text in (*output.out.split("\n"), *output.err.split("\n")):
        assert text.isprintable()
    assert all(row.startswith("Not judged dud ") for row in output.err.splitlines())
    everything = rows_of(tmp_path / "v.csv")
    rows = [row for row in everything if row["verdict"] != NOT_JUDGED]
    assert len(rows) == len(HOSTILE_NAMES)
    assert len(everything) == len(HOSTILE_NAMES) + len(damaged)
    assert list(rows[0]) == list(COLUMNS)
    for row in rows:
        assert {float(row[column]) is not None for column in NUMBERS} == {True}
    for row in everything:
        for column in row.keys() - NUMBERS:
            assert row[column].isprintable()
            first = unicodedata.normalize("NFKC", row[column].lstrip()[:1])
            assert first not in ("=", "+", "-", "@"), row[column]
    names = {row["name"] for row in rows}
    assert {"'=1+1.png", "'-1.png", "''quoted.png", r"a\nreject     9.0000  b.png", r"b\udcff.png", "ü 一.png"} <= names
    assert {row["product_check"] for row in rows} == {"'=1+1"}
    assert {float(row["score"]) for row in rows} == {level - 100.0 for level in range(len(HOSTILE_NAMES))}


def test_what_fit_passes_over_inspect_passes_over(line, tmp_path):
    for name in ("part.png", "._part.png", ".hidden/part.png", "__MACOSX/._part.png", "sub/.b.jpg", "masks/part.png"):
        photo(tmp_path / "photos" / name)
    assert line(tmp_path / "photos", "--csv", tmp_path / "v.csv") == 0
    assert [row["name"] for row in rows_of(tmp_path / "v.csv")] == ["part.png"]
    assert line(tmp_path / "photos" / "._part.png", "--csv", tmp_path / "v.csv") == 0, "named, it is inspected"
    assert [row["name"] for row in rows_of(tmp_path / "v.csv")] == ["._part.png"]


def test_a_photo_that_cannot_be_judged_has_a_row_with_the_reason(line, recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(inspector_options, "open_inspector", lambda path, **_: by_brightness(recipe, refused=1))
    for level in range(3):
        photo(tmp_path / "photos" / f"{level}.png", level)
    assert line(tmp_path / "photos", "--csv", tmp_path / "v.csv") == 1
    output = capsys.readouterr()
    assert "Not judged 1.png: score is not finite" in output.err
    assert "Accepted 2 of 3; 1 not judged" in output.out
    rows = rows_of(tmp_path / "v.csv")
    assert [row["name"] for row in rows] == ["0.png", "1.png", "2.png"]
    assert [row["verdict"] for row in rows] == ["accept", NOT_JUDGED, "accept"]
    assert (rows[1]["score"], rows[1]["reason"]) == ("", "score is not finite")
