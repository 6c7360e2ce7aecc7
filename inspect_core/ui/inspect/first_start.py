"""The first start: the sample part is taught by itself; meanwhile its photos arrive, with three lines on what comes."""

import contextlib

import numpy as np
import streamlit as st

from inspect_core.datasets.folders import scan
from inspect_core.runtime.jobs import JobRejected
from inspect_core.ui import contact_sheet, open_products, shell, teaching_job
from inspect_core.workbench.shelf import shelf

WHAT_COMES = (
    "**Now** Loupe is learning how photos of good flanges vary. It sees no defects.",
    "**Next** it opens photos it has not seen. A heatmap shows where each one differs. Drag the limit and watch the "
    "verdicts change.",
    "**After that** teach your own product. A folder of good photos is enough; 60 or more is better.",
)


def first_start() -> None:
    """Avoid an empty app: the sample part is taught at once, and one click leads to teaching one's own part."""
    st.title("Inspect")
    if shell.show_if_unloaded():
        return
    if shell.jobs().current is None:
        with contextlib.suppress(JobRejected):  # another window was faster
            if open_products.open_last() or (not shelf().open_products() and teaching_job.start_sample()):
                st.rerun()
    if (job := shell.jobs().find_by_subject(teaching_job.SAMPLE)) is None:
        if shell.active_job() is None:
            st.info("No product has been taught yet.", icon=":material/info:")
        shell.show_running_job("This page opens as soon as a product is ready.")
    else:
        for number, line in enumerate(WHAT_COMES, start=1):
            st.markdown(f"{number:d}. {line}")
        _arriving(job.id)
    if st.button("Teach your own product", type="primary", icon=":material/school:", key="to_teach"):
        shell.go_to("pages/teach.py")


@st.fragment(run_every=2 * shell.POLL_SECONDS)
def _arriving(job_id: str) -> None:
    """Show how far the sample is, and its photos one by one; Cancel is in the sidebar."""
    job = shell.jobs().find_by_subject(teaching_job.SAMPLE)
    if job is None or job.id != job_id:
        st.rerun()
    photos = _photos()
    count = round(job.fraction * len(photos))
    st.progress(job.fraction, shell.progress_in_words(job))
    st.image(_sheet(count), alt=f"{count} of {len(photos)} sample photos")


@st.cache_resource(show_spinner=False)
def _photos() -> list[np.ndarray]:
    """The good photos of the sample, (h, w, 3) uint8, reduced."""
    return contact_sheet.small(
        sample for sample in scan(teaching_job.SAMPLES / teaching_job.FIRST_SAMPLE).good if sample.split_side == "train"
    )


@st.cache_data(max_entries=1, show_spinner=False)
def _sheet(count: int) -> str:
    return contact_sheet.sheet(_photos()[:count], room=len(_photos()))
