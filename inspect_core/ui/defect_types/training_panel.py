"""The parts of the Defect types page except gallery and results: what there is to learn from, and learning it."""

from operator import itemgetter

import streamlit as st

from inspect_core.runtime.wording import pluralise
from inspect_core.ui import crops, data_table, shell, teaching_job
from inspect_core.ui.crops import REGION, WHOLE
from inspect_core.ui.data_table import DataColumn
from inspect_core.ui.defect_types import training_job
from inspect_core.ui.defect_types.training_job import TypeTrainingConfig
from inspect_core.ui.defect_types.training_results import PARENTS
from inspect_core.whole_part.training_crops import (
    ENOUGH,
    MIN_PARTS_PER_TYPE,
    TrainingCrop,
    advice,
    examples_of,
    groups_of,
    learnable,
)
from inspect_core.workbench import defect_labels
from inspect_core.workbench.taught_product import TaughtProduct

COUNTS_WIDTH = 430
ORDER_WIDTH = 470
LEARNABLE_SAMPLE = "linen"
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


def say_if_changed(product: TaughtProduct) -> None:
    """Show a note when labels or crops are no longer those from which the current defect types were learned."""
    learned = training_job.last(product)
    if learned is None:
        return
    examples = _examples(product, learned.order.by_region, _learnable(product, _groups(product)))
    if set(examples) != set(learned.order.examples):
        st.warning(
            "The labels or the limit on Inspect have changed since training. Train again to use them.",
            icon=":material/update:",
        )


def show_sample_hint() -> None:
    """For the sample part of the first start, whose defect types can hardly be learned: why, and one that works."""
    st.info(ON_FLANGE, icon=":material/lightbulb:")
    if st.button("Teach the linen sample", key="to_linen", icon=":material/school:"):
        shell.begin(lambda: teaching_job.start_sample(LEARNABLE_SAMPLE))
    shell.show_job_status(teaching_job.SAMPLE)


def learn(product: TaughtProduct) -> bool:
    """Show the number of examples, what to look at, and Learn. Return whether regions are used, not whole parts."""
    labels = defect_labels.labels_of(product)
    groups = _groups(product)
    rows = advice(labels, [groups[photo.name] for photo in product.scored.photos])
    row = st.container(horizontal=True, gap="large")
    with row.container(width=COUNTS_WIDTH):
        if rows:
            columns = [
                DataColumn("defect type", itemgetter(0)),
                DataColumn("photos", itemgetter(1)),
                DataColumn("next step", itemgetter(2), width="medium"),
            ]
            data_table.show(rows, columns, alt="The defect types, one row each.", key="defect_type_counts")
        else:
            words = "No photo has a defect type yet. Enter one below, then click the photos that show it."
            st.info(words, icon=":material/label:")
        st.caption(
            f"Each defect type needs photos of at least {MIN_PARTS_PER_TYPE} different parts: one for training, one "
            f"for testing. With {ENOUGH} or more, its confidence becomes useful."
        )
        _keep_together(product)
    with row.container(width=ORDER_WIDTH):
        key = f"look_at-{product.id}"
        ways = [REGION, WHOLE]
        first = WHOLE if product.product == LEARNABLE_SAMPLE and LEARNABLE_SAMPLE in teaching_job.samples() else REGION
        look_at = st.segmented_control("Classify by", ways, default=first, required=True, key=key, help=ON_LOOKING)
        with st.expander("Settings"):
            key = f"parent-{product.id}"
            captions = ["robust with few examples", "often better with many examples"]
            parent = st.radio(
                "Model", PARENTS, format_func=PARENTS.get, key=key, horizontal=True, captions=captions, help=ON_MODEL
            )
            key = f"kinds_seed-{product.id}"
            words = "A different seed changes the random draws in training."
            seed = st.number_input("Random seed", 0, 9999, 0, key=key, help=words)
        _learn_button(product, groups, look_at == REGION, parent, int(seed))
    return look_at == REGION


def _keep_together(product: TaughtProduct) -> None:
    """Show whether photos that look like one part or lot are judged together; a choice if there are any."""
    count = len(set(groups_of([photo.sample for photo in product.scored.photos]).values()))
    if count < len(product.scored.photos):
        key = f"together-{product.id}"
        begin = st.session_state.setdefault(key, True)
        words = (
            f"File names suggest that the {len(product.scored.photos)} photos show {pluralise(count, 'part')} or lots. "
            "Training on one photo of a part and testing on another makes results look too good. Turn this off if "
            "every photo shows a different part."
        )
        st.toggle("Keep photos of one part or lot together", begin, key=key, persist_state="session", help=words)


def _groups(product: TaughtProduct) -> dict[str, str]:
    """Group of each photo by its name; each its own when the toggle says so."""
    if not st.session_state.get(f"together-{product.id}", True):
        return {photo.name: photo.name for photo in product.scored.photos}
    return groups_of([photo.sample for photo in product.scored.photos])


def _learn_button(product: TaughtProduct, groups: dict[str, str], by_region: bool, parent: str, seed: int) -> None:
    labels = _learnable(product, groups)
    left_out = sorted(set(defect_labels.labels_of(product).values()) - set(labels.values()))
    few = len(set(labels.values())) < 2
    if few:
        words = (
            f"Training needs at least two defect types with {MIN_PARTS_PER_TYPE} parts each. Label more photos below."
        )
        st.warning(words, icon=":material/label:")
    elif left_out:
        st.caption(f"Skipped (too few examples): {shell.escape(', '.join(left_out))}.")
    subject = training_job.subject_of(product)
    busy = shell.jobs().find_by_subject(subject) is not None
    label, icon = "Train defect types", ":material/school:"
    if st.button(label, type="primary", icon=icon, disabled=busy or few, key="learn_kinds"):
        examples = _examples(product, by_region, labels)
        owners = tuple(groups[product.scored.photos[example.position].name] for example in examples)
        shell.begin(lambda: training_job.start(product, TypeTrainingConfig(examples, owners, parent, by_region, seed)))
    shell.show_job_status(subject, "The result appears here when training finishes.")


def _learnable(product: TaughtProduct, groups: dict[str, str]) -> dict[int, str]:
    """Labels of the types that have enough examples to be learned."""
    labels = defect_labels.labels_of(product)
    ready = learnable(labels, [groups[photo.name] for photo in product.scored.photos])
    return {position: defect_type for position, defect_type in labels.items() if defect_type in ready}


def _examples(product: TaughtProduct, by_region: bool, labels: dict[int, str]) -> tuple[TrainingCrop, ...]:
    if not by_region:
        return examples_of(labels, by_region=False, boxes={}, true={})
    live, limits = product.live, product.limits
    true = {position: crops.true_boxes(product, position) for position in labels}
    examples = {}
    if limits is not None:
        boxes = {position: crops.found_box(product, position, live, limits) for position in labels}
        examples = {position: box for position, box in boxes.items() if box is not None}
    return examples_of(labels, by_region=True, boxes=examples, true=true)
