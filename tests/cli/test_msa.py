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
    (tmp_path / "latin.csv").write_bytes(ROWS.replace("Ann", "Renée").encode("latin-1"))
    (tmp_path / "digits.csv").write_text(ROWS.replace("good,Ann,1,", "good,Ann,1_0,", 1))
    for name, why in (
        ("pipe", "pipe is not a file"), ("wide.csv", "wide.csv: field larger than field limit"),
        ("latin.csv", "latin.csv is not UTF-8 text"), ("digits.csv", "digits.csv: line 8: invalid value trial '1_0'"),
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
