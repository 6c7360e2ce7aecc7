import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.photo_labels import UnclearLabels

WANTED = {"lot 1/b.png": "good", "lot 2/c.png": "scratch", "d.png": "good"}


def kinds(dataset):
    return {sample.name: sample.label for sample in (*dataset.good, *dataset.defects)}


def written(folder, text, name="labels.csv", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("header", ["", "file{0}label\n", "Image{0}Defect type\r\n"])
@pytest.mark.parametrize("good", ["good", "OK", "normal", "i.O."])
def test_tables_as_they_come(photos, delimiter, header, good):
    text = header.format(delimiter) + "\n".join(
        delimiter.join(row) for row in (("b.png", good), ("lot 2/c.png", "scratch"), ("d.png", good))
    )
    assert kinds(scan(written(photos, text))) == WANTED


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_encodings_of_spreadsheets(photos, encoding):
    table = written(photos, "b.png;gut\nd.png;ok\nc.png;Gußfehler\n", encoding=encoding)
    assert kinds(scan(table)) == WANTED | {"lot 2/c.png": "Gußfehler"}


def test_label_column_may_stand_anywhere_and_names_be_quoted(photos):
    assert kinds(scan(written(photos, "good,b.png\nscratch,c.png\ngood,d.png\n"))) == WANTED
    text = 'lot;Label;file\n1;good;b.png\n2;scratch;"c.png"\n3;good;d.png\n'
    assert kinds(scan(written(photos, text))) == WANTED
    (photos / "d.png").rename(photos / "d,1.png")
    assert kinds(scan(written(photos, 'b.png,ok\n"d,1.png",ok\n'))) == {"lot 1/b.png": "good", "d,1.png": "good"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column contains photo names"),
        ("v,w\nx,y\n", "no column contains photo names"),
        ("b.png,3,4\nc.png,5,6\n", "line 1: cannot tell which of its 3 columns contains the label"),
        ("b.png\nc.png\n", "it has no column of labels"),
        ("file,label\nb.png,good\nc.png\n", "line 3: it has fewer columns"),
        ("b.png,good\nc.png,\0\n", "it is not a text that can be read; save it as UTF-8"),
        ('b.png,"' + "x" * 200_000 + '"\n', "it is not a table"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(photos, refused, text, words):
    refused(written(photos, text, encoding="latin-1"), words)


def test_photos_without_endings_below_an_unknown_heading(photos):
    assert kinds(scan(written(photos, "nr,label\nb,good\nc,scratch\nd,good\n"))) == WANTED


def test_classes_in_columns_of_0_and_1(photos):
    text = "filename, dent, scratch\nb.png, 0, 0\nc.png, 0, 1\nd.png, 0, 0\n"
    assert kinds(scan(written(photos, text))) == WANTED
    text = "filename, type_a, type_b\nb.png, 0, 0\nc.png, 0, 1\nd.png, 0, 0\n"
    classes = written(photos, text, "_classes.csv")
    with pytest.raises(UnclearLabels, match="which of these are good parts: type_b"):
        scan(classes)
    assert kinds(scan(classes, labels="names")) == WANTED | {"lot 2/c.png": "type_b"}
    classes.unlink()
    text = "filename, good, scratch, dent\nb.png, 1, 0, 0\nc.png, 0, 1, 1\nd.png, 1, 0, 0\n"
    assert kinds(scan(written(photos, text))) == WANTED


@pytest.mark.parametrize("columns", ["defect, good", "is_defective, ok"])
def test_classes_good_and_defective_in_columns_of_0_and_1(photos, columns):
    text = f"filename, {columns}\nb.png, 0, 1\nc.png, 1, 0\nd.png, 0, 1\n"
    assert [photo.name for photo in scan(written(photos, text)).defects] == ["lot 2/c.png"]
    text = f"filename, {columns}\nb.png, 0, 1\nc.png, 1, 0\nd.png, 0, 0\n"
    assert len(scan(written(photos, text)).good) == 1, "a photo of neither class has no label"


def test_columns_of_0_and_1_that_are_no_classes_are_no_labels(photos, refused):
    refused(written(photos, "file,backlight,ring\nb.png,0,1\nc.png,1,1\n"), "cannot tell which of its 3 columns")
