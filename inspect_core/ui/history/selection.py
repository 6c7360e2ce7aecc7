"""The part of the log shown: a period, a product, a recipe, verdicts, defect types."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

import streamlit as st

from inspect_core.audit import inspections
from inspect_core.audit.entry import INSPECTION, LogEntry
from inspect_core.audit.inspections import LoggedInspection
from inspect_core.audit.log import AuditLog
from inspect_core.ui import saved_recipes, shell
from inspect_core.verdict import ALL_VERDICTS, VERDICT_PHRASES

MAX_INSPECTIONS = 20_000
"""Inspections that are read at a time, the latest ones."""
TO_TRIALS = "Verdicts of batches that were run as a trial. They are no production, so they are left out."
ALL_PRODUCTS, ALL_RECIPES = "All products", "All recipes"
DATES, EVERYTHING = "Custom range", "All time"
PERIODS = {
    "Last 8 hours": timedelta(hours=8),
    "Last 24 hours": timedelta(days=1),
    "Last 7 days": timedelta(days=7),
    "Last 30 days": timedelta(days=30),
    DATES: None,
    EVERYTHING: None,
}


@dataclass(frozen=True)
class Selection:
    """The inspections chosen, the latest first; changes: all other entries of that period, the latest first.

    words: the choice in words; head: number and digest of the last entry of the log; short: whether there are more than
    were read.
    """

    inspections: list[LoggedInspection]
    changes: list[LogEntry]
    words: str
    head: tuple[int, str]
    short: bool


def choose(log: AuditLog) -> Selection:
    """The filters, and the entries that pass them. Raises LogError."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    since, until, period = _period(row)
    head = log.head()
    inspections, others = _read(log.name, head, since, until, log)
    products = list(
        dict.fromkeys(
            [inspection.product for inspection in inspections] + [entry.product for entry in others if entry.product]
        )
    )
    spoken = {product: " ".join(product.split()) or "(no name)" for product in (*products, ALL_PRODUCTS)}
    product = row.selectbox("Product", list(spoken), key="history_product", width=160, format_func=spoken.__getitem__)
    chosen = [inspection for inspection in inspections if product in (inspection.product, ALL_PRODUCTS)]
    changes = [entry for entry in others if product in (entry.product, ALL_PRODUCTS) or not entry.product]
    recipes = list(dict.fromkeys(inspection.recipe for inspection in chosen))
    key = "history_recipe"
    options = [ALL_RECIPES, *recipes]
    names = dict(zip(recipes, map(saved_recipes.versions(), recipes), strict=True)) | {ALL_RECIPES: ALL_RECIPES}
    recipe = row.selectbox("Recipe", options, key=key, width=140, format_func=names.__getitem__)
    if recipe != ALL_RECIPES:
        chosen = [inspection for inspection in chosen if inspection.recipe == recipe]
        changes = [entry for entry in changes if entry.recipe in (recipe, "")]
    key = "history_verdict"
    say = VERDICT_PHRASES.__getitem__
    words = row.multiselect("Verdict", ALL_VERDICTS, key=key, width=200, placeholder="all", format_func=say)
    if words:
        chosen = [inspection for inspection in chosen if inspection.final_verdict in words]
    known = sorted({inspection.defect_type for inspection in chosen if inspection.defect_type})
    types = row.multiselect("Defect type", known, key="history_type", width=200, placeholder="all")
    if types:
        chosen = [inspection for inspection in chosen if inspection.defect_type in types]
    known_lots = sorted({inspection.lot for inspection in chosen if inspection.lot})
    lots = row.multiselect("Lot", known_lots, key="history_lot", width=160, placeholder="all") if known_lots else []
    if lots:
        chosen = [inspection for inspection in chosen if inspection.lot in lots]
    trials = sum(inspection.trial for inspection in chosen)
    with_trials = bool(trials) and row.toggle(f"Trials ({trials:,})", key="history_trials", help=TO_TRIALS)
    if not with_trials:
        chosen = [inspection for inspection in chosen if not inspection.trial]
    filters_text = ", ".join(
        [product or ALL_PRODUCTS, names[recipe], period, *(VERDICT_PHRASES[word] for word in words), *types, *lots]
        + ["with trials"] * with_trials
    )
    return Selection(chosen, changes, filters_text, head, len(inspections) == MAX_INSPECTIONS)


def last_inspection(log: AuditLog) -> LoggedInspection | None:
    """The latest inspection of all. Raises LogError."""
    return next((LoggedInspection.of_entry(entry) for entry in log.entries(kind=INSPECTION, newest=1)), None)


def show_empty_log() -> None:
    """For an empty log: what writes entries into it."""
    st.info(
        "Nothing recorded yet. Verdicts from batches and watched folders appear here, along with changes to limits, "
        "verdicts and recipes.",
        icon=":material/history:",
    )
    if st.button("Go to Batch", type="primary", key="to_batch"):
        shell.go_to("pages/batch.py")


def show_no_matches(last: LoggedInspection | None) -> None:
    """For an empty selection: when the last inspection was."""
    when = ""
    if last is not None:
        when = f" The last inspection was on {local(last.moment):%Y-%m-%d at %H:%M}, {shell.escape(last.product)}."
    st.info(f"No inspections match.{when} Choose a longer period or remove filters.", icon=":material/filter_alt_off:")


def local(moment: datetime) -> datetime:
    """A time in the time zone of this machine."""
    return moment.astimezone()


def _period(row) -> tuple[datetime | None, datetime | None, str]:
    """Beginning and end of the period, and the period in words."""
    named = row.selectbox("Time", list(PERIODS), index=1, key="history_period", width=150)
    if named == EVERYTHING:
        return None, None, "all time"
    if (period := PERIODS[named]) is not None:
        now = datetime.now(UTC).replace(second=0, microsecond=0)  # a result is reused for a minute
        return now - period, None, named.lower()
    today = datetime.now().date()
    days = row.date_input("Date range", (today - timedelta(days=6), today), key="history_days", width=240)
    first, last = days if len(days) == 2 else (days[0], days[0]) if days else (today, today)
    since, until = (datetime.combine(day, time()).astimezone() for day in (first, last + timedelta(days=1)))
    return since, until, f"{first} to {last}"


@st.cache_resource(max_entries=3, show_spinner="Reading the log…")
def _read(
    name: str, head: tuple[int, str], since: datetime | None, until: datetime | None, _log: AuditLog
) -> tuple[list[LoggedInspection], list[LogEntry]]:
    """Read once for each state of the log, identified by name and head."""
    recorded = inspections.read(_log, since=since, until=until, most=MAX_INSPECTIONS)
    return recorded, inspections.other_entries(_log, since=since, until=until, most=MAX_INSPECTIONS)
