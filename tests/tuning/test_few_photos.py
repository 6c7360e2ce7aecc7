"""What Teach says of few photos is what was measured, in the protocol of the app."""

import pytest

from benchmarks.measure import kept
from inspect_core.tuning.few_photos import REVIEWED, measured_below, sentence


def test_the_figures_are_those_of_the_study():
    by_set = kept("studies/engineers")["by_count"].values()
    counts = set.intersection(*(set(sizes) for sizes in by_set))
    measured = {}
    for count in counts:
        above = [sizes[count]["detectors"]["default"]["above_5_percent"] for sizes in by_set]
        measured[int(count)] = (round(sum(above) / len(above)), round(min(above)), round(max(above)))
    assert measured == REVIEWED


@pytest.mark.parametrize(("photos", "count"), [(1, 5), (5, 5), (9, 5), (10, 10), (59, 40), (60, 60), (5_000, 60)])
def test_the_number_next_below_speaks(photos, count):
    assert measured_below(photos) == count
    assert f"taught with {count} good photos" in sentence(photos)
    assert f"about {REVIEWED[count][0]} of 100 good parts go to review" in sentence(photos)
