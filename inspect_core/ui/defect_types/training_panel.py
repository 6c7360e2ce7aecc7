"""The parts of the Defect types page except gallery and results: what there is to learn from, and learning it."""

import streamlit as st

from inspect_core.images.samples import counted
from inspect_core.ui import crops, defect_labels, shell, teaching_job
from inspect_core.ui.crops import REGION, WHOLE
from inspect_core.ui.defect_types import training_job
from inspect_core.ui.defect_types.training_job import TypeTrainingConfig
from inspect_core.ui.defect_types.training_results import PARENTS
from inspect_core.ui.photo_source import SAMPLE
from inspect_core.ui.session import in_force
from inspect_core.ui.taught_product import TaughtPart
from inspect_core.whole_part.training_crops import ENOUGH, LEAST, Example, advice, examples_of, groups_of, learnable

COUNTS_WIDTH, ORDER_WIDTH = 430, 470
TELLING = "linen"
"""The sample part whose defect types can be told apart."""
ON_FLANGE = (
    "The flange is a hard case: a defect covers only 0.5% of the photo, so with four photos per type the model "
    "learns the rest of the part instead of the defect. Linen works: the cloth is uniform, so any difference is the "
    "defect."
)
ON_LOOKING = (
    "Region: a square around the largest region above the limit, as on Inspect; training also uses ground-truth "
    "masks. Whole part: for defects that affect the entire part, such as a wrong colour."
)
ON_MODEL = (
    "Both place a Gaussian around each example, so confidence drops away from the training data: kernel density "
    "forest and network (Dey et al. 2025)."
)


def say_if_changed(taught: TaughtPart) -> None:
    """A note when labels or crops are no longer those from which the current defect types were learned."""
    learned = training_job.last(taught)
    if learned is None:
        return
    examples = _examples(taught, learned.order.by_region, _learnable(taught, _groups(taught)))
    if set(examples) != set(learned.order.examples):
        st.warning(
            "The labels or the limit on Inspect have changed since training. Train again to use them.",
            icon=":material/update:",
        )


def say_which_sample_tells() -> None:
    """For the sample part of the first start, whose defect types can hardly be learned: why, and one that works."""
    st.info(ON_FLANGE, icon=":material/lightbulb:")
    if st.button("Teach the linen sample", key="to_linen", icon=":material/school:"):
        st.session_state.update(photos_from=SAMPLE, sample=TELLING)
        st.switch_page("pages/teach.py")


def learn(taught: TaughtPart) -> bool:
    """Number of examples, what to look at, and Learn. Returns whether regions are used instead of whole parts."""
    labels, groups = defect_labels.labels_of(taught), _groups(taught)
    rows = advice(labels, [groups[photo.name] for photo in taught.scored.photos])
    row = st.container(horizontal=True, gap="large")
    with row.container(width=COUNTS_WIDTH):
        if rows:
            table = dict(zip(("defect type", "photos", "more"), zip(*rows, strict=True), strict=True))
            more = st.column_config.TextColumn("next step", width="medium")
            st.dataframe(table, hide_index=True, column_config={"more": more})
        else:
            words = "No photo has a defect type yet. Enter one below, then click the photos that show it."
            st.info(words, icon=":material/label:")
        st.caption(
            f"Each defect type needs photos of at least {LEAST} different parts: one for training, one for testing. "
            f"With {ENOUGH} or more, its confidence becomes useful."
        )
        _keep_together(taught)
    with row.container(width=ORDER_WIDTH):
        key, ways = f"look_at-{taught.id}", [REGION, WHOLE]
        first = WHOLE if taught.product == TELLING and TELLING in teaching_job.samples() else REGION
        look_at = st.segmented_control("Classify by", ways, default=first, required=True, key=key, help=ON_LOOKING)
        with st.expander("Settings"):
            key, captions = f"parent-{taught.id}", ["robust with few examples", "often better with many examples"]
            parent = st.radio(
                "Model", PARENTS, format_func=PARENTS.get, key=key, horizontal=True, captions=captions, help=ON_MODEL
            )
            key, words = f"kinds_seed-{taught.id}", "A different seed changes the random draws in training."
            seed = st.number_input("Random seed", 0, 9999, 0, key=key, help=words)
        _learn_button(taught, groups, look_at == REGION, parent, int(seed))
    return look_at == REGION


def _keep_together(taught: TaughtPart) -> None:
    """Whether photos that look like one part or lot are judged together; a choice if there are any."""
    count = len(set(groups_of([photo.sample for photo in taught.scored.photos]).values()))
    if count < len(taught.scored.photos):
        key = f"together-{taught.id}"
        st.session_state.setdefault(key, True)
        words = (
            f"File names suggest that the {len(taught.scored.photos)} photos show {counted(count, 'part')} or lots. "
            "Training on one photo of a part and testing on another makes results look too good. Turn this off if "
            "every photo shows a different part."
        )
        st.toggle("Keep photos of one part or lot together", key=key, persist_state="session", help=words)


def _groups(taught: TaughtPart) -> dict[str, str]:
    """Group of each photo by its name; each its own when the toggle says so."""
    if not st.session_state.get(f"together-{taught.id}", True):
        return {photo.name: photo.name for photo in taught.scored.photos}
    return groups_of([photo.sample for photo in taught.scored.photos])


def _learn_button(taught: TaughtPart, groups: dict[str, str], by_region: bool, parent: str, seed: int) -> None:
    labels = _learnable(taught, groups)
    left_out = sorted(set(defect_labels.labels_of(taught).values()) - set(labels.values()))
    few = len(set(labels.values())) < 2
    if few:
        words = f"Training needs at least two defect types with {LEAST} parts each. Label more photos below."
        st.warning(words, icon=":material/label:")
    elif left_out:
        st.caption(f"Skipped (too few examples): {shell.plain(', '.join(left_out))}.")
    about = training_job.about(taught)
    busy = shell.jobs().about(about) is not None
    label, icon = "Train defect types", ":material/school:"
    if st.button(label, type="primary", icon=icon, disabled=busy or few, key="learn_kinds"):
        examples = _examples(taught, by_region, labels)
        owners = tuple(groups[taught.scored.photos[example.position].name] for example in examples)
        shell.begin(lambda: training_job.start(taught, TypeTrainingConfig(examples, owners, parent, by_region, seed)))
    shell.follow(about, "The result appears here when training finishes.")


def _learnable(taught: TaughtPart, groups: dict[str, str]) -> dict[int, str]:
    """Labels of the types that have enough examples to be learned."""
    labels = defect_labels.labels_of(taught)
    ready = learnable(labels, [groups[photo.name] for photo in taught.scored.photos])
    return {position: kind for position, kind in labels.items() if kind in ready}


def _examples(taught: TaughtPart, by_region: bool, labels: dict[int, str]) -> tuple[Example, ...]:
    if not by_region:
        return examples_of(labels, by_region=False, found={}, true={})
    live, limits = in_force(taught)
    true = {position: crops.true_boxes(taught, position) for position in labels}
    found = {}
    if limits is not None:
        boxes = {position: crops.found_box(taught, position, live, limits) for position in labels}
        found = {position: box for position, box in boxes.items() if box is not None}
    return examples_of(labels, by_region=True, found=found, true=true)
