"""Words for a user: numbers with their noun, names in a line, and what comes from outside made safe to show."""

LONGEST_REASON = 2_000
"""Characters of a message to the user, whatever it quotes."""


def shorten(text: str) -> str:
    """A message of at most about LONGEST_REASON characters, without its middle if it is longer."""
    if len(text) <= LONGEST_REASON:
        return text
    return f"{text[: LONGEST_REASON // 2]} … {text[-LONGEST_REASON // 2 :]}"


def escape_line(text: str) -> str:
    """Text on one line: escapes stand for line ends, terminal controls and bytes that are no UTF-8."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def pluralise(count: int, noun: str, plural: str = "") -> str:
    """ "1 photo", "2 photos"; plural: where it is not the noun with an s."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {plural or f'{noun}s'}"


def duration(seconds: float) -> str:
    """A duration in readable units: 40 s, 3 min, 1 h 20 min."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def join_first_names(names: list[str], *, most: int = 3) -> str:
    """The first names, and how many more there are."""
    first = ", ".join(names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most} more"
