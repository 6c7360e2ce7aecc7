"""Where the part lies, below the bench."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np

from inspect_core.images.located import Located
from inspect_core.ui.inspect import alignment_panel


def test_names_of_lost_photos_are_shown_as_they_are(monkeypatch):
    """A table of data shows text literally: escaping it would show the escapes."""
    shown = MagicMock()
    shown.slider.return_value = 50
    monkeypatch.setattr(alignment_panel, "st", shown)
    picture = np.zeros((20, 20, 3), np.uint8)
    located = Located(np.eye(2, 3), (20, 20), (20, 20), 1.0, 1.0, 1.0)
    taught = SimpleNamespace(
        id="a",
        preparation=SimpleNamespace(alignment=SimpleNamespace(reference=picture, sentences=list)),
        scored=SimpleNamespace(photos=[SimpleNamespace(placed=SimpleNamespace(located=located))]),
        study=SimpleNamespace(lost={"part_01.png": "not found: <too_dark>"}),
    )
    alignment_panel.show(taught, 0, picture)
    assert shown.dataframe.call_args.args[0] == {"Photo": ["part_01.png"], "Reason": ["not found: <too_dark>"]}
