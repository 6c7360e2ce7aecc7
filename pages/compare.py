"""Which detector for my part? All of them on the same photos: one table, one picture row, one report."""

import streamlit as st

from inspect_core.ui import in_hand, open_products, shell
from inspect_core.ui.compare import comparison_jobs, comparison_panels

shell.gate("pages/compare.py")

open_products.title("Compare")
st.caption("Which detector suits your product? All are tested on the same photos, each with its own limits.")

product = in_hand.current()
if product is None:
    shell.show_no_product("This page compares detectors on the photos of a taught product.")
    st.stop()
if product.order is None:
    st.info("Comparison needs the training photos. Teach the product again.", icon=":material/info:")
    if st.button("Teach a product", type="primary", icon=":material/school:", key="to_teach"):
        shell.go_to("pages/teach.py")
    st.stop()
order = product.latest_order().to_compare()
comparison = comparison_jobs.last_comparison(order)
if comparison is None:
    comparison_panels.start(order)
else:
    comparison_panels.results(product, order, comparison)
