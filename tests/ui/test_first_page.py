"""Loupe's words on Streamlit's page: before its scripts run, and for a server that is lost."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.datastructures import Headers
from starlette.responses import FileResponse, PlainTextResponse
from streamlit import file_util

from inspect_core.ui.server import ROOT, FirstPage

INDEX = f"{file_util.get_static_dir()}/index.html"
HTML = {"accept": "text/html,*/*", "accept-encoding": "gzip", "if-none-match": '"kept"'}


def answer(inner, headers: dict[str, str]) -> tuple[int, Headers, bytes]:
    """Status, headers and body of a GET that passes the middleware."""
    messages = []

    async def receive() -> None:
        await asyncio.Event().wait()  # nobody disconnects

    async def send(message) -> None:
        messages.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": raw, "query_string": b""}
    with ThreadPoolExecutor(1) as executor:  # the thread of the tests may have a loop that drives a browser
        executor.submit(lambda: asyncio.run(FirstPage(inner)(scope, receive, send))).result()
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return messages[0]["status"], Headers(raw=messages[0]["headers"]), body


def test_the_page_says_that_it_loads_and_is_never_revalidated():
    requests = []

    async def page(scope, receive, send) -> None:
        requests.append(Headers(scope=scope))
        await FileResponse(INDEX, media_type="text/html")(scope, receive, send)

    status, headers, body = answer(page, HTML)
    assert status == 200
    assert "if-none-match" not in requests[0]
    assert "accept-encoding" not in requests[0]
    assert int(headers["content-length"]) == len(body)
    assert "etag" not in headers
    assert ROOT not in body
    assert b"Loupe is loading" in body
    assert b"<title>Loupe</title>" in body
    assert b"No connection to Loupe" in body


@pytest.mark.parametrize("headers", [{"accept": "*/*"}, HTML])
def test_whatever_is_no_page_passes_as_it_is(headers):
    status, answered, body = answer(PlainTextResponse('<div id="root"></div>', headers={"etag": '"1"'}), headers)
    assert (status, body, answered["etag"]) == (200, ROOT, '"1"')
