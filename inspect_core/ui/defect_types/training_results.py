"""Whether the defect types named can be trusted: how many are right, and how far the probability is right."""

import numpy as np
import streamlit as st

from inspect_core.plots import defect_type_plots
from inspect_core.runtime.wording import pluralise
from inspect_core.scoring.metrics import accuracy, expected_calibration_error, ood_calibration_error, reliability_curve
from inspect_core.ui import charts, defect_naming, in_hand, shell
from inspect_core.ui.defect_types import training_job
from inspect_core.ui.defect_types.training_job import TypeTrainingResult
from inspect_core.whole_part.defect_type_training import FOREST, NETWORK
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.workbench.taught_product import TaughtProduct

PARENTS = {FOREST: "Random forest", NETWORK: "Neural net"}
KERNEL = {FOREST: "kernel density forest", NETWORK: "kernel density network"}
PER_BIN = 20
"""Examples for each bin of the reliability diagram, on average; between 5 and 10 bins are drawn."""
LIMIT_WIDTH = 400
CONFUSION_WIDTH = 540
CURVE_WIDTH = 470


@in_hand.as_fragment
def results(product: TaughtProduct) -> None:
    """First how often the name is right, then where the limit lies and how far the probability is right."""
    learned = training_job.last(product)
    known = product.defect_types
    if known is None:
        return
    if learned is None:
        st.markdown(f"Trained on **{shell.escape(', '.join(known.names))}**. Train again to see how reliable it is.")
        defect_naming.limit_slider(product, "kinds")
        return
    right, surer = accuracy_sentences(learned)
    st.markdown(f"## {right}")
    st.markdown(f"{surer} Each example was tested once, by a model trained without it and without its group.")
    if is_guessing(learned):
        st.warning(
            "This is little better than guessing, so do not rely on these names. Label more photos of each type, or "
            "switch between region and whole part.",
            icon=":material/casino:",
        )
    row = st.container(horizontal=True, gap="medium", vertical_alignment="center")
    with row.container(width=LIMIT_WIDTH):
        defect_naming.limit_slider(product, "kinds")
        for line in at_limit(learned, known):
            st.markdown(line)
        st.caption("Inspect and the recipe report a defect type only at or above this confidence.")
    with row.container(width=CONFUSION_WIDTH):
        figure = defect_type_plots.confusion(
            confusion(learned, known.minimum_confidence), known.names, charts.current_theme()
        )
        charts.show(
            figure, key="confusion", alt="Confusion matrix: true defect types (rows), predicted types (columns)."
        )
    _trust(known, learned)


def accuracy_sentences(learned: TypeTrainingResult) -> tuple[str, str]:
    """Two plain sentences: how many are named correctly, and the effect of a higher probability."""
    stated = learned.posterior.max(axis=1)
    right = learned.posterior.argmax(axis=1) == learned.unseen.y
    surer = np.argsort(-stated, kind="stable")[: -(-len(stated) // 2)]
    return (
        f"The most likely defect type is correct for {right.sum()} of {len(right)} examples",
        f"For its {pluralise(len(surer), 'most confident example')}, the average confidence is "
        f"{100 * stated[surer].mean():.0f}% and {right[surer].sum()} are correct.",
    )


def is_guessing(learned: TypeTrainingResult) -> bool:
    """Whether always naming the most frequent type may well have got as many right (two standard errors)."""
    y = learned.unseen.y
    chance = np.bincount(y).max() / len(y)
    fraction = float((learned.posterior.argmax(axis=1) == y).mean())
    return bool(fraction < chance + 2 * np.sqrt(chance * (1 - chance) / len(y)))


def at_limit(learned: TypeTrainingResult, defect_types: DefectTypes) -> list[str]:
    """What the limit does, in counts: known types, types left out, other products."""
    stated = learned.posterior.max(axis=1)
    named = stated >= defect_types.minimum_confidence
    right = named & (learned.posterior.argmax(axis=1) == learned.unseen.y)
    lines = [f"**{named.sum()} of {len(named)}** known defects are named, {right.sum()} of them correctly."]
    others = {
        "defects of a type left out of training": learned.left_out,
        "defects of other products": learned.foreign.max(axis=1),
    }
    for subject, sure in others.items():
        if len(sure):
            unknown = f"{(sure < defect_types.minimum_confidence).sum()} of {len(sure)}"
            lines.append(f"**{unknown}** {subject} are reported as “unknown defect type”.")
    return lines


def confusion(learned: TypeTrainingResult, minimum_confidence: float) -> np.ndarray:
    """(C, C + 1) counts of true types by types named; the last column is for those without a name."""
    posterior = learned.posterior
    type_count = learned.posterior.shape[1]
    predicted = np.where(posterior.max(axis=1) >= minimum_confidence, posterior.argmax(axis=1), type_count)
    counts = np.zeros((type_count, type_count + 1), int)
    np.add.at(counts, (learned.unseen.y, predicted), 1)
    return counts


def _trust(known: DefectTypes, learned: TypeTrainingResult) -> None:
    """Is the stated probability right, and does it fall away from the examples?"""
    row = st.container(horizontal=True, gap="medium")
    parent = PARENTS[learned.order.parent].lower()
    kernel = KERNEL[learned.order.parent]
    stated = {f"{kernel} (in use)": learned.posterior, f"{parent} only": learned.unseen.parent}
    y = learned.unseen.y
    with row.container(width=CURVE_WIDTH):
        st.markdown("**Is the confidence calibrated?**")
        bins = int(np.clip(len(y) // PER_BIN, 5, 10))
        curves = {name: reliability_curve(proba, y, bins=bins) for name, proba in stated.items()}
        words = "Fraction correct against stated confidence; on the diagonal the two agree."
        charts.show(defect_type_plots.reliability(curves, charts.current_theme()), key="reliability", alt=words)
        st.caption(
            "On the diagonal, 80% confidence means correct 8 times out of 10. Below it, the model is overconfident. "
            "Larger dots stand for more parts."
        )
    with row.container(width=CURVE_WIDTH):
        st.markdown("**Does it recognise unknown defects?**")
        lines = dict(zip(stated, (learned.away_kernel, learned.away_parent), strict=True))
        prior = float(known.classifier.prior.max())
        figure = defect_type_plots.confidence_decay(
            training_job.AWAY, lines, prior, known.minimum_confidence, charts.current_theme()
        )
        words = "Mean probability against distance from the examples; that of the model in use falls to chance."
        charts.show(figure, key="falling", alt=words)
        st.caption("Far from all examples, the confidence of the model in use drops to chance and no type is reported.")
    with st.expander("Compared with the model alone"):
        st.dataframe(
            {
                "model": list(stated),
                "named correctly": [f"{round(accuracy(p, y) * len(y))} of {len(y)}" for p in stated.values()],
                "mean confidence": [f"{100 * p.max(axis=1).mean():.0f}%" for p in stated.values()],
                "calibration error (ECE)": [f"{100 * expected_calibration_error(p, y):.1f}%" for p in stated.values()],
                **elsewhere(learned, known.classifier.prior),
            },
            hide_index=True,
        )
        st.caption(
            "ECE (expected calibration error): average gap between stated confidence and fraction correct, over 20 "
            "bins; noisy with few examples. OCE: the same on defects of other products, where only a guess is "
            "possible; 0% means the model knows that it does not know. Reference: Dey et al. 2025."
        )


def elsewhere(learned: TypeTrainingResult, prior: np.ndarray) -> dict[str, list[str]]:
    """The column of errors on other products' defects, in the order of the models; none without such defects."""
    if not len(learned.foreign):
        return {}
    stated = learned.foreign, learned.foreign_parent
    return {"on other products (OCE)": [f"{100 * ood_calibration_error(p, prior):.1f}%" for p in stated]}
