"""`msa`: a table of appraisals in, sentences and figures out."""

import os
import re

import pytest

from inspect_core.cli.commands import main

ROWS = "part,truth,appraiser,trial,verdict,score\n" + "\n".join(
    f"{part},{'defective' if part == 3 else 'good'},{who},{trial},{'reject' if part == 3 else 'accept'},"
    + (f"{part + trial / 10}" if who == "Loupe" else "")
    for who in ("Loupe", "Ann")
    for part in (1, 2, 3)
    for trial in (1, 2)
)


def test_a_table_is_measured(tmp_path, capsys):
    (tmp_path / "study.csv").write_text(ROWS)
    assert main(["msa", str(tmp_path / "study.csv")]) == 0
    output = capsys.readouterr().out
    assert "Effectiveness (parts appraised correctly in all trials): Loupe 3 of 3, 100.0%" in output
    assert "distinct categories" in output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("part,truth\n1,good\n", "no column 'appraiser'"),
        (ROWS.replace("1,good,Ann,1,accept", "1,good,Ann,1,perhaps"), "line 8: invalid value 'perhaps'"),
        (ROWS.rsplit("\n", 1)[0], "Ann has not appraised part 3 in trial 2"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(tmp_path, capsys, text, why):
    (tmp_path / "study.csv").write_text(text)
    assert main(["msa", str(tmp_path / "study.csv")]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes as on Unix")
def test_what_is_no_table_is_refused_at_once(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "wide.csv").write_text(ROWS + "\n" + "x" * 200_000)
    (tmp_path / "binary.csv").write_bytes(ROWS.encode() + b"\0\1\2")
    (tmp_path / "digits.csv").write_text(ROWS.replace("good,Ann,1,", "good,Ann,1_0,", 1))
    for name, why in (
        ("pipe", "pipe is not a file"), ("wide.csv", "wide.csv: field larger than field limit"),
        ("binary.csv", "binary.csv: it is no text"), ("digits.csv", "digits.csv: line 8: invalid value trial '1_0'"),
    ):  # fmt: skip
        assert main(["msa", str(tmp_path / name)]) == 2
        assert why in capsys.readouterr().err
    assert main(["msa", "/dev/zero"]) == 2


def test_scores_that_are_all_the_same_say_nothing_of_measuring(tmp_path, capsys):
    (tmp_path / "study.csv").write_text(re.sub(r",[0-9.]+$", ",5", ROWS, flags=re.MULTILINE))
    assert main(["msa", str(tmp_path / "study.csv")]) == 0
    output = capsys.readouterr().out
    assert "All scores are the same" in output
    assert "nan" not in output


WORDS = {
    "OK and NG": ("OK", "NG"),
    "pass and fail": ("Pass", "Fail"),
    "1 and 0": ("1", "0"),
    "i.O.": ("i.O.", "n.i.O."),
}


@pytest.mark.parametrize("words", WORDS)
def test_words_and_columns_of_other_programs_are_read(tmp_path, capsys, words):
    good, defective = WORDS[words]
    heading = "Part;Reference;Operator;Trial;Response"
    cells = [[part, who, trial] for part in (1, 2, 3) for who in ("Ann", "Renée") for trial in (1, 2)]
    rows = []
    for part, who, trial in cells:
        word = defective if part == 3 else good
        rows.append(f"{part};{word};{who};{trial};{word}")
    (tmp_path / "study.csv").write_bytes("\n".join([heading, *rows]).encode("cp1252"))
    assert main(["msa", str(tmp_path / "study.csv")]) == 0
    output = capsys.readouterr().out
    assert "Renée 3 of 3, 100.0%" in output
    assert ("1 is read as acceptable" in output) == (words == "1 and 0")


def test_the_sheet_of_aiag_is_read(tmp_path, capsys):
    rows = ["Part,A-1,A-2,B-1,B-2,Reference", "1,1,1,1,1,1", "2,0,0,0,1,0", "3,1,1,1,1,1"]
    (tmp_path / "sheet.csv").write_text("\n".join(["Study of 29 November", *rows]))
    assert main(["msa", str(tmp_path / "sheet.csv")]) == 0
    output = capsys.readouterr().out
    assert "A 3 of 3, 100.0%" in output
    assert "B 2 of 3, 66.7%" in output
