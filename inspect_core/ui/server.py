"""The server around the pages: the names it answers to, what a browser may load from elsewhere, and the first page."""

import asyncio
import re
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import cli_util, config, url_util
from streamlit.web.server import server_util

from inspect_core.runtime import atomic_write

# Nothing is loaded from elsewhere, whatever a name or a recipe puts on the page, and no other page frames this one.
# Streamlit needs its own inline styles and scripts.
POLICY = (
    "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' data: blob:{sockets}; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = ((b"x-frame-options", b"DENY"), (b"x-content-type-options", b"nosniff"))
ROOT = b'<div id="root"></div>'
"""Of Streamlit's page (1.67): what its scripts fill, and until then shows what is in it."""
REVALIDATION = (b"accept-encoding", b"if-none-match", b"if-modified-since")
VALIDATORS = (b"content-length", b"etag", b"last-modified")
_PAGE = Path(__file__).with_name("first_page.html")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


def policy_for(host: str) -> str:
    """The policy of an answer to a request to this host, which is left out where it is no name or address.

    Older browsers do not count a websocket to it as 'self'.
    """
    return POLICY.format(sockets=f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else "")


class PolicyHeaders:
    """ASGI middleware that adds the policy and HEADERS to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = policy_for(Headers(scope=scope).get("host", ""))
                added = (b"content-security-policy", policy.encode()), *HEADERS
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        await self._app(scope, receive, send_with_policy)


class OwnOrigin:
    """ASGI middleware that refuses what another page sends: Streamlit takes any port of this machine for its own.

    Own is what the request is addressed to, host and port; and, behind a proxy, what the settings name:
    `server.corsAllowedOrigins`, the host of `browser.serverAddress`, everything without `server.enableCORS`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "another origin"})
        else:
            await PlainTextResponse("This request came from another origin.", 403)(scope, receive, send)


class FirstPage:
    """ASGI middleware that puts Loupe's words into Streamlit's page: while its scripts load, which on a slow line takes
    seconds, and when the server is lost.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        if scope["type"] != "http" or scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
            await self._app(scope, receive, send)
            return
        # As one that is neither kept from before nor compressed, so that it can be changed.
        passed = [(name, value) for name, value in scope["headers"] if name not in REVALIDATION]
        start: Message | None = None
        page = b""

        async def send_changed(message: Message) -> None:
            nonlocal start, page
            is_start = message["type"] == "http.response.start"
            if is_start and Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                start = message
                return
            if start is None:  # not a page
                await send(message)
                return
            page += message.get("body", b"")
            if message.get("more_body"):
                return
            page = page.replace(ROOT, ROOT.removesuffix(b"</div>") + _PAGE.read_bytes() + b"</div>")
            page = page.replace(b"<title>Streamlit</title>", b"<title>Loupe</title>")
            others = [(name, value) for name, value in start["headers"] if name not in VALIDATORS]
            start["headers"] = [*others, (b"content-length", str(len(page)).encode())]
            await send(start)
            await send({"type": "http.response.body", "body": page})

        await self._app({**scope, "headers": passed}, receive, send_changed)


def _is_own(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None or not config.get_option("server.enableCORS"):
        return True  # a browser always names the origin of a websocket, and of what changes something
    if origin in server_util.allowlisted_origins():
        return True
    named = config.is_manually_set("browser.serverAddress") and config.get_option("browser.serverAddress")
    try:
        page = urlsplit(origin)
        return bool(page.netloc) and (
            page.netloc.lower() == headers.get("host", "").lower()
            or (bool(named) and page.hostname == url_util.get_hostname(named))
        )
    except ValueError:  # no address at all
        return False


def request_guards() -> list[Middleware]:
    """What every request passes: checks of the origin and of `server.allowedHosts`, which Streamlit makes of
    websockets alone; the policy; Loupe's words on the first page.
    """
    hosts = config.get_option("server.allowedHosts") or ["*"]
    return [
        Middleware(PolicyHeaders),
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(OwnOrigin),
        Middleware(FirstPage),
    ]


def _get_ready() -> None:
    import_module("inspect_core.ui.open_products")
    import_module("inspect_core.ui.upload_cleaning").clean()


@asynccontextmanager
async def first_page(app: object) -> AsyncGenerator[None, None]:
    """The lifespan of the server: clears unfinished files of killed ones and, unless headless, opens the browser; at
    its end, what was set in the last second is written.

    What the pages need is loaded meanwhile: torch takes two seconds, as long as the browser takes to open.
    """
    threading.Thread(target=_get_ready, daemon=True).start()
    atomic_write.clear()
    if not config.get_option("server.headless"):
        address = server_util.get_display_address(config.get_option("server.address") or "localhost")
        asyncio.get_running_loop().call_soon(cli_util.open_browser, server_util.get_url(address))
    yield
    if module := sys.modules.get("inspect_core.workbench.shelf"):  # else nothing was opened
        module.shelf().flush()
