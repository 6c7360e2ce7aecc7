from inspect_core.cli.commands import main


def test_doctor_says_what_is_there(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for word in ("torch ", "device:", "weights of efficientnet_lite0", "workspace:"):
        assert word in printed
