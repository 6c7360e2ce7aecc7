"""A sample of patches that is drawn photo by photo, merged, carried, and taken apart again."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.methods.patch_sampling import PatchSampler
from tests.examples import examples

PLACES = 12


def drawn(numbers: list[int], photos: int, count: int) -> PatchSampler:
    patches = torch.stack([torch.arange(PLACES * 2.0).reshape(PLACES, 2) + 100 * number for number in numbers])
    return PatchSampler(count, photos, seed=3).draw(patches, numbers)


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(2, 20), st.integers(1, 60), st.data())
def test_without_some_photos_it_is_what_the_others_gave(photos, count, data):
    order = data.draw(st.permutations(range(photos)))
    cut = data.draw(st.integers(1, photos - 1))
    first, other = (drawn(sorted(part), photos, count) for part in (order[:cut], order[cut:]))
    whole = drawn([*range(photos)], photos, count)
    merged = drawn(sorted(order[:cut]), photos, count).merge(other)
    assert torch.equal(merged.rows(), whole.rows())
    carried = PatchSampler(count, photos, seed=3).restore(other.state())
    assert torch.equal(carried.rows(), other.rows())
    assert torch.equal(merged.without(carried).rows(), first.rows())
    assert torch.equal(merged.rows(), whole.rows()), "it stays as it is"


def test_an_empty_sample_is_carried_too():
    assert PatchSampler(5, 2, 0).restore(PatchSampler(5, 2, 0).state()).state() == {}
