"""Have we seen this before? The known parts most like the one on the bench, and adding it to them in one click."""

from dataclasses import replace
from pathlib import PurePosixPath

import streamlit as st

from inspect_core.images.boxes import Box
from inspect_core.images.photo_reader import ImageError
from inspect_core.runtime.wording import pluralise
from inspect_core.tuning.known_cases_training import LEAST
from inspect_core.ui import crops, shell
from inspect_core.ui.crops import REGION, WHOLE
from inspect_core.ui.inspect import gallery_building
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.verdict import Limits
from inspect_core.whole_part.known_cases import KnownCase, KnownCases
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

SHOWN = 5
MOST_REGIONS = 8
PICTURE = 112
HOW = (
    "The known parts most similar to this one (cosine similarity of the network's final features). A part far from "
    "everything known matches none of them, however similar it looks (quadric hypersurface intersection, "
    "Pavutnitskiy et al. 2022)."
)


def show_similar_cases(photo: ShownPhoto) -> None:
    """Below the bench: the gallery's answer for the part shown, or how to make a gallery."""
    product, position, live, limits = photo.product, photo.position, photo.live, photo.view.limits
    st.markdown("## Seen before?", help=HOW)
    cases = product.known_cases
    if cases is None:
        _offer(product, live, limits, busy=photo.busy)
        return
    try:
        box = _looked_at(product, cases, position, live, limits)
        case = gallery_building.case_of(product, position, box, defect_type="")
    except (ImageError, OSError) as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return
    matches = cases.nearest(case.embedding, count=SHOWN, besides=case.digest)
    shown, *others = st.columns(1 + SHOWN)
    with shown:
        st.image(case.picture, width=PICTURE)
        st.caption(f"**This part**  \n{_novelty(cases, case)}")
    for column, (known, similarity) in zip(others, matches, strict=False):
        with column:
            _match(known, similarity)
    if not matches:
        with others[0].container(width=520):
            st.info("Nothing similar in the gallery.", icon=":material/search_off:")
    with st.container(horizontal=True):
        _add(product, cases, case, position, busy=photo.busy)
        _settings(product, cases, live, limits, busy=photo.busy)


def _offer(product: TaughtProduct, live: dict[str, int], limits: Limits, *, busy: bool) -> None:
    """Without a gallery: what it would be made of, and one button."""
    defect_types = gallery_building.known_types(product)
    good = [i for i, defect_type in defect_types.items() if defect_type == "good"]
    there = gallery_building.good_parts(product)
    if len(defect_types) < LEAST:
        st.caption(
            f"A gallery shows whether a similar part was seen before. It needs at least {LEAST} good or labelled parts."
        )
        return
    st.caption(
        "A gallery of known parts shows whether a similar part was seen before. It would contain "
        f"{(f'{len(good)} of ' if len(there) > len(good) else '')}{pluralise(len(there), 'good part')} and "
        f"{pluralise(len(defect_types) - len(good), 'labelled defect')}."
    )
    _build(product, defect_types, live, limits, words="Build the gallery", look_at=REGION, busy=busy)


def _build(
    product: TaughtProduct,
    defect_types: dict[int, str],
    live: dict[str, int],
    limits: Limits,
    *,
    words: str,
    look_at: str,
    busy: bool,
) -> None:
    """Show what to look at, beginning with `look_at`, and the button that builds a gallery of these parts."""
    look_at = st.segmented_control(
        "Compare by", [REGION, WHOLE], default=look_at, required=True, key=f"similar_look_at-{product.id}",
        help="Region: a square around the largest region above the limit or, on an accepted part, around the highest "
            "score. Whole part: for defects that affect the entire part.",
    )  # fmt: skip
    if st.button(words, icon=":material/photo_library:", key=f"build_gallery-{product.id}", disabled=busy):
        shell.begin(lambda: gallery_building.start(product, defect_types, live, limits, by_region=look_at == REGION))


def _looked_at(
    product: TaughtProduct, cases: KnownCases, position: int, live: dict[str, int], limits: Limits
) -> Box | None:
    """The box that is compared: of the largest region, or of another one chosen; None for the whole part."""
    if not cases.by_region:
        return None
    boxes = crops.found_boxes(product, position, live, limits)[:MOST_REGIONS]
    if len(boxes) < 2:
        return gallery_building.box_of(product, position, live, limits, known=False)
    chosen = st.segmented_control(
        "Region", range(len(boxes)), default=0, required=True, format_func=lambda i: f"{i + 1}",
        key=f"similar_region-{product.id}-{position}-{len(boxes)}", help="Largest first.",
    )  # fmt: skip
    return boxes[chosen]


def _match(case: KnownCase, similarity: float) -> None:
    st.image(case.picture, width=PICTURE)
    note = f"  \n{shell.escape(case.note)}" if case.note else ""
    name = shell.escape(PurePosixPath(case.name).name)
    st.caption(f"**{shell.escape(case.defect_type)}** · {100 * similarity:.0f}% similar{note}  \n{name}")


def _novelty(cases: KnownCases, case: KnownCase) -> str:
    if cases.row_of(case.digest) is not None:
        return "already in the gallery; compared with the other parts"
    return f"novelty score {cases.surface.score(case.embedding[None])[0]:.2f}, threshold {cases.limit:.2f}"


def _add(product: TaughtProduct, cases: KnownCases, case: KnownCase, position: int, *, busy: bool) -> None:
    """Show how the part shown becomes a known case, with a defect type and a note, or is taken out again.

    busy: a job runs; it may be building a gallery, in which a change made meanwhile would be lost.
    """
    if cases.row_of(case.digest) is not None:
        st.button(
            "Remove from gallery", icon=":material/remove:", key=f"take_out-{product.id}-{position}",
            disabled=busy, on_click=_take_out, args=(product.id, case.digest),
        )  # fmt: skip
        return
    with st.popover("Add to the gallery", icon=":material/add:"):
        known = sorted({known_case.defect_type for known_case in cases.cases})
        defect_type = st.selectbox(
            "Defect type", known, index=None, accept_new_options=True, key=f"case_kind-{product.id}-{position}",
            placeholder="Select or type one",
        )  # fmt: skip
        note = st.text_input(
            "Note",
            key=f"case_note-{product.id}-{position}",
            max_chars=120,
            placeholder="e.g. cause, machine, action taken",
        )
        defect_type = (defect_type or "").strip()
        if st.button("Add", type="primary", disabled=busy or not defect_type, key=f"add_case-{product.id}-{position}"):
            known_case = replace(case, defect_type=defect_type, note=note.strip())
            shelf().change(
                product.id,
                lambda current: replace(
                    current, known_cases=current.known_cases and current.known_cases.add(known_case)
                ),
            )
            st.toast(
                f"{shell.escape(case.name)} was added to the gallery. Save the recipe to use it on the line.",
                icon=":material/check:",
            )
            st.rerun()


def _take_out(taught_id: str, digest: str) -> None:
    def without(current: TaughtProduct) -> TaughtProduct:
        if current.known_cases is None or (row := current.known_cases.row_of(digest)) is None:
            return current
        return replace(current, known_cases=current.known_cases.without(row))

    shelf().change(taught_id, without)


def _settings(product: TaughtProduct, cases: KnownCases, live: dict[str, int], limits: Limits, *, busy: bool) -> None:
    """Show the limit of what counts as known, and rebuilding the gallery."""
    with st.popover("Gallery", icon=":material/photo_library:"):
        defect_types = [case.defect_type for case in cases.cases]
        suggested = cases.suggested
        key = f"similar_limit-{product.id}"
        st.caption(
            ", ".join(
                f"{defect_types.count(defect_type)} {shell.escape(defect_type)}"
                for defect_type in sorted(set(defect_types))
            )
            or "empty"
        )
        limit = shell.set_widget(key, cases.limit)
        st.slider(
            "Novelty threshold", 0.0, max(1.5, 2 * suggested, cases.limit), limit, step=0.01, key=key,
            on_change=_set_limit, args=(product.id, key),
            help="The novelty score is the distance from all known parts. A part above the threshold matches "
                "nothing. The suggested value comes from good parts held out of training.",
        )  # fmt: skip
        st.caption(f"Suggested {suggested:.2f}, from good parts held out of training.")
        if not product.is_fixed:
            known = gallery_building.known_types(product)
            look_at = REGION if cases.by_region else WHOLE
            _build(product, known, live, limits, words="Rebuild", look_at=look_at, busy=busy)
            st.caption("Uses the current labels and regions. Parts added by hand must be added again.")


def _set_limit(taught_id: str, key: str) -> None:
    limit = st.session_state[key]
    shelf().change(
        taught_id,
        lambda current: replace(current, known_cases=current.known_cases and current.known_cases.with_limit(limit)),
    )
