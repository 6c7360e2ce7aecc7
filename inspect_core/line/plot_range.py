"""What a plot of scores can show: it divides and multiplies them, so the largest would leave the range of a float."""

MOST = 1e100


def is_plottable(*values: float) -> bool:
    """Whether all of these scores and limits can be drawn."""
    return all(abs(value) <= MOST for value in values)


def omitted_sentence(count: int) -> str:
    """A sentence on the parts that were left out; "" for none."""
    parts = "1 part" if count == 1 else f"{count:,} parts"
    return f"Not plotted: {parts} with a score or limit beyond ±{MOST:.0e}." if count else ""
