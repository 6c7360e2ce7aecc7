from inspect_core.process.regression import Regression, Rejudged


def part(name: str, kind: str, before: str, after: str) -> Rejudged:
    return Rejudged(name, kind, before, after, "teaching")


def test_what_changes_begins_with_escapes_and_good_parts_no_longer_accepted():
    parts = [part("same", "good", "accept", "accept"), part("unknown", "", "reject", "accept"),
             part("stopped", "good", "accept", "review"), part("dent", "dent", "review", "accept"),
             part("missed before", "dent", "accept", "accept"), part("found", "dent", "accept", "reject")]  # fmt: skip
    found = Regression(parts, ("2 parts not judged again.",))
    assert [one.name for one in found.changed] == ["dent", "stopped", "unknown", "found"]
    assert [one.name for one in found.escapes] == ["dent"], "what nobody knows to be defective cannot escape"
    said = found.sentences()
    assert said[0] == "6 parts judged before: 4 would get another verdict."
    assert "Known defects that would now be accepted: 1 (dent)." in said
    assert said[-1] == "2 parts not judged again."
