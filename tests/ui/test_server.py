"""Whose requests the server answers: its own pages', and those of a proxy that the settings name."""

import pytest
from starlette.datastructures import Headers
from streamlit import config

from inspect_core.ui import server

HOST = "127.0.0.1:8501"
AT_A_PROXY = {"server.corsAllowedOrigins": ["https://plant.example"], "browser.serverAddress": "loupe.example"}


@pytest.mark.parametrize(
    ("origin", "is_own", "at_a_proxy"),
    [
        (None, True, True),
        ("http://127.0.0.1:8501", True, True),
        ("HTTP://127.0.0.1:8501", True, True),
        ("http://127.0.0.1:8502", False, False),
        ("http://127.0.0.1", False, False),
        ("http://localhost:8501", False, False),
        ("http://localhost:9", False, False),
        ("http://0.0.0.0:8501", False, False),
        ("null", False, False),
        ("", False, False),
        ("http://[", False, False),
        ("https://plant.example", False, True),
        ("https://plant.example:444", False, False),
        ("https://loupe.example", False, True),
        ("https://loupe.example:8443", False, True),
        ("https://evil.example", False, False),
    ],
)
def test_own_is_the_same_host_and_port_or_what_the_settings_name(monkeypatch, origin, is_own, at_a_proxy):
    headers = Headers({"host": HOST} | ({} if origin is None else {"origin": origin}))
    for named, expected in (({}, is_own), (AT_A_PROXY, at_a_proxy)):
        settings = {"server.enableCORS": True, "server.corsAllowedOrigins": []} | named
        monkeypatch.setattr(config, "get_option", settings.get)
        monkeypatch.setattr(config, "is_manually_set", named.__contains__)
        assert server._is_own(headers) == expected
    monkeypatch.setattr(config, "get_option", {"server.enableCORS": False}.get)
    assert server._is_own(headers)


def test_without_a_name_nothing_is_own(monkeypatch):
    monkeypatch.setattr(config, "get_option", {"server.enableCORS": True, "server.corsAllowedOrigins": []}.get)
    monkeypatch.setattr(config, "is_manually_set", lambda name: False)
    assert not server._is_own(Headers({"origin": "null"}))
