"""The gallery of a recipe: known, new and foreign parts, what a label is worth, and its round trip."""

import numpy as np
import pytest

from inspect_core.tuning.known_cases_training import learn
from inspect_core.whole_part.known_cases import Case, KnownCases, picture_of, strangest_box

WIDTH = 24
_DIRECTIONS = np.random.default_rng(0).standard_normal((4, WIDTH))


def embeddings(kind: int, count: int, seed: int) -> np.ndarray:
    """(count, 24) rows about one of four directions: 0 good, 1 and 2 defects, 3 foreign."""
    rng = np.random.default_rng((kind, seed))
    return (_DIRECTIONS[kind] + 0.15 * rng.standard_normal((count, WIDTH))).astype(np.float32)


def case(embedding, name, kind, *, note="", group=None):
    return Case(embedding, np.full((64, 64, 3), len(name), np.uint8), f"digest of {name}", name, kind, note, group)


@pytest.fixture(scope="module")
def known():
    rows = [case(row, f"good{i}", "good") for i, row in enumerate(embeddings(0, 40, 0))]
    rows += [case(row, f"dent{i}", "dent") for i, row in enumerate(embeddings(1, 6, 0))]
    return learn(rows, by_region=True)


def test_a_known_defect_finds_its_like_and_a_good_part_good_ones(known):
    (dent,), (good,) = embeddings(1, 1, 9), embeddings(0, 1, 9)
    assert {match.kind for match in known.nearest(dent, count=3)} == {"dent"}
    assert {match.kind for match in known.nearest(good, count=3)} == {"good"}


def test_a_foreign_part_is_like_nothing_until_it_is_added(known):
    (foreign,) = embeddings(3, 1, 9)
    like = foreign + np.float32(0.02)
    assert known.nearest(foreign, count=3) == []
    more = known.add(case(foreign, "glove", "foreign body", note="left in the fixture"))
    found = more.nearest(like, count=3)
    assert [(match.name, match.kind, match.note) for match in found] == [
        ("glove", "foreign body", "left in the fixture")
    ], "and like nothing else, for it is far from all else"
    assert known.nearest(foreign, count=3) == [], "the cases before are as they were"
    assert more.without(len(more.gallery.names) - 1).nearest(like, count=3) == []


def test_one_example_of_a_rare_kind_is_found_again():
    rows = [case(row, f"good{i}", "good") for i, row in enumerate(embeddings(0, 40, 0))]
    (scratch,) = embeddings(2, 1, 0)
    known = learn([*rows, case(scratch, "scratch", "scratch")], by_region=True)
    assert known.nearest(scratch + np.float32(0.02), count=1)[0].kind == "scratch"


def test_a_part_is_not_its_own_like(known):
    dent = known.gallery.embeddings[known.gallery.names.index("dent2")]
    names = [match.name for match in known.nearest(dent, count=5, besides="digest of dent2")]
    assert len(names) == 5
    assert "dent2" not in names
    assert known.nearest(dent, count=1)[0].name == "dent2"


@pytest.mark.slow
def test_the_limit_is_the_99_quantile_of_good_parts_that_were_set_aside_by_group():
    good = embeddings(0, 40, 0)
    rows = [case(row, f"good{i}", "good", group=i // 4) for i, row in enumerate(good)]
    known = learn(rows, by_region=False)
    aside = np.array([i // 4 % 2 == 1 for i in range(40)])
    assert known.limit == known.suggested == np.quantile(known.surface.score(good[aside]), 0.99)
    few = learn(rows[:6], by_region=False)
    assert few.limit == np.quantile(few.surface.score(good[:6]), 0.99), "with too few to fit nobody is set aside"
    alone = learn([case(row, f"g{i}", "good", group=0) for i, row in enumerate(good)], by_region=False)
    assert alone.limit == np.quantile(alone.surface.score(good), 0.99), "one group only sets its own limit"


def test_the_limit_moves_and_nothing_else(known):
    (dent,) = embeddings(1, 1, 9)
    assert known.with_limit(0).nearest(dent, count=3) == []
    assert known.with_limit(9).nearest(embeddings(3, 1, 9)[0], count=3) != known.nearest(dent, count=3)
    for limit in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="limit"):
            known.with_limit(limit)


def test_round_trip_gives_the_same_answers_to_the_bit(known):
    more = known.add(case(embeddings(3, 1, 1)[0], "glove", "foreign body", note="ä · 手"))
    again = KnownCases.from_arrays(more.arrays(), more.params())
    for kind in range(4):
        (row,) = embeddings(kind, 1, 5)
        assert again.nearest(row, count=5) == more.nearest(row, count=5)
    assert (again.limit, again.suggested, again.by_region) == (more.limit, more.suggested, True)
    np.testing.assert_array_equal(again.pictures, more.pictures)


def test_too_few_cases_are_refused():
    with pytest.raises(ValueError, match="0 known parts"):
        learn([], by_region=True)
    rows = [case(row, f"good{i}", "good") for i, row in enumerate(embeddings(0, 4, 0))]
    with pytest.raises(ValueError, match="4 known parts"):
        learn(rows, by_region=True)


def test_pictures_and_gallery_belong_together(known):
    with pytest.raises(ValueError, match="1 pictures for 46 known parts"):
        KnownCases(known.gallery, known.surface, 1.0, 1.0, known.pictures[:1], known.digests, True)
    with pytest.raises(ValueError, match="45 digests for 46 known parts"):
        KnownCases(known.gallery, known.surface, 1.0, 1.0, known.pictures, known.digests[1:], True)


def test_two_photos_of_one_name_are_two_parts(known):
    a, b = embeddings(3, 1, 1)[0], embeddings(2, 1, 1)[0]
    both = known.add(Case(a, known.pictures[0], "a", "IMG_1.jpg", "glove"))
    both = both.add(Case(b, known.pictures[0], "b", "IMG_1.jpg", "scratch"))
    assert both.nearest(b, count=1, besides="a")[0].kind == "scratch"
    assert both.without(both.row_of("a")).row_of("b") == 46
    assert both.row_of("c") is None


def test_the_strangest_spot_is_boxed_in_pixels_of_the_photo():
    pixel_map = np.zeros((32, 64), np.float32)
    pixel_map[24, 16] = 1
    x0, y0, x1, y1 = strangest_box(pixel_map, (320, 640))
    assert x0 < 165 <= x1
    assert y0 < 245 <= y1
    pixel_map[31, 63] = 2
    assert strangest_box(pixel_map, (320, 640))[2:] == (640, 320)


def test_the_picture_shows_what_the_embedding_looked_at():
    image = np.zeros((200, 300, 3), np.uint8)
    image[50:110, 100:160] = 255
    assert picture_of(image, None).shape == (64, 64, 3)
    assert picture_of(image, (120, 70, 140, 90)).min() == 255
    assert picture_of(image, (0, 0, 20, 20)).max() == 0
