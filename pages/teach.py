"""What is good? Photos in, a look at what was found, and Teach."""

import hashlib

import streamlit as st

from inspect_core.ui import shell, teaching_job
from inspect_core.ui.photo_source import fingerprint
from inspect_core.ui.teach import photo_settings, screening_panel, teach_panels

shell.gate("pages/teach.py")

st.title("Teach")
st.markdown("Show Loupe photos of **good** parts. It learns what is normal and shows where a new part differs.")

photos_side, plan_side = st.columns([3, 2], gap="large")
with photos_side:
    source = teach_panels.choose_photos()
    if source is None:
        st.info("Choose photos above. Twenty good parts are enough to start; sixty give a stable limit.")
        st.stop()
    files = fingerprint(source.path)
    samples = teach_panels.show_scan(source, files)
    if samples is None:
        st.stop()
    samples = photo_settings.choose_depth(samples, files)
    key = hashlib.sha256(f"{files} {samples.depth}".encode()).hexdigest()[:16]
    samples = screening_panel.choose_good(samples, key)
    if samples is None:
        st.stop()
    chosen = teach_panels.choose_split(samples)
    if chosen is None:
        st.stop()
with plan_side.container(key="teach-plan"):
    start = st.container(key="teach-start")
    photos, seed, notes = chosen
    start.header("Teaching plan")
    order = teach_panels.choose_settings(source.product, photos, seed, notes, key)
    if order is None:
        st.stop()
    with start:
        teach_panels.show_plan(order)
        busy = shell.jobs().find_by_subject(order) is not None
        strength = "secondary" if shell.is_ready(order.product) else "primary"
        if st.button("Teach", type=strength, icon=":material/school:", disabled=busy, key="teach", width="stretch"):
            shell.begin(lambda: teaching_job.start(order))
        shell.show_job_status(order, "You can use other pages in the meantime.")
        teach_panels.offer_without_alignment(order)
        if not busy:
            shell.show_ready(order.product)
