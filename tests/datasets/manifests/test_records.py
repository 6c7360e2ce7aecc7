"""JSON that lists photos and labels, and JSON or text beside single photos."""

import json

import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.photo_labels import UnclearLabels

WANTED = {"lot 1/b.png": "good", "lot 2/c.png": "NG", "d.png": "good"}
LABELS = {"b.png": "OK", "c.png": "NG", "d.png": "OK"}


def kinds(dataset):
    return {sample.name: sample.label for sample in (*dataset.good, *dataset.defects)}


RECORDS = [{"image": name, "label": label} for name, label in LABELS.items()]
DOCUMENTS = {
    "a list": RECORDS,
    "a list in an object": {"version": 2, "station": "4", "parts": RECORDS},
    "nested": [{"image": {"path": name}, "inspection": {"result": label}} for name, label in LABELS.items()],
    "labels by photo": LABELS,
    "records by photo": {name: {"verdict": label, "exposure": 3} for name, label in LABELS.items()},
    "by stem": {name.removesuffix(".png"): label for name, label in LABELS.items()},
    "flags": [{"file": name, "is_defect": label == "NG"} for name, label in LABELS.items()],
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_records_are_read(photos, case):
    (photos / "labels.json").write_text(json.dumps(DOCUMENTS[case]))
    expected = WANTED | ({"lot 2/c.png": "defect"} if case == "flags" else {})
    assert kinds(scan(photos / "labels.json")) == expected
    assert [name for name, label in kinds(scan(photos)).items() if label != "good"] == ["lot 2/c.png"]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_a_record_a_line_is_read(photos, suffix):
    path = photos / f"labels{suffix}"
    path.write_text("\n".join(map(json.dumps, RECORDS)))
    assert kinds(scan(path)) == WANTED


SIDECARS = {
    "verdict among other fields": (".json", {"serial": "A7", "judgement": "{}", "operator": "Ana", "gain": 1.5}),
    "under an unknown name": (".json", {"serial": "A7", "sichtpruefung": "{}"}),
    "in an object": (".json", {"meta": {"exposure": 3}, "inspection": {"result": "{}"}}),
    "a word": (".txt", "{}\n"),
}


@pytest.mark.parametrize("case", SIDECARS)
def test_files_beside_photos_are_read(photos, case):
    suffix, content = SIDECARS[case]
    for path in photos.rglob("*.png"):
        text = content if isinstance(content, str) else json.dumps(content)
        path.with_suffix(suffix).write_text(text.replace("{}", "NG" if path.name == "c.png" else "OK"))
    labels = kinds(scan(photos))
    assert [name for name, label in labels.items() if label != "good"] == ["lot 2/c.png"]
    assert len(labels) == 5


def test_a_sidecar_that_says_nothing_of_the_part_is_no_label(photos):
    for name, content in {"d.json": {"gain": 1, "mode": "fail safe"}, "d.txt": "taken by Ana"}.items():
        (photos / name).write_text(json.dumps(content) if name.endswith(".json") else content)
    assert [photo.name for photo in scan(photos, labels="names").skipped if photo.role == "photo"] == ["d.png"]
    assert len(scan(photos, labels="none").good) == 5


@pytest.mark.parametrize(("word", "named"), [("OK", "not all"), ("NG", "only defective")])
def test_photos_without_a_sidecar_beside_one_are_asked_about(photos, word, named):
    (photos / "d.json").write_text(json.dumps({"result": word}))
    with pytest.raises(UnclearLabels, match=rf"{named} photos are named in d\.json, and others lie beside") as error:
        scan(photos)
    goods = {reading.key: len(reading.good) for reading in error.value.readings}
    assert goods == ({"names": 1, "none": 5} if word == "OK" else {"unlisted-good": 4, "none": 5})


def test_what_names_several_photos_is_about_none_of_them_alone(photos):
    by_lot = {"lot 1": {"image": "b.png", "result": "OK"}, "lot 2": {"image": "c.png", "result": "NG"}}
    (photos / "lots.json").write_text(json.dumps({"lots": by_lot}))
    with pytest.raises(UnclearLabels, match=r"were not understood \(lots\.json"):
        scan(photos)


def test_records_of_ever_new_fields_are_no_table(photos):
    records = [{"file": "b.png", f"field {number}": "NG"} for number in range(201)]
    (photos / "labels.json").write_text(json.dumps(records))
    assert len(scan(photos, labels="names").good) == 5
