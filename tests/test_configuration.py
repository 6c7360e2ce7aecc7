"""What the configuration promises at a start: no question first, nothing sent, one address."""

import tomllib
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[1] / ".streamlit" / "config.toml"


def test_the_first_start_asks_nothing_and_listens_on_this_machine_alone():
    settings = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    assert settings["server"]["showEmailPrompt"] is False
    assert settings["logger"]["hideWelcomeMessage"] is True
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["browser"]["gatherUsageStats"] is False
