"""Loupe: the page list, the gate that every page passes, and the sidebar that all pages share."""

import sys
from pathlib import Path

import streamlit as st

import inspect_core

UI = Path(inspect_core.__file__).parent / "ui"
ICON = str(UI / "icon.png")  # a named icon would be fetched from outside
LOGO = str(UI / "logo.svg")
# Streamlit leaves an empty band above and wide margins; the bench needs the room.
LAYOUT = """
<style>
.stMainBlockContainer { padding: 1rem 2rem 3rem; }
.stAppHeader { height: 2.25rem; min-height: 0; background: transparent; pointer-events: none; }
.stAppHeader * { pointer-events: auto; }
/* What Loupe will do, with its button, stays in view beside long lists of photos. */
.stColumn:has(.st-key-teach-plan) {
    position: sticky; top: 2.5rem; align-self: flex-start; max-height: calc(100vh - 3rem); overflow-y: auto;
}
.st-key-teach-start { position: sticky; top: 0; z-index: 2; background: light-dark(#ffffff, #12181a); }
/* With the menu folded away its button lies above the page, not on its title. */
.stApp:has([data-testid="stExpandSidebarButton"]) .stMainBlockContainer { padding-top: 2.75rem; }
/* On a tablet what Loupe will do stands below the photos. */
@media (max-width: 1000px) {
    .stHorizontalBlock:has(> .stColumn .st-key-teach-plan) { flex-direction: column; }
    .stHorizontalBlock:has(> .stColumn .st-key-teach-plan) > .stColumn { width: 100%; flex: none; }
    .stColumn:has(.st-key-teach-plan) { position: static; max-height: none; }
}
/* A form wider than this is hard to read across; on Inspect everything is as wide as the bench. */
.stMain :is(
    .stAlert, .stFileUploader, .stForm, .stMultiSelect, .stNumberInput, .stProgress, .stSelectbox, .stTable,
    .stTextArea, .stTextInput
), .stMain:not(:has(.st-key-inspect)) .stExpander { max-width: 960px; }
/* The colour of a verdict, as on Inspect. */
[class*="st-key-verdict-"] [data-testid="stMetric"] { border-top: 3px solid light-dark(#8a9a98, #6b7a7a); }
[class*="st-key-verdict-accept"] [data-testid="stMetric"] { border-top-color: light-dark(#15803d, #4ade80); }
[class*="st-key-verdict-review"] [data-testid="stMetric"] { border-top-color: light-dark(#8f5f00, #fbbf24); }
[class*="st-key-verdict-reject"] [data-testid="stMetric"] { border-top-color: light-dark(#b91c1c, #f87171); }
/* Below, where they cover no control. */
[data-testid="stToastContainer"] { top: auto; bottom: 1rem; }
/* White on the dark theme's bright accent can hardly be read. A popover is outside what says light or dark: there the
text goes from dark to white and from bright to black. */
:is([data-testid^="stBaseButton-primary"], [data-testid="stPopoverButton"][kind="primary"]):enabled {
    color: rgb(from currentcolor calc((140 - r) * 9) calc((140 - g) * 9) calc((140 - b) * 9));
}
.stMultiSelect [data-tag-index] * { color: light-dark(white, #10171a); }
/* The menu: rows of 32 px and 4 px between them, or the row of this page covers the next. */
.st-key-menu [data-testid="stCaptionContainer"] { padding: 0.75rem 0 0.25rem; }
.st-key-menu [data-testid="stPageLink"] a { min-height: 2rem; }
.st-key-menu [data-testid="stElementContainer"]:has([data-testid="stPageLink"]) { margin: 0; height: 2.25rem; }
/* A thumbnail in the sidebar is small whatever its shape, and no picture to enlarge; elsewhere the button that does
lacks a focus ring. */
.stSidebar [data-testid="stBaseButton-elementToolbar"] { display: none; }
.stSidebar .stImage img { aspect-ratio: 1; object-fit: cover; }
[data-testid="stBaseButton-elementToolbar"]:focus-visible { outline: 2px solid currentcolor; outline-offset: 1px; }
/* The choice after the chosen one has no border at its left (Streamlit 1.67), which shows where it begins a line. */
[data-variant="segmented_control"][aria-checked="true"] + [data-variant="segmented_control"] {
    border-left-color: light-dark(#d9e0df, #334145) !important;
}
/* The accent on its own tint, under the pointer, can hardly be read either. */
[data-variant][aria-checked="true"] { color: inherit !important; }
</style>
"""

if __name__ == "__main__":  # run for a session
    st.set_page_config(page_title="Loupe", page_icon=ICON, layout="wide")
    st.html(LAYOUT)
    st.logo(LOGO, size="large", icon_image=ICON)
    starting = st.empty()
    if "inspect_core.ui.shell" not in sys.modules:  # torch comes with it, which takes seconds
        with starting.container():
            st.info("Loupe is starting…", icon=":material/hourglass_top:")

    from inspect_core.runtime import users, workspace
    from inspect_core.ui import menu, open_products, shell

    starting.empty()
    pages = {
        "Operate": [
            st.Page("pages/teach.py", title="Teach", icon=":material/school:"),
            st.Page("pages/inspect.py", title="Inspect", icon=":material/center_focus_strong:", default=True),
            st.Page("pages/batch.py", title="Batch", icon=":material/burst_mode:"),
            st.Page("pages/line.py", title="Line", icon=":material/conveyor_belt:"),
        ],
        "Analyse": [
            st.Page("pages/explore.py", title="Explore", icon=":material/scatter_plot:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
            st.Page("pages/defect_types.py", title="Defect types", icon=":material/category:"),
            st.Page("pages/methods.py", title="Methods", icon=":material/experiment:"),
        ],
        "Release": [
            st.Page("pages/recipes.py", title="Recipes", icon=":material/inventory_2:"),
            st.Page("pages/measurement.py", title="MSA study", icon=":material/rule:"),
            st.Page("pages/history.py", title="History", icon=":material/history:"),
        ],
    }
    page = st.navigation(pages, position="hidden")  # else Streamlit makes a menu of the files in pages/
    try:
        workspace.require_writable()
        users.proxies()
    except (OSError, ValueError) as error:
        st.error(shell.escape(error), icon=":material/error:")
        st.stop()
    shell.open_gate(f"pages/{page.url_path or 'inspect'}.py")
    with st.sidebar:
        products = open_products.told_apart()
        open_products.show_current(products)
        shell.show_user()
        with st.container(key="menu", gap=None):
            for group, members in pages.items():
                st.caption(group)
                for member in members:
                    st.page_link(member)
        shell.show_jobs()
        open_products.show_others(products)
        menu.fold_when_narrow(page.url_path or "inspect")
    page.run()
else:  # imported once, by the server: `streamlit run` looks for this name
    from inspect_core.runtime.process_settings import set_up_process

    set_up_process()

    from inspect_core.ui import script_error, server

    app = st.App(
        __file__, middleware=server.request_guards(), lifespan=server.first_page, on_script_error=script_error.show
    )
