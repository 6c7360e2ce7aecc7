"""Loupe: the page list, the gate that every page passes, and the sidebar that all pages share."""

import streamlit as st

if __name__ == "__main__":  # run for a session
    from inspect_core.runtime import workspace
    from inspect_core.ui import shell

    st.set_page_config(page_title="Loupe", page_icon=shell.ICON, layout="wide")
    try:
        workspace.require_writable()
    except OSError as error:
        st.error(shell.plain(error), icon=":material/error:")
        st.stop()

    page = st.navigation(
        {
            "Work": [
                st.Page("pages/teach.py", title="Teach", icon=":material/school:"),
                st.Page("pages/inspect.py", title="Inspect", icon=":material/center_focus_strong:", default=True),
            ],
            "Understand": [
                st.Page("pages/explore.py", title="Explore", icon=":material/scatter_plot:"),
                st.Page("pages/defect_types.py", title="Defect types", icon=":material/category:"),
            ],
            "Release": [
                st.Page("pages/recipes.py", title="Recipes", icon=":material/inventory_2:"),
            ],
        }
    )
    shell.open_gate()
    shell.sidebar()
    page.run()
else:  # imported once, by the server: `streamlit run` looks for this name
    from inspect_core.ui import server

    app = st.App(__file__, middleware=server.guards(), lifespan=server.first_page)
