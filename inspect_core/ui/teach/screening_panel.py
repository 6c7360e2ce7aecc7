"""Before learning, a look at the good photos: what stands out, as a gallery, and what the user leaves out."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.datasets.dataset import Dataset
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import feature_store
from inspect_core.images import heatmap, shape
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.png import png_of
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.wording import pluralise
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.photo_screening import (
    TOPICS,
    ScreenedPhoto,
    ScreeningResult,
    find_second_product,
    screen_photos,
)
from inspect_core.ui import result_cache, shell
from inspect_core.ui.result_cache import ResultCache
from inspect_core.ui.teaching_job import SAMPLES

ON_A_PAGE = 20
CELL = 205
PICTURE = 240
HELD = 4
FEWEST_LOOKED = 20
"""Good photos from which on a second product is looked for: of fewer, the strip on the page shows most."""
STRANGEST = "most unusual first"


@st.cache_resource(show_spinner=False)
def _looks() -> ResultCache:
    return ResultCache(HELD)


def choose_good(samples: Dataset, key: str) -> Dataset | None:
    """The photos without those the user leaves out; None, with the reason on the page, when too few are left.

    key: of the files; it changes when they do.
    """
    order = _order(samples, key)
    screening = _looks().get(_look_key(key, order))
    excluded = _left_out(key)
    if screening is None:
        _warn_of_second_product(samples, order, _look_key(key, order))
    with st.expander("Check the good photos first", expanded=True):
        st.caption(
            "Good photos may contain overlooked defects. Loupe compares each photo with the others: blur, exposure, "
            "duplicates, other products, unusual areas. A ring marks where a photo differs most. Nothing is "
            "excluded unless you choose to, and no file is changed."
        )
        if screening is None:
            _offer(samples, order, _look_key(key, order))
        else:
            _gallery(screening, key, excluded)
    with shell.errors_shown(ValueError):
        return samples.without(excluded)
    return None


def _warn_of_second_product(samples: Dataset, order: TeachingConfig, key: str) -> None:
    """Look by itself whether the good photos show two products, and say so."""
    if len(samples.good) < FEWEST_LOOKED or samples.root.parent == SAMPLES:
        return
    subject = ("second product", key)

    def work(job: Job) -> str:
        return find_second_product(samples, order, feature_store(), job.report)

    result_cache.begin_on_opening(f"Looking for a second product in {order.product}", subject, work)
    if sentence := result_cache.result_cache().get(subject):
        remedy = "Check them below, and exclude those of the other product; or teach each from its own folder."
        st.warning(shell.escape(f"{sentence} {remedy}"), icon=":material/call_split:")


def _order(samples: Dataset, key: str) -> TeachingConfig:
    """The order for the look, with the settings chosen further down the page."""
    chosen = st.session_state.get
    size = shape.input_size([sample.size for sample in samples.good], chosen("size", shape.SIDE))
    grid = shape.grid_of(size, chosen("grid", shape.CELL))
    order = TeachingConfig(
        samples.root.name, Split((), (), ()), chosen("backbone", TeachingConfig.backbone), size=size, grid=grid
    )
    shift = chosen(f"align_shift-{key}", 100 * TeachingConfig.align_shift) / 100
    align, turn = chosen(f"align-{key}", TeachingConfig.align), chosen(f"align_turn-{key}", TeachingConfig.align_turn)
    return replace(order, align=align, align_turn=turn, align_shift=shift)


def _look_key(key: str, order: TeachingConfig) -> str:
    return f"{key}-{order.backbone}-{order.size}-{order.grid}-{order.align}-{order.align_turn}-{order.align_shift}"


def _offer(samples: Dataset, order: TeachingConfig, key: str) -> None:
    subject = ("first look", key)
    busy = shell.jobs().find_by_subject(subject) is not None
    if st.button("Check good photos", icon=":material/search:", disabled=busy, key="first_look"):

        def work(job: Job) -> None:
            _looks().put(key, screen_photos(samples, order, feature_store(), job.report))

        def start() -> None:
            shell.start(f"Checking the good photos of {order.product}", work, subject=subject)

        shell.begin(start)
    if busy:
        shell.show_job_status(subject)


def _gallery(screening: ScreeningResult, key: str, excluded: set[str]) -> None:
    st.markdown(f"**{shell.escape(screening.sentence())}**")
    for name, reason in screening.skipped:
        st.text(f"{name} was skipped: {reason}")
    topics = {topic: count for topic in TOPICS if (count := sum(_belongs(photo, topic) for photo in screening.photos))}
    counts = {STRANGEST: len(screening.photos)} | topics
    labels = {topic: f"{topic[0].upper()}{topic[1:]} ({count})" for topic, count in counts.items()}
    at = f"look-topic-{key}"
    say = labels.__getitem__
    chosen = st.pills("Show", list(labels), default=STRANGEST, required=True, key=at, format_func=say)
    shown = [photo for photo in screening.photos if _belongs(photo, chosen)]
    with st.container(horizontal=True, vertical_alignment="center"):
        names = [photo.sample.name for photo in shown]
        if chosen in topics and len(shown) > 1:
            at = f"look-all-{key}"
            icon = ":material/playlist_remove:"
            off = excluded.issuperset(names)
            label = f"Exclude these {len(shown)}"
            st.button(label, icon=icon, key=at, on_click=excluded.update, args=(names,), disabled=off)
        if excluded:
            st.button("Include all", icon=":material/undo:", key=f"look-undo-{key}", on_click=excluded.clear)
            st.caption(f"{pluralise(len(excluded), 'photo')} excluded from training and testing; the files are kept.")
    cells = st.container(horizontal=True)
    for photo in shell.paginate(shown, ON_A_PAGE, f"look-page-{key}-{chosen}"):
        with cells.container(width=CELL):
            _cell(photo, key, is_out=photo.sample.name in excluded)


def _cell(photo: ScreenedPhoto, key: str, *, is_out: bool) -> None:
    sample = photo.sample
    box = f"leave-{key}-{photo.sample.name}"
    try:
        picture = _picture(key, sample.name, sample.path, sample.depth, photo.peak_cell)
        st.image(picture, width="stretch", alt=f"{sample.name}{', excluded' if is_out else ''}")
    except ImageError as error:
        st.caption(f":material/broken_image: {shell.escape(error)}")
    st.checkbox("Exclude", shell.set_widget(box, is_out), key=box, on_change=_leave, args=(key, sample.name, box))
    least = f"Its most unusual spot scores {photo.score_ratio:.2f} times as high as usual."
    sentences = [finding.sentence for finding in photo.findings] or [least]
    st.caption(f"**{shell.escape(sample.name)}**  \n{shell.escape(' '.join(sentences))}")


def _belongs(photo: ScreenedPhoto, topic: str) -> bool:
    return topic == STRANGEST or any(finding.topic == topic for finding in photo.findings)


def _left_out(key: str) -> set[str]:
    return st.session_state.setdefault(f"left_out-{key}", set())


def _leave(key: str, name: str, box: str) -> None:
    change = _left_out(key).add if st.session_state[box] else _left_out(key).discard
    change(name)


@st.cache_data(max_entries=512, show_spinner=False)
def _picture(key: str, name: str, _path: Path, _depth: Depth | None, place: tuple[float, float] | None) -> bytes:
    """A square picture to find a photo by, its strangest place in a ring. Raises ImageError."""
    small = heatmap.downscale(read(_path, _depth).pixels, PICTURE)
    height, width = small.shape[:2]
    square = np.zeros((PICTURE, PICTURE, 4), np.uint8)
    top, left = (PICTURE - height) // 2, (PICTURE - width) // 2
    square[top : top + height, left : left + width] = np.dstack([small, np.full((height, width), 255, np.uint8)])
    if place is not None:
        centre = (left + round(place[0] * width), top + round(place[1] * height))
        for colour, thickness in (((0, 0, 0, 255), 4), ((255, 255, 255, 255), 2)):
            cv2.circle(square, centre, PICTURE // 8, colour, thickness, cv2.LINE_AA)
    return png_of(Image.fromarray(square))
