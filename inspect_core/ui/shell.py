"""What every page shares: the gate, the sidebar, the running job."""

from pathlib import Path

import streamlit as st

from inspect_core.jobs import Job, Jobs, State
from inspect_core.ui import in_hand

ICON = str(Path(__file__).with_name("icon.png"))  # a named icon would be fetched from outside
POLL_SECONDS = 0.5
_MARK, _WANTED, _SEEN = "gate_open", "page_wanted", "job_seen"


def gate(page: str) -> None:
    """First line of every page: on a fresh server a deep link runs the page without app.py, so go through it.

    Takes over what the last job of this process made, once a session.
    """
    if not st.session_state.get(_MARK):
        st.session_state[_WANTED] = page
        st.switch_page("app.py")
    _collect(jobs().current)


def open_gate() -> None:
    """Called by app.py alone: marks the session and goes on to the page that was asked for first."""
    st.session_state[_MARK] = True
    if wanted := st.session_state.pop(_WANTED, None):
        st.switch_page(wanted)


def current_user() -> str:
    """Who is at the screen: the signed-in name when the server has a login, else a fixed one."""
    return (st.user.get("name") if st.user.get("is_logged_in") else None) or "you"


@st.cache_resource
def jobs() -> Jobs:
    """The one worker of this process."""
    return Jobs()


def sidebar() -> None:
    """Product and recipe in use, device, and the running job with its cancel button."""
    with st.sidebar:
        hand = in_hand.current()
        if hand is None:
            st.caption("No part has been taught yet.")
        else:
            st.markdown(f"**{plain(hand.product)}**")
            st.caption(hand.describe())
            st.caption(f"Runs on {hand.engine}")
        job = jobs().current
        if job is not None and job.active:
            _watch()


def show_job(job: Job) -> None:
    """What is running, how far it is, how long it takes, and how to stop it."""
    left = job.seconds_left
    time_left = f" · {duration(left)} left" if left is not None else ""
    st.progress(job.share, text=f"{job.title}: {job.step or 'starting'}{time_left}")
    st.button(
        "Cancelling…" if job.cancelling else "Cancel",
        key=f"cancel-{job.id}",
        on_click=job.cancel,
        disabled=job.cancelling,
        icon=":material/stop_circle:",
    )


def show_running(then: str) -> None:
    """The running job in the page itself, with what happens after; nothing when none runs."""
    job = jobs().current
    if job is not None and job.active:
        st.info(f"{job.title} is running. {then}", icon=":material/hourglass_top:")
    if problem := st.session_state.get("job_problem"):
        st.error(problem, icon=":material/error:")
        if st.button("Dismiss", key="dismiss_problem"):
            del st.session_state["job_problem"]
            st.rerun()


def nothing_taught(words: str) -> None:
    """Nothing is in hand yet: what the page is for, what to do next, one button."""
    st.info(f"Nothing has been taught yet. {words}", icon=":material/info:")
    show_running("This page fills when it is done.")
    if st.button("Teach a part", type="primary", icon=":material/school:", key="to_teach"):
        st.switch_page("pages/teach.py")


def duration(seconds: float) -> str:
    """Seconds as a person says them: 40 s, 3 min, 1 h 20 min."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@st.fragment(run_every=POLL_SECONDS)
def _watch() -> None:
    job = jobs().current
    if job is not None and job.active:
        show_job(job)
    else:
        st.rerun()


@st.fragment(run_every=POLL_SECONDS)
def watch_in_page() -> None:
    """The running job's progress in the page, without a second cancel button."""
    job = jobs().current
    if job is not None and job.active:
        st.progress(job.share, text=job.step or "starting")
    else:
        st.rerun()


def _collect(job: Job | None) -> None:
    if job is None or job.active or st.session_state.get(_SEEN) == job.id:
        return
    st.session_state[_SEEN] = job.id
    if job.state is State.FAILED:
        st.session_state["job_problem"] = job.error
    elif job.state is State.CANCELLED:
        st.toast(f"{job.title} was cancelled. Nothing was changed.", icon=":material/stop_circle:")
    elif isinstance(job.result, in_hand.InHand):
        in_hand.take(job.result)
        st.toast(f"{job.title}: done in {duration(job.seconds)}.", icon=":material/check_circle:")
        st.rerun()


def plain(text: str) -> str:
    """Text with Markdown's signs disarmed: product names come from folders and files."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]()<>#+-.!|$:~" else sign for sign in text)
