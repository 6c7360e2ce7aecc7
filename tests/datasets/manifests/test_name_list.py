"""Text files that name photos: of a side of a split, or of a condition."""

import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.photo_labels import UnclearLabels


def defective(photos, **reading):
    return sorted(photo.name for photo in scan(photos, **reading).defects)


@pytest.mark.parametrize("name", ["ng.txt", "NG parts.txt", "defect_list.txt", "Ausschuss.lst"])
def test_a_list_is_named_by_the_condition_of_its_photos(photos, name):
    (photos / name).write_text("lot 2/c.png\nd.png\n")
    with pytest.raises(UnclearLabels, match=f"only defective photos are named in {name}, and others lie beside"):
        scan(photos)
    assert defective(photos, labels="unlisted-good") == ["d.png", "lot 2/c.png"]
    (photos / "ok.txt").write_text("lot 1/b.png\n")
    assert defective(photos) == ["d.png", "lot 2/c.png"]
    assert [photo.name for photo in scan(photos).good] == ["lot 1/b.png"]


def test_a_list_may_leave_out_the_endings_of_its_photos(photos):
    (photos / "ng.txt").write_text("c\nlot 2/a\n")
    assert defective(photos, labels="unlisted-good") == ["lot 2/a.png", "lot 2/c.png"]


def test_a_text_with_other_lines_is_no_list(photos):
    (photos / "ng.txt").write_text("lot 2/c.png 17 scratches\n")
    assert len(scan(photos, labels="names").good) == 5
