"""The server: the names it answers to, that no page frames it, and that a browser loads nothing from elsewhere."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import WebSocketRoute, expect

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXTS = Path(__file__).with_name("long_text_app.py")
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
        ("127.0.0.1", "http://127.0.0.1:9"),
        ("127.0.0.1", "http://localhost:9"),
        ("localhost", "http://127.0.0.1"),
    ],
)
def test_it_is_deaf_to_other_pages_and_other_names(address, host, origin):
    headers = UPGRADE | {"Host": f"{host}:{urlsplit(address).port}" if host else "", "Origin": origin}
    assert ask(address, "/_stcore/stream", headers).status in (400, 403)
    assert ask(address, "/_stcore/host-config", {name: headers[name] for name in ("Host", "Origin")}).status in (
        400,
        403,
    )


@pytest.mark.parametrize("path", ["/", "/recipes", "/_stcore/health", "/_stcore/host-config", "/media/x.png"])
def test_pages_and_pictures_are_refused_under_other_names(address, path):
    assert ask(address, path, {"Host": "evil.example"}).status == 400


@pytest.mark.parametrize("path", ["/", "/recipes", "/_stcore/health", "/media/none.png"])
def test_no_page_may_frame_it(address, path):
    answer = ask(address, path, {"Host": urlsplit(address).netloc})
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_the_browser_loads_nothing_from_elsewhere(address, browsing):
    page = browsing.new_page()  # the requests that it blocks would fail the test of `open_page`
    page.goto(address + "/_stcore/health")
    for kind in ("img", "iframe", "script", "video"):
        assert page.evaluate(LOAD, kind).startswith("http://192.0.2.1")
    page.close()


def test_a_slow_connection_loses_nothing_that_was_shown_before(serve, browsing):
    """Back to the text before while the answer to the last click is on its way.

    The browser may then have dropped what it said it had kept: Streamlit's own page ends there in "Connection error".
    """
    page, waiting, slow = browsing.new_page(), [], False

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: waiting.append(message) if slow else socket.send(message))
        waiting.append(socket)

    page.route_web_socket("**/_stcore/stream", connect)
    page.goto(serve(TEXTS))
    for count in range(2, 6):
        page.get_by_role("button", name="Again").click()
        expect(page.get_by_text(f"{count} runs")).to_be_visible()
    slow = True
    for letter in "ba":
        page.get_by_text(letter, exact=True).click()
        page.wait_for_timeout(500)
    slow = False
    socket, *messages = waiting
    for message in messages:
        socket.send(message)
    expect(page.get_by_test_id("stCode")).to_have_text("a" * 20_000)
    page.wait_for_timeout(500)
    assert page.get_by_text("Connection error").count() == 0
    page.close()
