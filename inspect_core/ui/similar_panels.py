"""Have we seen this before? The known parts most like the one on the bench, and adding it to them in one click."""

import streamlit as st

from inspect_core.images.read import ImageError
from inspect_core.images.samples import counted
from inspect_core.jobs import Busy
from inspect_core.kinds import Box
from inspect_core.known_surface import LEAST
from inspect_core.similar import Match
from inspect_core.ui import kinds_naming, shell, similar_gathering
from inspect_core.ui.in_hand import InHand
from inspect_core.ui.similar_gathering import Order
from inspect_core.verdict import Limits

SHOWN = 5
PICTURE = 112
REGION, WHOLE = "The region that stands out", "The whole part"
HOW = (
    "The parts of the gallery whose look is closest (cosine of the network's last features). A part that is far from "
    "everything known is similar to nothing, however its numbers fall (quadric hypersurface intersection, "
    "Pavutnitskiy et al. 2022)."
)


def seen_before(hand: InHand, position: int, live: dict[str, int], limits: Limits, *, busy: bool) -> None:
    """Below the bench: the gallery's answer for the part shown, or how to make a gallery."""
    st.markdown("#### Seen before?", help=HOW)
    if hand.cases is None:
        _offer(hand, live, limits, busy=busy)
        return
    try:
        box = _looked_at(hand, position, live, limits)
        embedding = kinds_naming.embedding(hand, position, box)
        case = similar_gathering.case_of(hand, position, box, kind="")
    except (ImageError, OSError) as error:
        st.error(str(error), icon=":material/broken_image:")
        return
    name = hand.tray.photos[position].name
    matches = hand.cases.nearest(embedding, count=SHOWN, besides=name)
    shown, *others = st.columns(1 + SHOWN)
    with shown:
        st.image(case.picture, width=PICTURE)
        st.caption(f"**On the bench**  \n{_strangeness(hand, embedding)}")
    for column, match in zip(others, matches, strict=False):
        with column:
            _match(hand, match)
    if not matches:
        with others[0].container(width=520):
            st.info("Nothing like this in the gallery.", icon=":material/search_off:")
    left, right, _ = st.columns([3, 3, 6])
    with left:
        _add(hand, position, box)
    with right:
        _settings(hand, live, limits, busy=busy)


def _offer(hand: InHand, live: dict[str, int], limits: Limits, *, busy: bool) -> None:
    """No gallery yet: what it would be made of, and one button."""
    kinds = similar_gathering.known_kinds(hand)
    good = sum(kind == "good" for kind in kinds.values())
    if len(kinds) < LEAST:
        st.caption(f"A gallery answers whether a part was seen before. It takes {LEAST} parts whose kind is known.")
        return
    st.caption(
        f"A gallery of known parts answers whether this one was seen before. On the bench are "
        f"{counted(good, 'good part')} and {counted(len(kinds) - good, 'labelled defect')}."
    )
    _build(hand, kinds, live, limits, words="Build the gallery", busy=busy)


def _build(
    hand: InHand, kinds: dict[int, str], live: dict[str, int], limits: Limits, *, words: str, busy: bool
) -> None:
    look_at = st.segmented_control(
        "Look at", [REGION, WHOLE], default=REGION, required=True, key=f"similar_look_at-{hand.id}",
        help="The region is the square around the largest region above the limit; on an accepted part, around its "
        "strangest spot. The whole part suits defects that show everywhere.",
    )  # fmt: skip
    if st.button(words, icon=":material/photo_library:", key=f"build_gallery-{hand.id}", disabled=busy):
        try:
            similar_gathering.start(hand, Order(kinds, dict(live), limits, look_at == REGION))
            st.rerun()
        except Busy as error:
            st.warning(str(error))


def _looked_at(hand: InHand, position: int, live: dict[str, int], limits: Limits) -> Box | None:
    """The box that is compared: of the largest region, or of another one she chose; None for the whole part."""
    if not hand.cases.by_region:
        return None
    boxes = kinds_naming.found_boxes(hand, position, live, limits)
    if len(boxes) < 2:
        return similar_gathering.box_of(hand, position, live, limits, known=False)
    chosen = st.segmented_control(
        "Region", range(len(boxes)), default=0, required=True, format_func=lambda i: f"{i + 1}",
        key=f"similar_region-{hand.id}-{position}-{len(boxes)}", help="Largest first.",
    )  # fmt: skip
    return boxes[chosen]


def _match(hand: InHand, match: Match) -> None:
    st.image(hand.cases.pictures[match.index], width=PICTURE)
    note = f"  \n{shell.plain(match.note)}" if match.note else ""
    st.caption(
        f"**{shell.plain(match.kind)}** · {100 * match.similarity:.0f} % alike{note}  \n{shell.plain(match.name)}"
    )


def _strangeness(hand: InHand, embedding) -> str:
    score = float(hand.cases.surface.score(embedding[None])[0])
    return f"strangeness {score:.2f}, limit {hand.cases.limit:.2f}"


def _add(hand: InHand, position: int, box: Box | None) -> None:
    """The part shown becomes a known case, with a kind and a note."""
    name = hand.tray.photos[position].name
    if name in hand.cases.gallery.names:
        if st.button("Take it out of the gallery", icon=":material/remove:", key=f"take_out-{hand.id}-{position}"):
            hand.cases = hand.cases.without(hand.cases.gallery.names.index(name))
            st.rerun()
        return
    with st.popover("Add to the gallery", icon=":material/add:"):
        known = sorted(set(hand.cases.gallery.kinds))
        kind = st.selectbox(
            "Kind", known, index=None, accept_new_options=True, key=f"case_kind-{hand.id}-{position}",
            placeholder="choose one, or type a new word",
        )  # fmt: skip
        note = st.text_input(
            "Note", key=f"case_note-{hand.id}-{position}", max_chars=120, placeholder="cause, machine, what was done"
        )
        if st.button("Add", type="primary", disabled=not (kind or "").strip(), key=f"add_case-{hand.id}-{position}"):
            case = similar_gathering.case_of(hand, position, box, kind=kind.strip(), note=note.strip())
            hand.cases = hand.cases.add(case)
            st.toast(f"{name} is in the gallery. Save the recipe to take it to the line.", icon=":material/check:")
            st.rerun()


def _settings(hand: InHand, live: dict[str, int], limits: Limits, *, busy: bool) -> None:
    """The limit of what counts as known, and building the gallery anew."""
    with st.popover("Gallery", icon=":material/photo_library:"):
        kinds = hand.cases.gallery.kinds
        st.caption(", ".join(f"{kinds.count(kind)} {shell.plain(kind)}" for kind in sorted(set(kinds))) or "empty")
        suggested = hand.cases.suggested
        limit = st.slider(
            "Unlike anything from", 0.0, max(1.5, 2 * suggested), float(hand.cases.limit), step=0.01,
            key=f"similar_limit-{hand.id}", help="Strangeness is the distance from everything known, in units of the "
            "features' length. From this value on a part is like nothing. Good parts that took no part in the "
            "learning set the suggested value.",
        )  # fmt: skip
        st.caption(f"Suggested {suggested:.2f}: 99 of 100 good parts lie below.")
        if limit != hand.cases.limit:
            hand.cases = hand.cases.with_limit(limit)
            st.rerun()
        if hand.study is not None:
            _build(hand, similar_gathering.known_kinds(hand), live, limits, words="Build it anew", busy=busy)
            st.caption("Takes the labels and regions as they are now; parts added by hand are added again by hand.")
