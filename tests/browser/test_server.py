"""The server: the names it answers to, that no page frames it, and that a browser loads nothing from elsewhere."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

APP = Path(__file__).resolve().parents[2] / "app.py"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
LOAD = """
async (kind) => {
    const blocked = new Promise((found) => document.addEventListener("securitypolicyviolation", found));
    const part = document.createElement(kind);
    part.src = "http://192.0.2.1/x";
    document.body.append(part);
    return (await blocked).blockedURI;
}
"""


@pytest.fixture(scope="module")
def address(serve) -> str:
    return serve(APP)


def ask(address: str, path: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_it_answers_to_this_machine(address, name):
    host = f"{name}:{urlsplit(address).port}"
    assert ask(address, "/", {"Host": host}).status == 200
    assert ask(address, "/_stcore/stream", UPGRADE | {"Host": host, "Origin": f"http://{host}"}).status == 101


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example", "http://evil.example"),
        ("evil.example", "http://127.0.0.1"),
        ("127.0.0.1", "http://evil.example"),
        ("127.0.0.1.evil.example", "http://127.0.0.1.evil.example"),
        ("localhost.evil.example", "null"),
        ("", "http://evil.example"),
        ("127.0.0.1", "null"),
    ],
)
def test_it_is_deaf_to_other_pages_and_other_names(address, host, origin):
    given = UPGRADE | {"Host": f"{host}:{urlsplit(address).port}" if host else "", "Origin": origin}
    assert ask(address, "/_stcore/stream", given).status in (400, 403)


@pytest.mark.parametrize("path", ["/", "/recipes", "/_stcore/health", "/_stcore/host-config", "/media/x.png"])
def test_pages_and_pictures_are_refused_under_other_names(address, path):
    assert ask(address, path, {"Host": "evil.example"}).status == 400


@pytest.mark.parametrize("path", ["/", "/recipes", "/_stcore/health", "/media/none.png"])
def test_no_page_may_frame_it(address, path):
    answer = ask(address, path, {"Host": urlsplit(address).netloc})
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_the_browser_loads_nothing_from_elsewhere(address, browsing):
    page = browsing.new_page()  # the requests that it blocks would fail the test of `open_page`
    page.goto(address + "/_stcore/health")
    for kind in ("img", "iframe", "script", "video"):
        assert page.evaluate(LOAD, kind).startswith("http://192.0.2.1")
    page.close()
