"""`measure`: a table of appraisals in, sentences and figures out."""

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
    assert main(["measure", str(tmp_path / "study.csv")]) == 0
    said = capsys.readouterr().out
    assert "Parts called right in every trial (effectiveness): Loupe 3 of 3, 100.0 %" in said
    assert "distinct categories" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("part,truth\n1,good\n", "no column 'appraiser'"),
        (ROWS.replace("1,good,Ann,1,accept", "1,good,Ann,1,perhaps"), "line 8: 'perhaps' cannot be read"),
        (ROWS.rsplit("\n", 1)[0], "Ann has not called part 3 in trial 2"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(tmp_path, capsys, text, why):
    (tmp_path / "study.csv").write_text(text)
    assert main(["measure", str(tmp_path / "study.csv")]) == 2
    assert why in capsys.readouterr().err
