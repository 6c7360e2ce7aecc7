"""One station: its last part large, its counters, the state of everything it depends on, and two buttons."""

import html
import time

import streamlit as st

from inspect_core.station.signals import Code, StationState
from inspect_core.station.status_board import (
    LONGEST_LOT,
    RESET,
    STOP,
    StationStatus,
    ask_lot,
    picture_of_last,
    read_statuses,
    request,
)
from inspect_core.ui import shell, verdict_tiles
from inspect_core.verdict import NOT_JUDGED, VERDICT_PHRASES, VERDICT_SYMBOLS

EVERY = 0.5
WIDE, NARROW = 540, 330
"""Pixels of the picture and of what stands beside it, on a tablet below it."""
ALONE = "alone"
"""Parameter of the page's address by which it stands without the menu."""
COLOURS = {"accept": ("#15803d", "#ffffff"), "review": ("#fbbf24", "#1c1917"), "reject": ("#b91c1c", "#ffffff")}
"""Ground and text of a verdict; others are those of a rejected part."""
STATES = {
    StationState.OFFLINE: "offline",
    StationState.PREPARING: "preparing a recipe",
    StationState.READY: "ready",
    StationState.TAKING: "waiting for photos",
    StationState.BUSY: "judging",
    StationState.ERROR: "stopped by an error",
}
COUNTERS = {
    "accept": "accepted_parts",
    "review": "review_parts",
    "reject": "rejected_parts",
    NOT_JUDGED: "not_judged_parts",
}


def show_empty() -> None:
    """Say how a station is started."""
    st.info("No station has run here yet.", icon=":material/conveyor_belt:")
    st.markdown(
        "A station takes parts from a controller (PLC) and answers each with a verdict. On the PC at the line, with an "
        "exported recipe:"
    )
    st.code(
        "loupe station --example > station.yaml\nloupe station station.yaml --simulate photos   # without a line",
        language="bash",
    )


def hide_menu() -> None:
    """Leave nothing but the line where the address ends in `?alone=1`."""
    if ALONE in st.query_params:
        st.html("<style>[data-testid='stSidebar'], [data-testid='stExpandSidebarButton'] { display: none; }</style>")


@st.fragment(run_every=EVERY)
def show(name: str) -> None:
    """Show a station as it is now."""
    status = next((status for status in read_statuses() if status.name == name), None)
    if status is None:
        st.rerun()
    _verdict(status)
    row = st.container(horizontal=True, gap="medium")
    with row.container(width=WIDE):
        if status.is_running and (picture := picture_of_last(status)):
            st.image(picture, width="stretch", alt=f"Part {status.last.get('part')} with its heatmap")
        elif not status.last:
            st.info("Waiting for the first part.", icon=":material/hourglass_top:")
    with row.container(width=NARROW):
        _counters(status)
        _states(status)
        _lot(status)
        _buttons(status)


def _verdict(status: StationStatus) -> None:
    """The verdict of the last part, in letters that are read from three metres."""
    if not status.is_running:
        last_seen = time.strftime("%d %B, %H:%M:%S", time.localtime(status.written))
        st.error(f"**{shell.escape(status.name)} is not running** since {last_seen}.", icon=":material/power_off:")
    if not status.last or not status.is_running:  # no green banner over a line that stands
        return
    word = str(status.last.get("verdict"))
    ground, text = COLOURS.get(word, COLOURS["reject"])
    phrase = f"{VERDICT_SYMBOLS.get(word, '✕')} {VERDICT_PHRASES.get(word, word).capitalize()}"
    part = html.escape(f"Part {status.last.get('part') or status.last.get('number')}")
    st.html(
        f'<div role="status" style="background:{ground};color:{text};border-radius:8px;padding:.5rem 1.5rem;'
        f'display:flex;justify-content:space-between;align-items:baseline;flex-wrap:wrap">'
        f'<span style="font-size:clamp(3rem,9vw,7rem);font-weight:700;line-height:1.1">{html.escape(phrase)}</span>'
        f'<span style="font-size:clamp(1.2rem,2.5vw,2rem)">{part}</span></div>'
    )
    if reason := _reason(status):
        st.markdown(f"### {shell.escape(reason)}")


def _reason(status: StationStatus) -> str:
    """Why the last part is not accepted, "" where the verdict says it."""
    if status.last.get("reason"):
        return str(status.last["reason"]).capitalize()
    code = status.last.get("code") or 0
    share = (status.last.get("share") or 0) / 100
    if code in (Code.SCORE_TO_REVIEW, Code.SCORE_TO_REJECT):
        return f"Score at {share:.0f}% of the limit"
    return Code(code).name.replace("_", " ").capitalize() if code in {item.value for item in Code} and code else ""


def _counters(status: StationStatus) -> None:
    signals = status.signals
    verdict_tiles.show({word: signals[name] for word, name in COUNTERS.items()}, f"line-{status.name}")
    lines = (
        f"{signals['parts']:,} parts since the counters were reset, {signals['mean_milliseconds']} ms each, at most "
    )
    st.caption(f"{lines}{signals['largest_milliseconds']} ms")
    if signals["missed_triggers"]:
        st.warning(f"{signals['missed_triggers']:,} triggers came while the station was not ready.")


def _states(status: StationStatus) -> None:
    """What the station depends on, a line each; what is in the way is said in full."""
    signals = status.signals
    state = STATES[StationState(signals["state"])] if status.is_running else "not running"
    heard = "heard" if signals["ready"] or not signals["not_accepted"] else "silent"
    rows = [
        ("Station", state),
        ("Recipe", f"{signals['recipe']}, {status.product}"),
        ("Controller", heard),
        *status.connections.items(),
    ]
    names, states = ([shell.escape(row[side]) for row in rows] for side in (0, 1))
    st.table({"": names, "State": states}, hide_index=True)
    if signals["error"]:
        st.error(f"Error {signals['error_code']}. The controller clears it.", icon=":material/error:")
    if signals["challenge_due"]:
        st.warning("The challenge parts are due.", icon=":material/event:")
    if signals["drift"]:
        st.warning("A signal has drifted; see History, Drift.", icon=":material/trending_up:")
    if status.message:
        st.caption(shell.escape(status.message))


def _lot(status: StationStatus) -> None:
    """The lot of the parts from now on, which people at the line change."""
    key = f"line_lot-{status.name}"

    def change() -> None:
        with shell.errors_shown(OSError):
            ask_lot(status.name, st.session_state[key].strip())

    off = not status.is_running
    st.text_input("Lot", status.lot, key=key, max_chars=LONGEST_LOT, disabled=off, on_change=change)


def _buttons(status: StationStatus) -> None:
    row = st.container(horizontal=True)
    off = not status.is_running
    for label, icon, what_for in (("Reset counters", "restart_alt", RESET), ("Stop", "stop", STOP)):
        row.button(
            label,
            f"line_{what_for}-{status.name}",
            icon=f":material/{icon}:",
            disabled=off,
            on_click=request,
            args=(status.name, what_for),
        )
