"""Inspections are read with their last override, those of one recipe also behind thousands of another."""

from inspect_core.audit.entry import INSPECTION, OVERRIDE, NewLogEntry
from inspect_core.audit.inspections import read


def test_a_rejected_part_is_found_behind_those_of_other_recipes(log):
    first = log.append(INSPECTION, {"name": "a.png", "verdict": "accept"}, user="Ana", product="nut", recipe="mine")
    log.append(OVERRIDE, {"entry": first.number, "verdict": "reject"}, user="Ana", product="nut", recipe="mine")
    log.append_all([NewLogEntry(INSPECTION, {"name": f"{n}.png"}, "Ben", "bolt", "other", f"k{n}") for n in range(20)])
    assert read(log, most=20)[-1].recipe == "other"
    [inspection] = read(log, recipe="mine", most=20)
    assert (inspection.name, inspection.final_verdict) == ("a.png", "reject")
