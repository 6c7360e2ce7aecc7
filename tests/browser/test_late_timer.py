"""A timer of a page that is left ends before the browser knows that it is left."""

import re
from pathlib import Path

from playwright.sync_api import WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

APP = Path(__file__).with_name("late_timer_app.py")


def test_page_that_is_entered_is_drawn_whole(serve, browsing):
    timed, servers = [], []

    def connect(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        servers.append(server)

        def pass_on(message: bytes) -> None:
            if BackMsg.FromString(message).rerun_script.is_auto_rerun:
                timed.append(message)
            server.send(message)

        browser.on_message(pass_on)

    page = browsing.new_page()
    page.route_web_socket(re.compile("_stcore/stream"), connect)
    page.goto(serve(APP))
    leave = page.get_by_role("button", name="Leave")
    leave.wait_for()
    while not timed:
        page.wait_for_timeout(100)
    leave.click()
    page.get_by_text("Begun").wait_for()
    servers[-1].send(timed[-1])
    page.get_by_text("Drawn").wait_for()
    page.wait_for_timeout(1_000)
    expect(page.get_by_text("Drawn")).to_be_visible()
    page.close()
