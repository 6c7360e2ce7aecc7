"""How many good parts a new product sends to review, by how many good photos it was taught with, as measured."""

REVIEWED = {5: (17, 5, 35), 10: (20, 10, 30), 20: (12, 0, 30), 40: (10, 0, 20), 60: (13, 0, 25)}
"""Of 100 good parts above the review limit, by good photos: mean, least and most over the sample parts in the
study benchmarks/studies/engineers.py, which teaches as the app does.
"""


def expected_reviews(photos: int) -> tuple[int, int, int]:
    """Return how many of 100 good parts to expect above the review limit, mean, least and most over products.

    By the measured number next below `photos`, or the smallest.
    """
    measured = [count for count in REVIEWED if count <= max(photos, min(REVIEWED))]
    return REVIEWED[max(measured)]


def sentence(photos: int) -> str:
    """Say it, for so many good photos."""
    mean, least, most = expected_reviews(photos)
    return (
        f"Taught with {photos:d} good photos, about {mean} of 100 good parts go to review at first: {least} to {most} "
        "on the sample parts."
    )
