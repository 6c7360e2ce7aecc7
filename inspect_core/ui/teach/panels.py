"""The parts of the Teach page: where photos come from, what was found, how to split, which settings, the forecast."""

import contextlib
import hashlib
import os
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import streamlit as st

from inspect_core.features.backbone_catalogue import CATALOGUE
from inspect_core.features.backbones import available
from inspect_core.images.folders import MAX_FILES, Samples, Split, scan, split
from inspect_core.images.grouping import propose_groups, ungrouped
from inspect_core.images.listing import walk
from inspect_core.images.manifests.listed import folder_of
from inspect_core.images.samples import ScanError
from inspect_core.images.splitting import learned_from_all
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.method import Method
from inspect_core.methods.table import (
    CANDIDATES,
    FIRST,
    JOIN,
    METHODS,
    OFFERED,
    SECOND,
    methods_of,
    parameters_of,
    title_of,
)
from inspect_core.study.order import Order
from inspect_core.tuning.comparison import Shortlist
from inspect_core.ui import shell, teaching, weights_panel
from inspect_core.ui.photo_source import FOLDER, UPLOAD, Source, choose_folder, choose_upload
from inspect_core.ui.teach.lying_panel import choose_lying
from inspect_core.ui.teach.tiles_panel import choose_tiles
from inspect_core.ui.teach.tolerances_panel import choose_tolerances
from inspect_core.whole_part.product_check import ALONE, FUSED

SAMPLE = "Sample part"
LAYOUTS = (
    "Any layout: only good photos; sub-folders good and one for each defect type; or the MVTec AD layout. Or a list "
    "next to the photos: a Lookout for Vision manifest, COCO annotations, or a CSV of file and label."
)
MAX_LISTED = 12
SIZES = (128, 192, 256, 320, 384, 448, 512)
COMPARED, JOINED = "compared", "joined"
DETECTORS = {
    COMPARED: ("Chosen for these photos", f"Compares {len(CANDIDATES)} detectors on your photos and teaches the best."),
    JOINED: ("Position and surface", f"Adds the maps of {METHODS[FIRST].title} and of a surface detector."),
} | {name: (METHODS[name].title, METHODS[name].when) for name in OFFERED}
CHECK_SCORES = {ALONE: "Features of the photo", FUSED: "Fused with the network's own classes"}


def choose_photos() -> Source | None:
    """Sample, folder or upload; None until a choice is made."""
    ways = {
        SAMPLE: _choose_sample,
        FOLDER: partial(choose_folder, LAYOUTS, label="Folder, zip or list"),
        UPLOAD: choose_upload,
    }
    way = st.segmented_control(
        "Photos from",
        [SAMPLE, FOLDER, UPLOAD],
        default=SAMPLE,
        required=True,
        key="photos_from",
        persist_state="session",
    )
    return ways[way]()


def look(source: Source, key: str) -> Samples | None:
    """What was found, as a table, with every warning and every skipped photo; None when nothing can be taught.

    key: the files' `fingerprint`.
    """
    try:
        with st.spinner("Looking at the photos…", show_time=True):
            samples = _scan(str(source.path), key)
    except (ScanError, OSError) as error:
        st.error(shell.plain(error), icon=":material/error:")
        return None
    st.subheader("What was found")
    st.markdown(f"**{shell.plain(samples.summary())}.**")
    rows = samples.table()
    table = {
        "What": [row.what.replace("_", " ").capitalize() for row in rows],
        "Photos": [row.count for row in rows],
        "Remark": [row.remark for row in rows],
    }
    wide = {"Remark": st.column_config.TextColumn(width="large")}
    st.dataframe(table, hide_index=True, width="stretch", column_config=wide)
    for line in samples.warnings:
        st.warning(shell.plain(line), icon=":material/info:")
    if samples.skipped:
        with st.expander(f"{len(samples.skipped)} skipped: which, and why"):
            for skipped in samples.skipped[:MAX_LISTED]:
                st.text(f"{skipped.name}: {skipped.reason}")
            if len(samples.skipped) > MAX_LISTED:
                st.caption(f"and {len(samples.skipped) - MAX_LISTED} more")
    return samples


def choose_split(samples: Samples) -> tuple[Split, int, tuple[str, ...]]:
    """Which good photos to learn from, which set the limit, which judge it; groups stay together.

    Also the seed, of the split and of the fit, and notes on the photos.
    """
    grouping = propose_groups(samples)
    found = grouping.count < len(samples.good)
    with st.expander("How the good photos are used", expanded=found):
        st.markdown(shell.plain(grouping.reason))
        if found and not st.toggle("Keep photos of one group together", value=True, key="use_groups"):
            st.warning("The same part may now be both learned from and judged: results can look better than they are.")
            grouping = ungrouped(samples)
        seed = st.number_input("Random seed", 0, 9999, 0, key="split_seed", help="For the split and the fit.")
        blind = not st.toggle(
            "Use known defects to choose detector and limits", value=True, key="choose_by_defects",
            help="With ten or more known defects, half of them help to choose the detector and to set the review "
            "limit. All figures then come from the other half.",
        )  # fmt: skip
        parts = learned_from_all(split(samples, seed=int(seed), groups=grouping, blind=blind))
        chosen_by = f", {len(parts.choose)} defects to choose settings" if parts.choose else ""
        to_fit = f"{len(parts.fit)} to learn from and to set the limit"
        if not (count := len(parts.folds(int(seed)))):
            to_fit = f"{len(parts.fit)} to learn from, {len(parts.calibrate)} to set the limit"
        st.caption(
            f"{to_fit}{chosen_by}, {len(parts.judge)} to judge it.",
            help="To set the limit, each good photo is scored by a detector that has learned from the others, in "
            f"{count:d} rounds." if count else None,
        )  # fmt: skip
        for note in parts.notes:
            st.caption(shell.plain(note))
    return parts, int(seed), (*samples.warnings, *parts.notes)


def choose_settings(product: str, photos: Split, seed: int, notes: tuple[str, ...], key: str) -> Order | None:
    """Name, detector, backbone and detail. The defaults suit most parts; None when a choice cannot be used.

    key: of the files; it changes when they do.
    """
    st.subheader("Detector")
    name = st.text_input("Name of the part", value=product, max_chars=60, key=f"product-{product}")
    chosen = st.radio(
        "Detector", list(DETECTORS), format_func=lambda key: DETECTORS[key][0], key="method",
        captions=[words for _, words in DETECTORS.values()], help="Each is a published method: "
        + "; ".join(f"{METHODS[key].title}: {METHODS[key].reference}" for key in OFFERED),
    )  # fmt: skip
    method = None if chosen == COMPARED else chosen
    if chosen == JOINED:
        second = st.segmented_control(
            "Surface detector", SECOND, default=SECOND[0], required=True, key="second_view",
            format_func=lambda key: METHODS[key].title,
        )  # fmt: skip
        method = f"{FIRST}{JOIN}{second}"
    lying = choose_lying(photos.fit, key)
    above, tolerating = st.container(), st.container()
    with st.expander("Settings"):
        left, right = st.columns(2)
        backbone = left.selectbox(
            "Backbone", available(), key="backbone",
            help="The network that describes each patch of the photo. EfficientNet-Lite0 is built in and fast.",
        )  # fmt: skip
        taps = right.selectbox(
            "Feature layers", [None, *CATALOGUE[backbone].presets], key=f"taps-{backbone}",
            format_func=lambda preset: preset or "best for the detector",
            help="The layers that features are taken from. Expansions are wider and see finer changes; "
            "outputs are faster.",
        )  # fmt: skip
        size = left.select_slider("Image size", SIZES, 256, key="size", format_func=lambda n: f"{n} × {n} px")
        with above:
            tiles = choose_tiles(photos.fit, (size, size))
        with tolerating:
            tolerances = choose_tolerances(photos.fit, key, (size, size) if tiles is None else tiles.size)
        grid = right.select_slider(
            "Patch grid", [16, 32, 64], 32, key="grid", format_func=lambda n: f"{n} × {n} patches",
            disabled=tiles is not None,
            help="A finer grid shows smaller defects; each step takes four times the memory.",
        )  # fmt: skip
        parameters = _parameters(method, tiles)
        budget = _budget((grid, grid), parameters) if chosen == COMPARED and tiles is None else Order.budget
        check_scores = st.segmented_control(
            "Product check", CHECK_SCORES, default=ALONE, format_func=CHECK_SCORES.__getitem__, required=True,
            key="guard_scores", help="Is this the product that was taught? Judged by the features of the whole photo, "
            "alone or with how certain the network is of its own classes (Fang et al. 2024, fused score).",
        )  # fmt: skip
    if weights_panel.offer_missing(backbone):
        return None
    if not name.strip():
        st.error("The part has no name; type one above.", icon=":material/error:")
        return None
    return Order(
        name.strip(), photos, backbone, taps, (size, size), (grid, grid), method, budget, parameters,
        tiles=tiles, tolerances=tolerances, seed=seed, notes=notes, fused_product_check=check_scores == FUSED, **lying,
    )  # fmt: skip


def show_forecast(order: Order) -> None:
    """How long teaching will take and what it will need, before it starts."""
    try:
        expected = teaching.expected(order)
    except (ValueError, OSError) as error:
        st.error(shell.plain(error), icon=":material/error:")
        st.stop()
    st.caption(
        f"Training takes about {shell.duration(expected.seconds)} on this machine ({expected.engine}), up to "
        f"{expected.memory / 2**20:.0f} MB of memory and {expected.disk / 2**20:.0f} MB on disk."
    )
    if not expected.fits_store:
        st.caption("The features of all photos do not fit into the store; photos to learn from are read one by one.")


def _parameters(method: str | None, tiles: TilePlan | None) -> dict[str, float]:
    """The parameters of the fit to be set; none while the detector is not chosen yet."""
    if method is None:
        return {}
    names, chosen = methods_of(method), {}
    for name, defaults in zip(names, parameters_of(names, {}, tiles), strict=True):
        chosen |= _of_method(METHODS[name], defaults, tiles)
    return chosen


def _of_method(row: Method, values: dict[str, Any], tiles: TilePlan | None) -> dict[str, float]:
    """The options of one method, each begun at its value; sliders side by side, switches below."""
    shown = {name: option for name, option in row.options.items() if option.label}
    sliders = [name for name, option in shown.items() if option.kind is not bool]
    key = "fit" if tiles is None else "tiled"
    for column, name in zip(st.columns(len(sliders)) if sliders else (), sliders, strict=True):
        option, (stops, begin) = shown[name], row.steps(name, values, tiles)
        values[name] = column.slider(
            option.label, stops[0], stops[-1], begin, step=stops.step, key=f"{key}_{name}", help=option.help
        )
    for name, option in shown.items():
        if option.kind is bool:
            switched = st.toggle(option.label, value=bool(values[name]), key=f"{key}_{name}", help=option.help)
            values[name] = int(switched)
    return {name: values[name] for name in shown}


def _budget(grid: tuple[int, int], parameters: dict[str, float]) -> float:
    """The most time that a detector chosen for the photos may take, with what that leaves out."""
    most = st.number_input(
        "Most time a photo, in milliseconds", 1.0, 10_000.0, Order.budget, step=10.0, key="budget",
        help="Of the detector alone, forecast for two cores; the network takes about 10 more. Slower detectors take no "
        "part in the choice.",
    )  # fmt: skip
    shortlist = Shortlist.of(grid, parameters, budget=most)
    with st.popover(f"{len(shortlist.candidates)} of {len(CANDIDATES)} detectors take part"):
        for name, ms in (shortlist.candidates | shortlist.left_out).items():
            out = " · left out" if name in shortlist.left_out else ""
            st.markdown(f"{shell.plain(title_of(name))}: {ms:.0f} ms{out}")
    return most


def _choose_sample() -> Source | None:
    names = teaching.samples()
    if not names:
        st.error("The sample parts are missing; run: make sample", icon=":material/error:")
        return None
    name = st.selectbox("Part", names, key="sample", format_func=lambda text: text.replace("_", " ").capitalize())
    return Source(teaching.SAMPLES / name, name.replace("_", " "))


def fingerprint(path: Path) -> str:
    """A key of what was found: changes when a file below `path`, or beside a list, is added, removed or written."""
    digest = hashlib.sha256(os.fsencode(path))
    with contextlib.suppress(OSError):  # `scan` reports the problem
        folder = folder_of(path)
        for name, _ in islice(walk(folder), MAX_FILES) if folder.is_dir() else [("", None)]:
            entry = folder / name
            if entry.is_file():
                facts = entry.stat()
                digest.update(b"%s|%d|%d\n" % (os.fsencode(entry), facts.st_size, facts.st_mtime_ns))
    return digest.hexdigest()


@st.cache_resource(max_entries=4, show_spinner=False)
def _scan(path: str, fingerprint: str) -> Samples:
    return scan(Path(path))
