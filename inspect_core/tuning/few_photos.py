"""How many good parts a new product sends to review, by how many good photos it was taught with, as measured."""

REVIEWED = {5: (17, 5, 35), 10: (20, 10, 30), 20: (12, 0, 30), 40: (10, 0, 20), 60: (13, 0, 25)}
"""Of 100 good parts above the review limit, by good photos: mean, least and most over the sample parts in the
study benchmarks/studies/engineers.py, which teaches as the app does.
"""


def measured_below(photos: int) -> int:
    """The largest number of photos measured that is not above `photos`, or the smallest measured."""
    return max(count for count in REVIEWED if count <= max(photos, min(REVIEWED)))


def sentence(photos: int) -> str:
    """Say what was measured for about so many good photos."""
    count = measured_below(photos)
    mean, least, most = REVIEWED[count]
    return (
        f"The sample parts, taught with {count} good photos each: about {mean} of 100 good parts go to review "
        f"({least} to {most}, by part)."
    )
