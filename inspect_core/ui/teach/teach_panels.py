"""The parts of the Teach page: where photos come from, what was found, how to split, which settings, the forecast."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from inspect_core.datasets.dataset import UNSAID, PhotoFile, ScanError
from inspect_core.datasets.folders import Dataset, Split, scan
from inspect_core.datasets.grouping import propose_groups, ungrouped
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.backbone_catalogue import CATALOGUE, WORTH_HAVING
from inspect_core.features.backbones import available
from inspect_core.images.shape import CELL, SIDE, grid_of, input_size
from inspect_core.images.tiles import TilePlan
from inspect_core.methods import registry
from inspect_core.methods.method import Method
from inspect_core.methods.registry import CANDIDATES, DEFAULT_METHOD, METHODS, OFFERED, SECOND
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.study.evaluation import most_promised
from inspect_core.study.teaching_config import NO_ALIGNMENT, ORDER_OPTIONS, TeachingConfig
from inspect_core.tuning.alignment_training import WITHOUT_ALIGNMENT
from inspect_core.tuning.shortlist import Shortlist
from inspect_core.ui import contact_sheet, data_table, label_question, shell, teaching_job, weights_panel
from inspect_core.ui.photo_source import FOLDER, SAMPLE, UPLOAD, PhotoSource, choose_folder, choose_upload
from inspect_core.ui.result_cache import ResultCache
from inspect_core.ui.teach.photo_settings import choose_alignment, choose_tiles, choose_tolerances, show_input
from inspect_core.whole_part.product_check import ALONE, FUSED

LAYOUTS = (
    "Good photos only, or labels: folders such as “good” and “scratch” at any depth, MVTec AD, masks, or files of "
    "COCO, Labelme, YOLO, Pascal VOC, CVAT, Label Studio, Supervisely, VIA, Lookout for Vision, or a table (CSV, "
    "Excel, JSON)."
)
MAX_LISTED = 12
STRIP = 8
"""Photos that stand for a kind."""
IN_GRID = 96
SCANS = 4
"""Folders whose photos stay checked."""
DRAWN_SECONDS = 0.1
"""Seconds between two states of a bar."""
SIZES = (128, 192, 256, 320, 384, 448, 512)
CELLS = (16, 8, 4)
"""Pixels of the input to a patch."""
COMPARED, JOINED = "compared", "joined"
TITLES = {COMPARED: "Automatic", JOINED: "Location and texture"}
TITLES |= {name: METHODS[name].title for name in OFFERED}
WHEN = (
    f"Chosen from the position of your parts. With ten or more known defects, Loupe tries {len(CANDIDATES)} detectors "
    "and keeps the best.",
    f"Combines “{METHODS[DEFAULT_METHOD].title}” with a texture detector.",
    *(METHODS[name].use_case for name in OFFERED),
)
REFERENCES = "; ".join(f"{METHODS[name].title}: {METHODS[name].reference}" for name in OFFERED)
TO_BLIND = (
    "With ten or more known defects, half are used to choose the detector and set the review limit. All reported "
    "figures then come from the other half."
)
TO_TEST = (
    "They are not learned from, so they show how good parts fare that nobody has seen. Without them all are learned "
    "from, and each is scored by a detector trained without it."
)
TO_BACKBONE = "The network that extracts features from each patch. EfficientNet-Lite0 is built in and fast."
TO_TAPS = "The layers used as features. “Expansions” have more channels and detect finer changes; “outputs” are faster."
TO_CHECK = (
    "Checks that a photo shows the taught product, using whole-photo features alone or combined with the network's "
    "class confidence (Fang et al. 2024, fused score)."
)
TO_SIZE = (
    "Photos keep their shape; the area is that of a square. More pixels take longer and are not better by themselves: "
    "on some parts they show finer defects, on others more of what does not matter."
)
TO_GRID = "A finer grid detects smaller defects; each step needs four times the memory."
TO_BUDGET = (
    "Detector time only, estimated for two cores; the network adds about 10 ms. Slower detectors are not considered."
)
CHECK_SCORES = {ALONE: "Features of the photo", FUSED: "Fused with class confidence"}


def choose_photos() -> PhotoSource | None:
    """Sample, folder or upload; None until a choice is made."""
    from_folder = partial(choose_folder, LAYOUTS, label="Folder, zip or list")
    ways = {SAMPLE: _choose_sample, FOLDER: from_folder, UPLOAD: choose_upload}
    options = [SAMPLE, FOLDER, UPLOAD]
    key = "photos_from"
    begins = SAMPLE if key not in st.session_state else None  # both would be a warning in Streamlit's log
    way = st.segmented_control("Photo source", options, default=begins, required=True, key=key, **shell.STAYS)
    return ways[way or SAMPLE]()


def show_scan(source: PhotoSource, key: str) -> Dataset | None:
    """What was found, as a table, with every warning and every skipped photo; None when nothing can be taught.

    key: the files' `fingerprint`.
    """
    samples = None
    with shell.errors_shown(ScanError, OSError):
        with st.spinner("Reading the labels…", show_time=True):
            labels = label_question.choose(source.path, key)
        if labels.is_clear:
            samples = _scanned(source.path, key, labels.reading)
    if samples is None:
        return None
    st.header("Photos found")
    st.markdown(f"**{shell.escape(samples.summary())}.**")
    sources = samples.sources()
    if [source.source for source in sources] != [UNSAID]:
        columns = {
            "Labels read from": [source.source for source in sources],
            "Good": [source.good for source in sources],
            "Defective": [source.defective for source in sources],
        }
        data_table.show_cells(columns, width="content")
    groups = _groups(samples)
    for number, (row, sheet) in enumerate(zip(samples.table(), _strips(groups, key), strict=False)):
        subject = row.what.replace("_", " ").capitalize()
        words, strip, button = st.columns([3, 6, 1], vertical_alignment="center")
        words.markdown(f"**{shell.escape(subject)}** {row.count:d}")
        words.caption(shell.escape(row.remark))
        strip.image(sheet, alt=f"Photos spread over all: {subject}")
        label = f"All photos: {subject}"
        if button.button("All", key=f"all-photos-{number}", help=shell.escape(label), type="tertiary"):
            _show_all(subject, groups[number], key)
    for line in samples.warnings:
        st.warning(shell.escape(line), icon=":material/info:")
    if samples.skipped:
        with st.expander(f"{pluralise(len(samples.skipped), 'file')} skipped, with reasons"):
            for skipped in samples.skipped[:MAX_LISTED]:
                st.text(f"{skipped.name}: {skipped.reason}")
            if len(samples.skipped) > MAX_LISTED:
                st.caption(f"and {len(samples.skipped) - MAX_LISTED} more")
    return samples


def _groups(samples: Dataset) -> list[Sequence[PhotoFile]]:
    """The photos of every kind, in the table's order: good, then defect types."""
    types = sorted({sample.label for sample in samples.defects})
    return [samples.good, *([defect for defect in samples.defects if defect.label == label] for label in types)]


@st.cache_data(max_entries=4, show_spinner="Checking the photos…")
def _strips(_groups: list[Sequence[PhotoFile]], key: str) -> list[str]:
    """A few photos of every kind, spread by name from the first to the last; key: of the files."""
    spread = [[photos[i * (len(photos) - 1) // (STRIP - 1)] for i in range(STRIP)] for photos in _groups]
    few = [list(dict.fromkeys(photos)) for photos in spread]
    return [contact_sheet.sheet(contact_sheet.small(photos), across=STRIP) for photos in few]


@st.dialog("Photos found", width="large")
def _show_all(subject: str, photos: Sequence[PhotoFile], key: str) -> None:
    """All photos of a kind as a grid, in pages; key: of the files."""
    shown = shell.paginate(photos, IN_GRID, f"all-{key}-{subject}")
    st.caption(shell.escape(f"{subject}: {shown[0].name} to {shown[-1].name}"))
    st.image(_grid(shown, key, shown[0].name), alt=f"{len(shown)} photos: {subject}")


@st.cache_data(max_entries=16, show_spinner="Reading the photos…")
def _grid(_photos: Sequence[PhotoFile], key: str, first: str) -> str:
    """A page of photos in rows; key, first: of the files, and the name of the first."""
    return contact_sheet.sheet(contact_sheet.small(_photos))


def choose_split(samples: Dataset) -> tuple[Split, int, tuple[str, ...]] | None:
    """Which good photos to learn from, which set the limit, which judge it; groups stay together.

    Also the seed, of the split and of the fit, and notes on the photos. None, with the reason on the page, where there
    are too few.
    """
    grouping = propose_groups(samples)
    has_groups = grouping.count < len(samples.good)
    with st.expander("How the good photos are used", expanded=has_groups):
        st.markdown(shell.escape(grouping.reason))
        if has_groups and not st.toggle("Keep groups together", value=True, key="use_groups", **shell.STAYS):
            st.warning(
                "The same part may now be in both training and test photos, so results may look better than they are."
            )
            grouping = ungrouped(samples)
        offered = grouping.offered or grouping
        label = f"Keep {pluralise(offered.count, 'larger group')} together"
        if grouping.offered is not None and st.toggle(label, key="use_lots", **shell.STAYS):
            grouping = offered
        seed = st.number_input(
            "Random seed", 0, 9999, 0, key="split_seed", **shell.STAYS, help="Used for the split and the fit."
        )
        label = "Use known defects to choose detector and limits"
        blind = not st.toggle(label, value=True, key="choose_by_defects", **shell.STAYS, help=TO_BLIND)
        has_test = any(sample.split_side == "test" for sample in (*samples.good, *samples.defects))
        label = "Keep one in five good photos for testing"
        keep_test = not has_test and st.toggle(label, key="keep_test", **shell.STAYS, help=TO_TEST)
        parts = None
        with shell.errors_shown(ValueError):
            parts = split_to_teach(samples, seed=int(seed), groups=grouping, blind=blind, keep_test=keep_test)
        if parts is None:
            return None
        chosen_by = f", {len(parts.validation)} defects for validation" if parts.validation else ""
        if count := len(parts.folds(int(seed))):
            to_fit = f"{len(parts.train)} for training and setting the limit"
            words = "To set the limit, each good photo is scored by a detector trained without it"
            option = f"{words} ({count:d} folds)."
        else:
            to_fit = f"{len(parts.train)} for training, {len(parts.calibration)} for setting the limit"
            option = None
        st.caption(f"{to_fit}{chosen_by}, {len(parts.test)} for testing.", help=option)
        for note in parts.notes:
            st.caption(shell.escape(note))
    return parts, int(seed), (*samples.warnings, *parts.notes)


def choose_settings(product: str, photos: Split, seed: int, notes: tuple[str, ...], key: str) -> TeachingConfig | None:
    """Name, detector, backbone and detail. The defaults suit most parts; None when a choice cannot be used.

    key: of the files; it changes when they do.
    """
    name = st.text_input("Product name", value=product, max_chars=60, key=f"product-{product}", **shell.STAYS)
    alignment = choose_alignment(key)
    place_of_tiles, place_of_tolerances = st.container(), st.container()
    with st.expander("Advanced: detector, network, detail"):
        method = _choose_detector()
        as_published = method in METHODS and st.toggle(
            "As published",
            key="as_published",
            **shell.STAYS,
            help=teaching_job.AS_PUBLISHED + METHODS[method].published_words,
        )
        backbone, taps = _choose_network()
        left, right = st.columns(2)
        with left:
            side, photo_size = _choose_size(photos.train, backbone)
        with place_of_tiles:
            tiles = choose_tiles(photos.train, photo_size, (side, side))
            if tiles is None:
                show_input(photos.train, photo_size, key)
        size = photo_size if tiles is None else tiles.tile
        with place_of_tolerances:
            tolerances = choose_tolerances(photos.train, key, size if tiles is None else tiles.size)
        with right:
            grid = _choose_grid(size, disabled=tiles is not None)
        parameters = _parameters(method, tiles)
        compares = photos.validation and method is None and tiles is None
        budget = _budget(grid, parameters) if compares else TeachingConfig.budget
        weights_panel.offer_networks()
        check_scores = st.segmented_control(
            "Product check", CHECK_SCORES, default=ALONE, required=True, key="guard_scores", help=TO_CHECK,
            format_func=CHECK_SCORES.__getitem__, **shell.STAYS,
        )  # fmt: skip
    if weights_panel.offer_missing(backbone):
        return None
    if not name.strip():
        st.error("Enter a product name above.", icon=":material/error:")
        return None
    return TeachingConfig.from_photos(
        name.strip(),
        photos,
        backbone=backbone,
        taps=taps,
        size=size,
        grid=grid,
        method=method,
        budget=budget,
        parameters=parameters,
        tiles=tiles,
        tolerances=tolerances,
        seed=seed,
        notes=notes,
        fused_product_check=check_scores == FUSED,
        as_published=as_published,
        **alignment,
    )


def _choose_detector() -> str | None:
    """The detector by its name; None for the one that fits the photos best."""
    chosen = st.radio(
        "Detector", list(TITLES), format_func=TITLES.__getitem__, key="method", **shell.STAYS, captions=WHEN,
        help=f"Published methods: {REFERENCES}",
    )  # fmt: skip
    if chosen == JOINED:
        second = st.segmented_control(
            "Texture detector", SECOND, default=SECOND[0], required=True, key="second_view", **shell.STAYS,
            format_func=registry.title_of,
        )  # fmt: skip
        return f"{DEFAULT_METHOD}{registry.JOIN}{second}"
    return None if chosen == COMPARED else chosen


def _choose_network() -> tuple[str, str | None]:
    """The backbone, and the preset of its feature layers, None for the one that suits the detector."""
    backbone = st.selectbox("Backbone", available(), key="backbone", **shell.STAYS, help=TO_BACKBONE)
    spec = CATALOGUE.get(backbone)
    presets = {"": "recommended for the detector"} | {preset: preset for preset in (spec.presets if spec else ())}
    preset = st.selectbox(
        "Feature layers", list(presets), key=f"taps-{backbone}", **shell.STAYS, format_func=presets.__getitem__,
        help=TO_TAPS,
    )  # fmt: skip
    return backbone, preset or None


def _choose_size(photos: Sequence[PhotoFile], backbone: str) -> tuple[int, tuple[int, int]]:
    """The side that was chosen, and the height and width at which the network sees the photos, in pixels."""
    offer = WORTH_HAVING.get(backbone)
    fixed = () if offer is None else offer.sides
    sizes = {side: (side, side) for side in fixed} or {
        side: input_size([photo.size for photo in photos], side) for side in SIZES
    }
    side = st.select_slider(
        "Photo size", list(sizes), SIDE if SIDE in sizes else fixed[0], help=TO_SIZE,
        key=f"size-{fixed}" if fixed else "size", **shell.STAYS,
        format_func=lambda side: f"{sizes[side][1]:d} × {sizes[side][0]:d} px",
    )  # fmt: skip
    return side, sizes[side]


def _choose_grid(size: tuple[int, int], *, disabled: bool) -> tuple[int, int]:
    """Rows and columns of patches of an input of this height and width."""
    grids = {cell: grid_of(size, cell) for cell in CELLS}
    cell = st.select_slider(
        "Patch grid", CELLS, CELL, key="grid", **shell.STAYS, disabled=disabled, help=TO_GRID,
        format_func=lambda cell: f"{grids[cell][1]:d} × {grids[cell][0]:d} patches",
    )  # fmt: skip
    return grids[cell]


def show_plan(order: TeachingConfig) -> None:
    """Show how the detector is chosen, how long teaching takes and what it needs, before it starts."""
    plan = None
    with shell.errors_shown(ValueError, OSError):
        plan = teaching_job.expected(order)
    if plan is None:
        st.stop()
    chosen, cost = plan
    st.caption(shell.escape(chosen))
    st.caption(shell.escape(cost.sentence()))
    groups = {order.photos.groups.get(sample.name, sample.name) for sample in order.setters}
    if limited := most_promised(len(groups), photos=len(order.setters)):
        st.caption(shell.escape(limited))


def offer_without_alignment(order: TeachingConfig) -> None:
    """Below the error of a teaching that failed for the alignment that was chosen: a button that goes on without."""
    if order.align == NO_ALIGNMENT or not shell.problem().endswith(WITHOUT_ALIGNMENT):
        return
    if st.button("Teach without alignment", icon=":material/school:", key="teach_as_taken"):
        shell.forget_problem()
        shell.begin(lambda: teaching_job.start(replace(order, align=NO_ALIGNMENT)))


def _parameters(method: str | None, tiles: TilePlan | None) -> dict[str, float]:
    """The parameters of the fit to be set; none while the detector is not chosen yet."""
    if method is None:
        return {}
    names = registry.methods_of(method)
    chosen = {}
    for name, defaults in zip(names, registry.parameters_of(names, {}, tiles), strict=True):
        chosen |= _of_method(METHODS[name], defaults, tiles)
    return chosen


def _of_method(row: Method, values: dict[str, Any], tiles: TilePlan | None) -> dict[str, float]:
    """The options of one method, each begun at its value; sliders side by side, switches below."""
    shown = {name: option for name, option in row.options.items() if option.label}
    sliders = [name for name, option in shown.items() if option.kind is not bool]
    key = "fit" if tiles is None else "tiled"
    for column, name in zip(st.columns(len(sliders)) if sliders else (), sliders, strict=True):
        option = shown[name]
        stops, begin = row.slider_values(name, values, tiles)
        ends = (stops[0], stops[-1])
        at = f"{key}_{name}"
        chosen = column.slider(option.label, *ends, begin, step=stops.step, key=at, **shell.STAYS, help=option.help)
        values[name] = chosen if option.per == 1 else chosen / option.per
    for name, option in shown.items():
        if option.kind is bool:
            switched = st.toggle(
                option.label, value=bool(values[name]), key=f"{key}_{name}", **shell.STAYS, help=option.help
            )
            values[name] = int(switched)
    return {name: values[name] for name in shown}


def _budget(grid: tuple[int, int], parameters: dict[str, float]) -> float:
    """The most time that a detector chosen for the photos may take, with what that leaves out."""
    option = ORDER_OPTIONS["budget"]
    least, most = option.bounds
    begins = TeachingConfig.budget
    most = st.number_input(option.label, least, most, begins, step=10.0, key="budget", **shell.STAYS, help=TO_BUDGET)
    shortlist = Shortlist.from_budget(grid, parameters, budget=most)
    with st.popover(f"{len(shortlist.candidates)} of {len(CANDIDATES)} detectors considered"):
        for name, ms in (shortlist.candidates | shortlist.left_out).items():
            out = " · too slow" if name in shortlist.left_out else ""
            st.markdown(f"{shell.escape(registry.title_of(name))}: {ms:.0f} ms{out}")
    return most


def _choose_sample() -> PhotoSource | None:
    names = teaching_job.samples()
    if not names:
        st.error("Sample data not found; run: make sample", icon=":material/error:")
        return None
    name = st.selectbox(
        "Part", names, key="sample", **shell.STAYS, format_func=lambda text: text.replace("_", " ").capitalize()
    )
    return PhotoSource(teaching_job.SAMPLES / name, name.replace("_", " "))


@st.cache_resource(show_spinner=False)
def _scans() -> ResultCache:
    return ResultCache(SCANS)


def _scanned(path: Path, fingerprint: str, reading: str | None) -> Dataset:
    """The photos at a path, checked once for all windows, with a bar meanwhile."""
    dataset = _scans().get((path, fingerprint, reading))
    if dataset is None:
        bar = st.empty()
        last = 0.0

        def report(fraction: float, step: str) -> None:
            nonlocal last
            if time.monotonic() - last >= DRAWN_SECONDS:
                last = time.monotonic()
                bar.progress(fraction, f"{step[:1].upper()}{step[1:]}")

        dataset = scan(path, stays=True, labels=reading, roots=workspace.readable_roots(), report=report)
        bar.empty()
        _scans().put((path, fingerprint, reading), dataset)
    return dataset
