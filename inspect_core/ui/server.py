"""The server around the pages: the names it answers to, what a browser may load from elsewhere, and the first page."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import cli_util, config
from streamlit.web.server import server_util

from inspect_core.runtime import unfinished

# Nothing is loaded from elsewhere, whatever a name or a recipe puts on the page, and no other page frames this one.
# Streamlit needs its own inline styles and scripts; older browsers do not count a websocket as 'self'.
POLICY = (
    "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' data: blob: ws: wss:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = ((b"content-security-policy", POLICY.encode()), (b"x-frame-options", b"DENY"))


class PolicyHeaders:
    """ASGI middleware that adds HEADERS to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_policy)


def guards() -> list[Middleware]:
    """Checks of every request: the names in `server.allowedHosts`, which Streamlit checks for the websocket only."""
    hosts = config.get_option("server.allowedHosts") or ["*"]
    return [Middleware(PolicyHeaders), Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)]


@asynccontextmanager
async def first_page(app: object) -> AsyncGenerator[None, None]:
    """The lifespan of the server: clears unfinished files of killed ones and, unless headless, opens the browser."""
    unfinished.clear()
    if not config.get_option("server.headless"):
        address = server_util.get_display_address(config.get_option("server.address") or "localhost")
        asyncio.get_running_loop().call_soon(cli_util.open_browser, server_util.get_url(address))
    yield
