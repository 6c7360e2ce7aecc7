"""The results of a batch: counts, scores, the worst parts, the table, and the files to download."""

from collections import Counter
from pathlib import Path

import streamlit as st

from inspect_core.inspection import Inspection
from inspect_core.line import confusion
from inspect_core.line.batch import photos_of
from inspect_core.line.batch_report import in_words, review_reasons, worst_rows
from inspect_core.line.common_cause import common_causes
from inspect_core.line.histogram import WIDTH as HISTOGRAM_WIDTH
from inspect_core.line.histogram import histogram
from inspect_core.line.verdict_changes import BETTER, WORSE, compare_verdicts
from inspect_core.line.verdict_table import lines_of, read_table
from inspect_core.runtime import workspace
from inspect_core.ui import batch_store, charts, data_table, saved_recipes, shell, verdict_tiles
from inspect_core.ui.batch import batch_form
from inspect_core.ui.batch_store import SIDES, BatchRun
from inspect_core.ui.data_table import SCORE, DataColumn
from inspect_core.ui.inspected_photos import heatmap_of
from inspect_core.verdict import ALL_VERDICTS, VERDICT_PHRASES

PICTURE_WIDTH = 180
CHANGE_WIDTH = 330
CHANGES = 9
SELECTED_SIDE = 360
WAYS = {BETTER: ":material/thumb_up: Better", WORSE: ":material/thumb_down: **Worse**"}
AT_OR_BELOW = "Percentage of the calibration parts with this score or a lower one."
LARGEST_PICTURE = 1 << 24
"""Bytes."""
TRUTH = DataColumn("Ground truth", lambda row: row.truth)
PHOTO_COLUMNS = (
    DataColumn("Photo", lambda row: row.name, pinned=True),
    DataColumn("Verdict", lambda row: data_table.verdict_with_symbol(row.verdict)),
    DataColumn("Score", lambda row: row.score, format=SCORE),
    DataColumn("Percentile among good parts", lambda row: row.percentile_among_good, AT_OR_BELOW, "%.0f%%"),
    DataColumn("Defect type", lambda row: row.defect_type),
    TRUTH,
    DataColumn("Regions", lambda row: row.regions),
    DataColumn("Reason", lambda row: row.reason),
    DataColumn("Product check", lambda row: row.product_check),
    DataColumn("Difference from training photos", lambda row: row.photo_deviation),
)


def results(finished: list[BatchRun]) -> None:
    """Show one of the finished batches, initially the latest."""
    st.header("Results")
    batch = finished[0]
    if len(finished) > 1:
        known = {run.id: run for run in finished}
        labels = {run.id: f"{run.when} · {run.product} · {run.count:,} photos" for run in finished}
        batch = known.get(st.selectbox("Batch", list(labels), format_func=labels.__getitem__, key="batch_shown"), batch)
    try:
        rows = _rows(str(batch.table), batch.table.stat().st_mtime_ns)
    except (ValueError, OSError) as error:
        st.error(shell.sentence(error), icon=":material/error:")
        batch_form.discard(batch, st)
        return
    st.caption(f"{shell.escape(_recipe_name(batch))} · {shell.escape(batch.source)}")
    _counts(rows)
    shell.show_causes(common_causes(rows))
    _truth(rows)
    _downloads(batch)
    _changes(batch, rows)
    if drawn := histogram(rows, ink=charts.current_theme().ink):
        st.markdown("**Scores**")
        # As a picture: Streamlit takes SVG out of `st.html`.
        st.image(drawn, width=HISTOGRAM_WIDTH, alt=f"Scores of {len(rows):,} photos, by verdict")
    _worst(batch, rows)
    _table(batch, rows)


def _counts(rows: list[Inspection]) -> None:
    verdict_tiles.show(Counter(row.verdict for row in rows), "batch")
    for sentence in review_reasons(rows):
        st.markdown(shell.escape(sentence))


def _truth(rows: list[Inspection]) -> None:
    """Against what the photos show, where their folders or a list say it."""
    if truth_sentence := confusion.escape_sentence(rows):
        st.markdown(shell.escape(truth_sentence))
        data_table.show_cells(confusion.table_of(rows))


def _changes(batch: BatchRun, rows: list[Inspection]) -> None:
    """Show what another recipe had said of the same photos."""
    before = batch_store.find(batch.baseline_batch) if batch.baseline_batch else None
    if before is None or not before.finished:
        return
    changes = compare_verdicts(_rows(str(before.table), before.table.stat().st_mtime_ns), rows)
    names = [_recipe_name(before), _recipe_name(batch)]
    st.markdown(f"**Compared with {shell.escape(names[0])}** · {shell.escape(changes.sentence())}")
    drawn = [
        (change, *pictures)
        for rank, change in enumerate(changes.changes)
        if len(pictures := [image for side in SIDES if (image := _drawn(batch.changed / f"{rank:02d}-{side}.webp"))])
        == 2
    ]
    strip = st.container(horizontal=True, gap="medium")
    for change, *pictures in shell.paginate(drawn, CHANGES, f"batch_changes-{batch.id}"):
        with strip.container(border=True, width=CHANGE_WIDTH):
            sides = st.columns(2, gap="small")
            verdicts = zip(sides, (change.before, change.after), pictures, names, strict=True)
            for column, row, picture, name in verdicts:
                with column:
                    st.image(picture, width="stretch", alt=f"{row.name} by {name}: {in_words(row)}")
                    st.caption(f"{shell.escape(name)}  \n**{shell.escape(_in_short(row))}**")
            truth = f" · {shell.escape(change.after.truth)}" if change.after.truth else ""
            way = f"  \n{WAYS[change.direction]}" if change.direction else ""
            st.caption(f"{shell.escape(change.after.name)}{truth}{way}")
    if len(changes.changes) > len(drawn):
        st.caption("Select a row below to see any other photo.")


def _downloads(batch: BatchRun) -> None:
    row = st.container(horizontal=True)
    table, report = batch.table, batch.report
    data_table.offer_download(row, lambda: lines_of(read_table(table)), table.stem, disabled=not table.is_file())
    data_table.offer_report(row, report.read_bytes, report.name, disabled=not report.is_file())
    batch_form.compare(batch, row)
    batch_form.discard(batch, row)
    if batch.map_suffixes:
        st.caption(f"Heatmaps and anomaly maps: {shell.escape(batch.maps)}")


def _worst(batch: BatchRun, rows: list[Inspection]) -> None:
    pictures = [
        (row, picture)
        for rank, row in enumerate(worst_rows(rows))
        if (picture := _drawn(batch.pictures / f"{rank:02d}.webp"))
    ]
    if not pictures:
        return
    st.markdown("**Highest scores**")
    strip = st.container(horizontal=True, gap="medium")
    for row, picture in pictures:
        with strip.container(width=PICTURE_WIDTH):
            st.image(picture, width="stretch", alt=f"{row.name}: {in_words(row)}")
            st.caption(f"{shell.escape(row.name)}  \n{shell.escape(_in_short(row))}")


def _table(batch: BatchRun, rows: list[Inspection]) -> None:
    """Show the photos, one row each, and the one that is selected with its heatmap."""
    st.markdown("**Photos**")
    words = {word: VERDICT_PHRASES[word].capitalize() for word in ALL_VERDICTS}
    key = "batch_outcomes"
    outcome = st.segmented_control(
        "Show", words, format_func=words.__getitem__, selection_mode="multi", key=key, label_visibility="collapsed"
    )
    shown = [row for row in rows if not outcome or row.verdict in outcome]
    place = st.container()
    has_truth = any(row.truth for row in rows)
    chosen = data_table.show(
        shown,
        [column for column in PHOTO_COLUMNS if column is not TRUTH or has_truth],
        height="auto",
        placeholder="",
        alt="Photos of the batch, one row each.",
        key=f"batch_table-{batch.id}-{'-'.join(outcome or ())}",
        on_select="rerun",
        selection_mode="single-row",
    ).selection.rows
    with place:
        if chosen and chosen[0] < len(shown):
            _selected(batch, shown[chosen[0]])
        else:
            st.caption("Select a row to see the photo and its heatmap.")


def _selected(batch: BatchRun, row: Inspection) -> None:
    """Show one photo with its heatmap, and its row in words."""
    with st.container(horizontal=True, gap="large", border=True):
        with st.container(width="content"), shell.errors_shown(ValueError, OSError):
            path = _paths(batch.source).get(row.name, "")
            drawn = heatmap_of(batch.recipe, batch.digest, path, row.digest, SELECTED_SIDE) if row.digest else None
            if drawn is not None:
                st.image(drawn, alt=f"{row.name} with its heatmap")
            else:
                reason = "the photo or the recipe has changed" if row.digest else "the photo could not be read"
                st.info(f"No image: {reason}.", icon=":material/hide_image:")
        with st.container():
            st.markdown(f"**{shell.escape(row.name)}**  \n{shell.escape(_in_short(row))}")
            limits = f"review above {row.review:.4g}, " if row.review < row.reject else ""
            facts = {
                "Limits": f"{limits}reject above {row.reject:.4g}",
                "Ground truth": row.truth,
                "Defect type": row.defect_type,
                "Reason": row.reason,
                "Product check": row.product_check,
                "Photo quality": row.photo_deviation,
                "Recipe": _recipe_name(batch),
            }
            st.markdown(
                "  \n".join(f"{shell.escape(name)}: {shell.escape(fact)}" for name, fact in facts.items() if fact)
            )


@st.cache_data(max_entries=2, show_spinner="Searching for the photo…", ttl=60)
def _paths(source: str) -> dict[str, str]:
    """Where the photos of a batch are, by name."""
    return {name: str(path) for name, path in photos_of([Path(source)], workspace.readable_roots())}


def _recipe_name(batch: BatchRun) -> str:
    """What the version is called that inspected a batch: "flange, draft 2"."""
    return f"{batch.product}, {saved_recipes.versions()(batch.digest)}"


def _drawn(path: Path) -> bytes | None:
    return workspace.content(path, at_most=LARGEST_PICTURE)


def _in_short(row: Inspection) -> str:
    score = "" if row.score is None else f" · {row.score:.3g}"
    return f"{data_table.verdict_with_symbol(row.verdict)}{score}"


@st.cache_data(max_entries=4, show_spinner=False)
def _rows(path: str, written: int) -> list[Inspection]:
    return read_table(Path(path))
