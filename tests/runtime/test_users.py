"""Who is recorded: the settings, the login, a name given once; and of a proxy's header only what can be believed."""

import getpass

import pytest

from inspect_core.runtime import users


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("LOUPE_USER", "LOUPE_USER_HEADER", "LOUPE_PROXIES", "FORWARDED_ALLOW_IPS"):
        monkeypatch.delenv(name, raising=False)


def test_setting_precedes_login_and_login_the_given_name(monkeypatch, workspace):
    def nameless() -> str:
        raise KeyError("uid 4711")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert users.local_user() == users.UNKNOWN
    users.save_local_user("  Ana\n Weiß\u202e ")
    assert users.local_user() == "Ana Weiß"
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    assert users.local_user() == "Ana Weiß", "that login names no person"
    monkeypatch.setattr(getpass, "getuser", lambda: "aweiss")
    assert users.local_user() == "aweiss"
    monkeypatch.setenv("LOUPE_USER", "A. Weiß")
    assert users.local_user() == "A. Weiß"
    monkeypatch.setenv("LOUPE_USER", " ")
    assert users.local_user() == "aweiss"


@pytest.mark.parametrize(
    ("proxies", "address", "values", "name"),
    [
        ("10.0.0.5", "10.0.0.5", ["Ana"], "Ana"),
        ("10.1.0.0/16, ::1", "10.1.7.7", ["Ana"], "Ana"),
        ("10.0.0.5", "::ffff:10.0.0.5", ["Ana"], "Ana"),
        ("127.0.0.1", None, ["Ana"], "Ana"),
        ("::1", None, ["Ana"], "Ana"),
        ("10.0.0.5", "10.0.0.5", ["Weiß".encode().decode("latin-1")], "Weiß"),
        ("10.0.0.5", "10.0.0.5", ["Wei\xdf"], "Weiß"),
        ("", None, ["Ana"], users.UNKNOWN),
        ("", "10.0.0.5", ["Ana"], users.UNKNOWN),
        ("10.0.0.5", "10.0.0.6", ["Ana"], users.UNKNOWN),
        ("10.0.0.5", None, ["Ana"], users.UNKNOWN),
        ("10.0.0.5", "10.0.0.5", [], users.UNKNOWN),
        ("10.0.0.5", "10.0.0.5", [" "], users.UNKNOWN),
        ("10.0.0.5", "10.0.0.5", ["Eve", "Ana"], users.UNKNOWN),
    ],
)
def test_a_header_is_believed_from_a_named_proxy_alone(monkeypatch, proxies, address, values, name):
    monkeypatch.setenv("LOUPE_PROXIES", proxies)
    assert users.user_from_proxy(values, address) == name


@pytest.mark.parametrize("wrong", ["proxy.example", "10.0.0.5/8", "10.0.0.5 10.0.0.6"])
def test_an_address_that_is_none_is_refused_by_name(monkeypatch, wrong):
    monkeypatch.setenv("LOUPE_PROXIES", f"127.0.0.1, {wrong}")
    with pytest.raises(ValueError, match=f"LOUPE_PROXIES.*{wrong}"):
        users.proxies()


@pytest.mark.parametrize("allowed", [None, "", "127.0.0.1", "*"])
def test_header_is_ignored_where_a_request_may_forge_it(monkeypatch, allowed):
    monkeypatch.setenv("LOUPE_USER_HEADER", "X-Forwarded-User")
    monkeypatch.setenv("LOUPE_PROXIES", "10.0.0.5")
    if allowed is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", allowed)
    with pytest.raises(ValueError, match="FORWARDED_ALLOW_IPS=none"):
        users.user_from_proxy(["Ana"], "10.0.0.5")
