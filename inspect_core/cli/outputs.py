"""The files of figures and texts that the command line writes. None replaces what Loupe did not make: a file of figures
is Loupe's when it begins as one.
"""

import json
from pathlib import Path

from inspect_core.package.place import check_own
from inspect_core.runtime.unfinished import replacing

_FIGURES_BEGIN = b'[\n {\n  "live": '


def write_figures(path: Path, figures: list[dict]) -> None:
    """Write rows of figures, of which each has "live" as its first field, as JSON. Raises PlaceError as
    `check_figures` does, and as `write_text`."""
    check_figures(path)
    write_text(path, json.dumps(figures, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8 where nothing stands in the way. Raises OSError when the disk is full or not writable."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8", newline="")


def check_figures(path: Path) -> None:
    """Raise PlaceError, naming it, when something stands at `path` that does not begin as figures do."""
    check_own(path, _FIGURES_BEGIN, "a file of figures")
