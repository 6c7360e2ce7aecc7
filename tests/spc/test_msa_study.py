"""A measurement study on disk: what it refuses, in which order it leads, that it resumes."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inspect_core.spc import msa_study
from inspect_core.spc.agreement import Appraisal, agreement
from inspect_core.spc.msa_report import guard_bands, report_sentences, results, table_of, verdict_sentence
from inspect_core.spc.msa_study import LOUPE, AppraisalRecord, MsaStudy, StudyPart, parts_of

TRAY = parts_of("1, good\n2;GOOD\n\n3\tdefective")


def study(people=(), **changed) -> MsaStudy:
    begun = MsaStudy("Line 4", TRAY, 2, people, "part.zip", "d" * 64, "2026-01-01T00:00:00+00:00")
    return replace(begun, **changed)


def finished(begun: MsaStudy, who: str, scores=(1.0, 2.0, 9.0)) -> list[AppraisalRecord]:
    records, truth = [], [part.name for part in begun.parts]
    while (turn := begun.next_for(who)) is not None:
        part, trial = turn
        score = scores[truth.index(part.name)] * (1 + 0.01 * trial)
        record = AppraisalRecord(
            part.name, who, trial, part.defective, score if who == LOUPE else None, f"{who}{part.name}{trial}"
        )
        begun = begun.with_appraisal(record)
        records.append(record)
    return records


def test_tray_is_read_by_line_and_a_useless_study_refused():
    assert (StudyPart("1", False), StudyPart("2", False), StudyPart("3", True)) == TRAY
    with pytest.raises(ValueError, match="Line 2, “2 good”: write a name"):
        parts_of("1, good\n2 good")
    for changed, why in (
        ({"parts": TRAY[:2]}, "A study needs good and defective parts,"),
        ({"parts": (*TRAY, TRAY[0])}, "written on it"),
        ({"trials": 1}, "2 to 20 trials, this one 1; choose"),
        ({"people": ("Ann", LOUPE)}, "other than Loupe"),
    ):
        with pytest.raises(ValueError, match=why):
            study(**changed)


def test_study_shuffles_parts_each_trial_and_resumes(workspace):
    begun = study(("Ann",))
    msa_study.save(begun)
    records = finished(begun, LOUPE)
    assert [record.trial for record in records] == [1] * 3 + [2] * 3
    assert {record.part for record in records[:3]} == {record.part for record in records[3:]} == {"1", "2", "3"}
    for record in records[:4]:
        msa_study.record("Line-4", record)
    restored = msa_study.load("Line-4")
    assert restored.appraisals == tuple(records[:4])
    assert restored.next_for(LOUPE)[0].name == records[4].part
    assert restored.readings() == [], "an appraiser counts when everything is said"
    assert msa_study.names() == ["Line-4"]
    assert msa_study.free_name("Line 4") == "Line 4 2"


def test_repeated_photo_and_refused_trial_store_nothing(workspace):
    msa_study.save(study())
    first, *others = finished(study(), LOUPE)
    msa_study.record("Line-4", first)
    with pytest.raises(ValueError, match="photograph it again"):
        msa_study.record("Line-4", others[0], replace(others[1], digest=first.digest))
    with pytest.raises(ValueError, match="already"):
        msa_study.record("Line-4", replace(first, digest="new"))
    assert msa_study.load("Line-4").appraisals == (first,)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"parts": [["1", "good"]]}', b'{"parts": 3}', b"\x80"])
def test_a_damaged_file_is_refused_by_name(workspace, content):
    msa_study.folder().mkdir(parents=True)
    (msa_study.folder() / "bad.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.json is damaged"):
        msa_study.load("bad")


def test_results_state_what_the_study_does_not_prove():
    begun = study(("Ann",))
    for who in begun.appraisers:
        for record in finished(begun, who):
            begun = begun.with_appraisal(record)
    result = results(begun.readings())
    assert list(table_of(result.agreement)) == ["", LOUPE, "Ann"]
    report = " ".join(report_sentences(result))
    assert (
        "a miss rate of at most 77.6% (one-sided; the table's intervals are two-sided); to show 2% takes 149 " in report
    )
    assert "Kappa between Loupe and Ann: 1.00" in report
    assert result.gauge is not None
    assert "95 of 100 repeats" in guard_bands(result.gauge, 3.0, 4.0)
    assert results([record for record in begun.readings() if record.appraiser == "Ann"]).gauge is None


def test_a_copy_is_a_study_of_its_own(workspace):
    msa_study.save(study(("Ann",)))
    folder = msa_study.folder()
    shutil.copy(folder / "Line-4.json", folder / "Line-4-backup.json")
    before = (folder / "Line-4.json").read_bytes()
    msa_study.record("Line-4-backup", AppraisalRecord("1", "Ann", 1, False))
    assert (folder / "Line-4.json").read_bytes() == before
    assert len(msa_study.load("Line-4-backup").appraisals) == 1


@pytest.mark.slow
def test_two_servers_lose_no_call(workspace):
    parts = tuple(StudyPart(str(number), number % 2 == 0) for number in range(40))
    msa_study.save(study(("Ann", "Ben"), parts=parts))
    code = (
        "import sys; from inspect_core.spc import msa_study as s\n"
        "for n in range(40): s.record('Line-4', s.AppraisalRecord(str(n), sys.argv[1], 1, False))"
    )
    root = Path(__file__).parents[2]
    servers = [subprocess.Popen([sys.executable, "-c", code, who], cwd=root) for who in ("Ann", "Ben")]
    assert [server.wait(60) for server in servers] == [0, 0]
    assert len(msa_study.load("Line-4").appraisals) == 80


@pytest.mark.parametrize("value", [None, 3, [], {}, True])
@pytest.mark.parametrize(
    "name", ["name", "trials", "human_appraisers", "recipe", "digest", "started_at", "parts", "appraisals"]
)
def test_a_field_of_another_type_is_refused_in_words(workspace, name, value):
    msa_study.save(study(("Ann",)))
    path = msa_study.folder() / "Line-4.json"
    document = json.loads(path.read_text())
    if (name, value) in (("appraisals", []), ("trials", 3), ("human_appraisers", [])):
        return
    path.write_text(json.dumps(document | {name: value}))
    with pytest.raises(ValueError, match=r"Line-4\.json is damaged"):
        msa_study.load("Line-4")


def test_the_verdict_is_that_of_the_worst_band():
    def verdict(defective: int, *, missed: int = 0, good: int = 60, stopped: int = 0) -> str:
        parts = [(f"g{n}", False, n < stopped) for n in range(good)]
        parts += [(f"d{n}", True, n >= missed) for n in range(defective)]
        calls = [Appraisal(name, bad, LOUPE, trial, call) for trial in (1, 2) for name, bad, call in parts]
        return verdict_sentence(agreement(calls))

    assert verdict(80) == "Capable: misses, false alarms and effectiveness of Loupe are acceptable"
    assert verdict(60, missed=6) == "Not capable: Loupe accepted 12 of 120 appraisals of defective parts"
    assert verdict(80, stopped=4) == "Marginal: Loupe did not accept 8 of 120 appraisals of good parts"
    assert verdict(4, good=4).startswith("Too few parts to judge: Loupe accepted 0 of 8")
