"""A label takes force only when the log has it."""

from types import SimpleNamespace

from inspect_core.audit.database import LogError
from inspect_core.audit.log import AuditLog
from inspect_core.ui.inspect import relabelling
from inspect_core.workbench.shelf import Shelf


def test_a_label_that_the_log_refused_changes_nothing(monkeypatch):
    photo = SimpleNamespace(name="a.png", digest="0" * 64, label="good", original_label=None)
    product = SimpleNamespace(id="1", product="tile", recipe_digest="", scored=SimpleNamespace(photos=[photo]))
    changed = []
    monkeypatch.setattr(Shelf, "change", lambda shelf, *change: changed.append(change) or "relabelled")
    monkeypatch.setattr(relabelling.defect_labels, "set_label", lambda *label: changed.append(label))

    def refuse(self, entries):
        raise LogError("the log is full")

    with monkeypatch.context() as patch:
        patch.setattr(AuditLog, "append_all", refuse)
        assert relabelling.take(product, 0, "defect") is product
    assert changed == []
    assert relabelling.take(product, 0, "defect") == "relabelled", "it can be repeated"
    assert len(changed) == 2
