"""Who is at the screen, as recipes and the audit log record it."""

import getpass

import pytest
import streamlit as st
from streamlit.runtime.context import StreamlitHeaders

from inspect_core.recipe_io.recipe_file import load
from inspect_core.runtime import users
from tests.pages.waiting import save_recipe, words


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    for name in ("LOUPE_USER", "LOUPE_USER_HEADER", "LOUPE_PROXIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "")


def test_a_name_is_asked_for_once_and_recorded_in_the_recipe(open_app, in_the_hand, workspace):
    app = open_app("pages/inspect.py")
    app.text_input(key="user_name").set_value("Ana Weiß").run()
    assert "user_name" not in [box.key for box in app.text_input]
    assert "Working as Ana Weiß" in words(app)
    save_recipe(app)
    assert load(workspace / "recipes/flange.zip").provenance.author == "Ana Weiß"
    assert "user_name" not in [box.key for box in open_app("pages/inspect.py").text_input]


def test_user_comes_from_the_proxy_header_alone(open_app, in_the_hand, workspace, monkeypatch):
    monkeypatch.setenv("LOUPE_USER", "service")
    monkeypatch.setenv("LOUPE_USER_HEADER", "X-Forwarded-User")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "none")
    headers, address = StreamlitHeaders([("x-forwarded-user", "Ana")]), "10.0.0.5"
    monkeypatch.setattr(type(st.context), "headers", property(lambda self: headers))
    monkeypatch.setattr(type(st.context), "ip_address", property(lambda self: address))
    app = open_app("pages/inspect.py")
    assert "the proxy did not send a trusted user name." in words(app)
    assert "user_name" not in [box.key for box in app.text_input]
    save_recipe(app)
    monkeypatch.setenv("LOUPE_PROXIES", "10.0.0.0/24")
    app = open_app("pages/inspect.py")
    assert "the proxy did not send a trusted user name." not in words(app)
    save_recipe(app)
    made = [load(workspace / "recipes" / name).provenance.author for name in ("flange.zip", "flange-2.zip")]
    assert made == [users.UNKNOWN, "Ana"]


def test_a_wrong_address_is_named_on_the_page(open_app, monkeypatch):
    monkeypatch.setenv("LOUPE_PROXIES", "proxy.example")
    app = open_app()
    assert "proxy.example" in app.error[0].value
