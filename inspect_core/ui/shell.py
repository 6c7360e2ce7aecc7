"""What every page shares: the gate, the sidebar, the running job."""

import contextlib
import re
import textwrap
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from inspect_core.runtime import users
from inspect_core.runtime.jobs import Job, JobRejected, Jobs, JobState, device_lock
from inspect_core.runtime.wording import duration
from inspect_core.ui import in_hand, watch_store
from inspect_core.workbench.shelf import SIZE, shelf

POLL_SECONDS = 1.0
"""Twice as often, drawing the page takes two of 32 s from teaching the sample on two cores."""
IDLE_SECONDS = 2.0
STAYS: dict[str, Any] = {"persist_state": "session"}
"""Of a widget whose value stays when another page is looked at."""
T = TypeVar("T")
_MARK = "gate_open"
_WANTED = "page_wanted"
_STARTED = "jobs_started"
_TAUGHT = "taught_last"
_FAILED = "job_failed"
"""In a session: its last job that failed and the place where it waited for the result, as in `_WAITS`."""
LONGEST_FAILURE = 100
"""Characters of a job's failure in the sidebar."""
_PAGE = "page_shown"
_WAITS = "waits_for"
"""In a session: for each job that it started, where it waits for the result: (page, id of the product in hand)."""
_SIGNS = re.compile(r"\A\d+(?=\.)|(?=[]\\`*_{}()<>#+!|$:~&=^[-])")
# The browser turns even escaped text into links, icons and arrows. An invisible word joiner breaks up the patterns that
# it looks for: http://, www., a@b, :name:, and -> between spaces.
_MADE_LATER = re.compile(
    r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)|(?<=:)(?=[\w+-][\w+/-]*:)|(?<!\S[-<>~])(?<=[-<>~])(?=[-=>])",
    re.IGNORECASE,
)


def gate(page: str) -> None:
    """First line of every page: on a fresh server a deep link runs the page without app.py, so go through it.

    Above the page stands why this session's last job failed, until it is dismissed: here alone, for all its panels, and
    only where the job was begun. On all others the sidebar says it.
    """
    if not st.session_state.get(_MARK):
        st.session_state[_WANTED] = page
        go_to("app.py")
    _show_problem()


def go_to(page: str) -> None:
    """Leave for another page, "pages/teach.py", as a link in the sidebar does; ends this run.

    A timer of the page that is left may end before the browser knows that it is left. While its fragment exists, the
    server answers with a run of that page, and the browser empties the new one (Streamlit 1.67).
    """
    if (context := get_script_run_ctx()) is not None:
        context.fragment_storage.clear()
    st.switch_page(page)


def open_gate(page: str) -> None:
    """Called only by app.py, with the page it is about to draw: marks the session and goes on to the page that was
    requested first.

    A new session continues the jobs of this user whose window is gone: it is that window, loaded again. The results of
    its jobs are taken before anything is drawn: a page begun anew for them would lose the press that began the run.
    """
    if not st.session_state.get(_MARK):
        for job in jobs().active:
            if job.owner == current_user() and job.session and not _is_open(job.session):
                job.session = _session()
                _expect(job, st.session_state.get(_WANTED))
    st.session_state[_MARK] = True
    requested_page = st.session_state.pop(_WANTED, None)
    st.session_state[_PAGE] = requested_page or page
    _collect()
    if requested_page:
        go_to(requested_page)


def current_user() -> str:
    """Who is at the screen: the name of the app's own login, else of the proxy's, else that of this machine."""
    if st.user.get("is_logged_in") and (name := users.clean_name(str(st.user.get("name") or ""))):
        return name
    if header := users.header():
        return users.user_from_proxy(st.context.headers.get_all(header), st.context.ip_address)
    return users.local_user()


@st.cache_resource
def jobs() -> Jobs:
    """The one worker of this process."""
    return Jobs()


def start(
    title: str,
    work: Callable[[Job], Any],
    *,
    subject: object = None,
    on_end: Callable[[], None] = lambda: None,
    page: str | None = None,
) -> Job:
    """Work in the background for this session, after what it asked for before. Raises as `Jobs.submit`.

    `work` returns None, or the id of a product that it has opened. This session takes it where it still waits for it:
    on this page, by default that on which the work began, with the product in hand that it had then. Anywhere else
    nothing changes under the user's hands: the sidebar offers the product.
    """
    job = jobs().submit(title, work, owner=current_user(), subject=subject, session=_session(), on_end=on_end)
    _expect(job, page or st.session_state.get(_PAGE), in_hand.of_session())
    return job


def _expect(job: Job, page: str | None, product: str | None = None) -> None:
    """Wait for a job's result on a page; product: the one in hand, None for any."""
    st.session_state.setdefault(_STARTED, []).append(job)
    st.session_state.setdefault(_WAITS, {})[job.id] = page, product


@contextlib.contextmanager
def errors_shown(*kinds: type[Exception], icon: str = ":material/error:", begins: str = "") -> Generator[None]:
    """What fails in this block with an error of these kinds ends the block with the error on the page."""
    try:
        yield
    except kinds as error:
        st.error(begins + escape(error) if begins else sentence(error), icon=icon)


@contextlib.contextmanager
def device_held(device: object) -> Generator[None]:
    """Hold `jobs.device_lock` in this block. While a job has it, the page says which one it waits for, and how long."""
    lock = device_lock(device)
    place = None
    while not lock.acquire(timeout=POLL_SECONDS):
        place = place or st.empty()
        job = active_job()
        words = "another window" if job is None else f"{escape(job.title)}: {progress_in_words(job)}"
        place.info(f"Waits for {words}.", icon=":material/hourglass_top:")
    if place is not None:
        place.empty()
    try:
        yield
    finally:
        lock.release()


def active_job() -> Job | None:
    """The job that runs or is next, of whatever session."""
    job = jobs().current
    return job if job is not None and job.active else None


def begin(work: Callable[[], object]) -> None:
    """Start work in the background and redraw the page; a warning instead, when it cannot be taken on."""
    try:
        work()
    except (JobRejected, OSError) as error:
        st.warning(sentence(error))
    else:
        st.rerun()


def show_jobs() -> None:
    """Show the running job with its cancel button, those that wait, and watched folders, as they go on."""
    every = POLL_SECONDS if active_job() is not None else IDLE_SECONDS
    st.fragment(_watch_of_this_run(), run_every=every)(_refresh_key())


def show_job(job: Job) -> None:
    """Show the running job: progress, time left, whose it is, how to stop it."""
    st.progress(job.fraction, text=f"{escape(job.title)}: {progress_in_words(job)}")
    st.caption(f"Running, {_owner_phrase(job)}.")
    st.button(
        "Cancelling…" if job.cancelling else "Cancel",
        key=f"cancel-{job.id}",
        on_click=_cancel,
        args=(job.id,),
        disabled=job.cancelling,
        icon=":material/stop_circle:",
    )


def _queue(waiting: Sequence[Job]) -> None:
    """Show the jobs that wait, each with a button that takes it out of the queue."""
    if not waiting:
        st.caption("New jobs are queued behind it. You can keep using all pages.")
        return
    st.caption("Queued (jobs start automatically):")
    for place, job in enumerate(waiting, start=1):
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        row.markdown(f"{place:d}\\. {escape(job.title)}, {_owner_phrase(job)}")
        key = f"cancel-{job.id}"
        icon = ":material/close:"
        words = "Remove from the queue"
        row.button("Remove", key=key, icon=icon, help=words, on_click=_cancel, args=(job.id,))


def show_job_status(subject: object, follow_up: str = "") -> None:
    """In a page: the job whose result is of this, with what happens after; without one, what a start would wait for."""
    matching_job = jobs().find_by_subject(subject)
    other = active_job()
    if matching_job is not None:
        words = f"{escape(matching_job.title)}, {_owner_phrase(matching_job)}. Progress is shown in the sidebar."
        st.info(f"{words} {follow_up}", icon=":material/hourglass_top:")
    elif other is not None:
        show_running_job("Anything you start here is queued and starts automatically.")


def show_running_job(follow_up: str) -> None:
    """Show the job of another page that runs, whose it is, and what may be done meanwhile; nothing when none runs."""
    if (job := active_job()) is not None:
        st.caption(f":material/hourglass_top: Running: {escape(job.title)}, {_owner_phrase(job)}. {follow_up}")


def is_ready(name: str) -> bool:
    """Whether this session taught a product of this name last, and has not saved it yet."""
    product = shelf().find(st.session_state.get(_TAUGHT, ""))
    return product is not None and product.product == name and not product.is_saved


def show_ready(name: str) -> None:
    """Show the product of this name where `is_ready`, with the way to it."""
    product = shelf().find(st.session_state.get(_TAUGHT, ""))
    if product is not None and is_ready(name):
        st.success(f"**{escape(product.product)}** is ready.", icon=":material/check_circle:")
        if st.button("Open on Inspect", type="primary", icon=":material/center_focus_strong:", key="open_taught"):
            in_hand.take(product.id)
            go_to("pages/inspect.py")


def problem() -> str:
    """Why this session's last job failed, where it is said; "" where none failed, or that was dismissed."""
    job, place = st.session_state.get(_FAILED, (None, None))
    return job.error if job is not None and _is_here(place) else ""


def forget_problem() -> None:
    """Forget why this session's last job failed."""
    st.session_state.pop(_FAILED, None)


def _show_problem() -> None:
    if why := problem():
        job, _ = st.session_state[_FAILED]
        st.error(f"**{escape(job.title)}** failed: {escape(why)}", icon=":material/error:")
        st.button("Dismiss", key="dismiss_problem", on_click=forget_problem)


def _is_here(place: tuple[str | None, str | None]) -> bool:
    """Whether this is the page, with the product in hand, of an entry of `_WAITS`; None stands for any."""
    page, product = place
    return page in (None, st.session_state.get(_PAGE)) and product in (None, in_hand.of_session())


def show_no_product(words: str) -> None:
    """For a session without a product: what the page is for, what to do next, one button."""
    if show_if_unloaded():
        return
    nothing = "No product has been taught yet. " if active_job() is None else ""
    st.info(f"{nothing}{words}", icon=":material/info:")
    show_running_job("This page opens as soon as a product is ready.")
    if st.button("Teach a product", type="primary", icon=":material/school:", key="to_teach"):
        go_to("pages/teach.py")


def show_if_unloaded() -> bool:
    """Whether this session's product was dropped; if so, says why."""
    if not in_hand.is_unloaded():
        return False
    st.info(
        f"This product is no longer in memory, which holds the {SIZE} used last in any window. Open "
        "it again in the sidebar; a saved one, on Recipes.",
        icon=":material/inventory_2:",
    )
    return True


def _watch_of_this_run() -> Callable[[object], None]:
    """`_watch` under a name that no other run of the page has, which is what Streamlit knows a fragment by.

    The timer of an earlier run finds its fragment gone then. Where it still exists and the page was drawn to its end at
    that moment, Streamlit 1.67 takes a new runner and drops what the former had drawn and not yet sent: a blank page.

    Drawn with the page it is given what the page shows; by its timer, it draws the page again once something began or
    ended in any window, and where a job of this session ended after the page had taken the results of those before. A
    page that has a timer asks for a run when its connection comes back (Streamlit 1.67); without one it would stay as
    it was on a server that was started again, which knows none of its fragments.
    """

    is_drawn = False

    def watch(news: object) -> None:
        nonlocal is_drawn
        if is_drawn and (news != _refresh_key() or _ended_jobs()):
            st.rerun()
        is_drawn = True
        _watch()

    watch.__qualname__ = f"watch-{uuid.uuid4().hex}"
    return watch


def _watch() -> None:
    """Show the running job and the queue, how those before ended, and the watched folders."""
    if (job := active_job()) is not None:
        show_job(job)
        _queue(jobs().waiting)
    ended = jobs().ended
    if ended and active_job() is None:
        _show_ending(ended[0])
        _offer(ended[0])
        ended = ended[1:]
    if ended:
        with st.expander("Earlier jobs", icon=":material/history:"):
            for earlier in ended:
                _show_ending(earlier)
    for watch in watch_store.interrupted():
        words = f"Watching for {watch.request.product}: stopped at {watch.when} by a restart. Resume it on Batch."
        st.caption(f":material/visibility_off: {escape(words)}")
    for job in jobs().unqueued_jobs:
        st.caption(f":material/visibility: {escape(job.title)}: {escape(job.step)}.")


def _offer(ended: Job) -> None:
    """A button that opens what a job has made, where it is not in hand."""
    product = shelf().find(ended.result) if isinstance(ended.result, str) else None
    if product is None or product.id == in_hand.of_session():
        return
    words = f"Open {escape(product.product)} here"
    if st.button("Open", key=f"open-ended-{ended.id}", type="tertiary", icon=":material/open_in_new:", help=words):
        in_hand.take(product.id)
        st.rerun()


def _refresh_key() -> tuple[str | None, ...]:
    """What a page shows of the jobs and open products of all windows, besides how far they are."""
    shown = (active_job(), *jobs().ended[:1], *jobs().waiting, *jobs().unqueued_jobs)
    opened = shelf().open_products()
    products = (f"{product.id} {product.saved} {product.problem} {product.fit}" for product in opened)
    return (*(None if job is None else job.id for job in shown), *products)


def _show_ending(job: Job) -> None:
    """Show how a job ended, and when; of a failure its beginning, the whole of it where the job was begun."""
    at = time.strftime("%H:%M", time.localtime(job.ended_at))
    if job.state is JobState.DONE:
        ending = f"finished in {duration(job.seconds)} at {at}."
    elif job.state is JobState.CANCELLED:
        ending = f"cancelled at {at}."
    else:
        ending = f"failed at {at}: {escape(textwrap.shorten(job.error, LONGEST_FAILURE, placeholder=' …'))}"
    st.caption(f"{escape(job.title)}: {ending}", help=escape(job.error) or None)


def start_job_button(
    label: str, words: str, work: Callable[[], object], *, subject: object, key: str, disabled: bool = False
) -> None:
    """Show a button that starts work in the background, or the progress of the job whose result is of this."""
    if words:
        st.caption(words)
    if st.button(label, type="primary", disabled=disabled or jobs().find_by_subject(subject) is not None, key=key):
        begin(work)
    show_job_status(subject)


def show_causes(causes: Sequence[str], begins: str = "") -> None:
    """Show what many photos have in common as one remark, a line each that begins so; nothing where there is none."""
    if causes:
        st.warning("  \n".join(escape(f"{begins}{cause}") for cause in causes), icon=":material/lightbulb:")


def set_widget(key: str, value: T) -> T:
    """Set a widget's value where it is another one: a value that is sent back undoes a move made meanwhile.

    Returns the value, which the widget is given as its default too: a browser that has missed the run that set it, or
    mounts the widget later, begins with the default, and sends it as a move with its next event.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return value


def paginate(items: Sequence[T], size: int, key: str) -> Sequence[T]:
    """So many of the things found, with the control that turns the page when there are more."""
    pages = -(-len(items) // size)
    page = st.pagination(pages, key=f"{key}-{pages}") if pages > 1 else 1
    return items[(page - 1) * size : page * size]


def show_user() -> None:
    """Show who is at the screen, a field that asks for it where nothing says so, or why no name is recorded."""
    user = current_user()
    if users.header() and user == users.UNKNOWN:
        st.caption(f"Recorded as {users.UNKNOWN}: the proxy did not send a trusted user name.")
        return
    if users.header() or users.is_person(user):
        st.caption(f"Working as {escape(user)}")
        return
    st.text_input("Your name", key="user_name", on_change=_keep_name, placeholder="for recipes and the audit log")


def _keep_name() -> None:
    try:
        users.save_local_user(st.session_state["user_name"])
    except OSError as error:
        st.toast(f"Could not save your name: {escape(error)}", icon=":material/error:")


def progress_in_words(job: Job) -> str:
    """What is being done, and the time left where it is known."""
    return escape(job.step or "starting") + time_left(job.seconds_left)


def time_left(seconds: float | None) -> str:
    """What follows a step in progress: the time left where it is known, else nothing."""
    return "" if seconds is None else f" · {duration(seconds)} left"


def _owner_phrase(job: Job) -> str:
    if job in st.session_state.get(_STARTED, []):
        return "started in this window"
    return "started in another window" if job.owner == current_user() else f"started by {escape(job.owner)}"


def _is_open(session: str) -> bool:
    return get_instance().is_active_session(session)


def _session() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _cancel(job_id: str) -> None:
    jobs().cancel(job_id)


def _collect() -> None:
    for job in _ended_jobs():
        st.session_state[_STARTED].remove(job)
        place = st.session_state[_WAITS].pop(job.id)
        if job.state is JobState.FAILED:
            st.session_state[_FAILED] = job, place
        elif job.state is JobState.CANCELLED:
            st.toast(f"{escape(job.title)} was cancelled. Nothing was changed.", icon=":material/stop_circle:")
        elif job.result is not None:
            forget_problem()
            if _is_here(place) or shelf().find(in_hand.of_session()) is None:
                in_hand.take(job.result)
            st.session_state[_TAUGHT] = job.result
            st.toast(f"{escape(job.title)}: done in {duration(job.seconds)}.", icon=":material/check_circle:")


def _ended_jobs() -> list[Job]:
    """The jobs of this session that have ended, and whose results it has not taken yet."""
    return [job for job in st.session_state.get(_STARTED, []) if not job.active]


def sentence(words: object) -> str:
    """An error from below as a sentence of its own, escaped: a word that begins it gets a capital."""
    text = escape(words)
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,]", text) else text


def escape(words: object) -> str:
    """Text from outside as Markdown that shows it literally: names, paths, errors that contain them.

    White space becomes single spaces, so that it contains no line break; invalid UTF-8 is shown as an escape.
    """
    line = " ".join(str(words).encode("utf-8", "backslashreplace").decode().split())
    return _SIGNS.sub(r"\g<0>\\", _MADE_LATER.sub("\u2060", line))
