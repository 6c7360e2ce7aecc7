"""The parts of the measurement study page: a new study, leading through it, its results."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.images.photo_reader import DecodedPhoto, ImageError, read_bytes
from inspect_core.line.html_page import page
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.runtime.wording import pluralise
from inspect_core.spc import msa_study
from inspect_core.spc.agreement import ACCEPTABLE, MARGINAL, UNACCEPTABLE, Agreement
from inspect_core.spc.msa_report import guard_bands, report_sentences, results, table_of, verdict_sentence
from inspect_core.spc.msa_study import LOUPE, AppraisalRecord, MsaStudy
from inspect_core.ui import data_table, label_question, saved_recipes, shell
from inspect_core.ui.photo_source import TYPES, fingerprint, folder_at

FORM = 960
BEGINS = "<!doctype html>\n<!-- A measurement study made with Loupe -->\n"
NEW = "New study"
COLOURS = {ACCEPTABLE: "accept", MARGINAL: "review", UNACCEPTABLE: "reject"}
"""The verdict whose colour a band of AIAG's has."""
TRAY = "1, good\n2, good\n3, defective"
TO_PARTS = (
    "One part per line: the name written on it, then “good” or “defective”. AIAG suggests 50 parts, a third of them "
    "defective, some close to the limit."
)
TO_FOLDER = "One photo of each part, named as the part, with good and defective ones told apart as for teaching."
FIXTURE = "Remove the part and put it back in the fixture before each photo; the study measures this variation."


def choose() -> str | None:
    """The study to go on with; None for a new one."""
    known = msa_study.names()
    if not known:
        return None
    return (
        st.pills("Study", [*known, NEW], default=known[0], required=True, format_func=shell.escape, key="study") or NEW
    )


def chosen() -> str | None:
    """The study that `choose` shows; None without any."""
    return st.session_state.get("study") or next(iter(msa_study.names()), None)


def new() -> None:
    """Set up a study: recipe, tray, trials and people."""
    recipes = [path for path in saved_recipes.paths() if path.is_file()]
    if not recipes:
        saved_recipes.show_no_recipes()
        return
    with st.container(border=True, width=FORM):
        left, right = st.columns(2, gap="large")
        with left:
            name = st.text_input("Name", "MSA study", max_chars=60, key="measurement_name")
            choices = saved_recipes.choices(recipes)
            path = st.selectbox("Recipe", list(choices), format_func=choices.__getitem__, key="measurement_recipe")
            trials = st.number_input("Trials", 2, msa_study.MOST_TRIALS, 3, key="measurement_trials")
            people = st.text_input("Human appraisers", placeholder="e.g. Ann, Ben", key="measurement_people")
        with right:
            _offer_folder()
            key = "measurement_parts"
            tray = st.text_area("Parts in the study", placeholder=TRAY, help=TO_PARTS, height=195, key=key)
        if st.button("Start study", type="primary", icon=":material/rule:", key="measurement_begin"):
            with shell.errors_shown(ValueError, OSError):
                recipe = saved_recipes.checked(path)
                study = MsaStudy(
                    msa_study.free_name(name.strip() or "MSA study"), msa_study.parts_of(tray), int(trials),
                    tuple(word.strip() for word in people.split(",") if word.strip()), path.name, str(recipe.digest),
                    datetime.now(UTC).isoformat(timespec="seconds"),
                )  # fmt: skip
                msa_study.save(study)
                st.session_state.pop("study", None)
                st.rerun()


def _offer_folder() -> None:
    """A folder whose photos are named like the parts: their names and labels become the list of parts."""
    folder = folder_at("Take parts from a folder", key="measurement_folder", help=TO_FOLDER)
    if folder is None:
        return
    key = fingerprint(folder)
    labels = label_question.choose(folder, key, to_teach=False)
    if not labels.is_clear:
        return
    with shell.errors_shown(ScanError, ValueError, OSError):
        truths = label_question.truths_at(str(folder), key, labels.reading)
        known = {photo: truth for photo, truth in truths.items() if truth}
        lines = {PurePosixPath(name).stem: "good" if truth == GOOD else "defective" for name, truth in known.items()}
        if unknown := len(truths) - len(known):
            st.caption(f"Nothing says whether {unknown:d} of its {len(truths):d} photos show good parts.")
        text = "\n".join(f"{name}, {truth}" for name, truth in lines.items())
        label = f"Use its {pluralise(len(lines), 'part')}"
        put = partial(st.session_state.__setitem__, "measurement_parts", text)
        st.button(label, key="measurement_take", icon=":material/playlist_add:", on_click=put, disabled=not lines)


def appraise(stem: str | None) -> bool:
    """Show nothing but the next part and the two calls, while a person appraises; False at any other time."""
    who = st.session_state.get(_who_key(stem))
    if stem in (None, NEW) or who in (None, LOUPE):
        return False
    with contextlib.suppress(ValueError):  # shown by `of_one`
        study = msa_study.load(str(stem))
        if (turn := study.next_for(who)) is not None:
            with st.container(border=True, width=FORM):
                done = sum(appraisal.appraiser == who for appraisal in study.appraisals)
                _say(str(stem), who, *turn)
                st.caption(f"{shell.escape(who)}: {done} of {len(study.parts) * study.trials:d} appraised")
            st.button("Back to the study", key=f"back-{stem}", icon=":material/arrow_back:",
                      on_click=_stop_appraising, args=(stem,))  # fmt: skip
            return True
    return False


def _who_key(stem: str | None) -> str:
    return f"who-{stem}"


def _stop_appraising(stem: str) -> None:
    st.session_state[_who_key(stem)] = LOUPE


def of_one(stem: str) -> None:
    """Show a study: whose turn it is, then what it shows."""
    if stem == NEW:
        new()
        return
    try:
        study = msa_study.load(stem)
    except ValueError as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return
    missing = len(study.parts) * study.trials * len(study.appraisers) - len(study.appraisals)
    ended = bool(missing and study.appraisals) and st.toggle(
        "End the appraisal and show results", key=f"ended-{stem}", help="Of those who have appraised every part."
    )
    if not (missing and not ended):
        with st.container(width=FORM):
            _results(study)
    if ended:
        return
    with st.container(border=True, width=FORM):
        key = _who_key(stem)
        begin = st.session_state.setdefault(key, LOUPE)
        who = st.segmented_control(
            "Appraiser", study.appraisers, default=begin, required=True, format_func=shell.escape, key=key,
            persist_state="session",
        )  # fmt: skip
        who = who or LOUPE
        turn = study.next_for(who)
        total = len(study.parts) * study.trials
        done = sum(appraisal.appraiser == who for appraisal in study.appraisals)
        st.progress(done / total, f"{done} of {total} appraisals by {shell.escape(who)}")
        if turn is None:
            st.success(f"{shell.escape(who)} has completed all trials.", icon=":material/check_circle:")
        else:
            _photograph(stem, study, *turn)
    if missing:
        st.caption(f"Results stay hidden while the parts are appraised: {pluralise(missing, 'appraisal')} to go.")


def _photograph(stem: str, study: MsaStudy, part: msa_study.StudyPart, trial: int) -> None:
    st.header(f"Part {shell.escape(part.name)}, trial {trial}")
    st.caption(FIXTURE)
    recipe = _recipe(study)
    if recipe is None:
        return
    key = f"{stem}-{part.name}-{trial}"
    ways = ["One photo", "This device's camera", "All photos of one trial"]
    way = st.segmented_control("Photo source", ways, default=ways[0], required=True, key=f"way-{stem}")
    if way == ways[2]:
        words = f"Photos of trial {trial}, each named after its part"
        files = st.file_uploader(words, TYPES, accept_multiple_files=True, key=f"trial-{key}")
        if files and st.button("Inspect photos", type="primary", key=f"judge-{key}"):
            with shell.errors_shown(ValueError):
                photos = [(_part_of(study, file.name), trial, file.name, file.getvalue()) for file in files]
                _judge(stem, recipe, photos)
        return
    take = st.camera_input if way == ways[1] else partial(st.file_uploader, type=TYPES)
    file = take(f"Photo of part {shell.escape(part.name)}", key=f"photo-{way}-{key}")
    if file is not None:
        _judge(stem, recipe, [(part.name, trial, file.name, file.getvalue())])


def _judge(stem: str, recipe: Recipe, photos: Sequence[tuple[str, int, str, bytes]]) -> None:
    """Judge the photos, (part, trial, name, content) each, and keeps what Loupe says; all of them or none."""
    with shell.errors_shown(ValueError, OSError):
        loaded = _loaded(str(recipe.digest), recipe)
        appraisals = []
        with st.spinner("Inspecting…"):
            pictures: list[DecodedPhoto] = [read_bytes(content, name, recipe.depth) for _, _, name, content in photos]
            with shell.device_held(loaded.backbone.device):
                verdicts = list(loaded.inspect_all(picture.pixels for picture in pictures))
            for (part, trial, _, _), picture, verdict in zip(photos, pictures, verdicts, strict=True):
                appraisals.append(
                    AppraisalRecord(part, LOUPE, trial, verdict.verdict != "accept", verdict.score, picture.digest)
                )
        msa_study.record(stem, *appraisals)
        st.rerun()


def _say(stem: str, who: str, part: msa_study.StudyPart, trial: int) -> None:
    st.header(f"Part {shell.escape(part.name)}, trial {trial}")
    st.caption("Appraise the physical part. Earlier appraisals are hidden.")
    for column, (word, stopped) in zip(st.columns(2), (("Good", False), ("Defective", True)), strict=True):
        if column.button(word, key=f"{word}-{stem}-{who}-{part.name}-{trial}", width="stretch"):
            with shell.errors_shown(ValueError, OSError):
                msa_study.record(stem, AppraisalRecord(part.name, who, trial, stopped))
                st.rerun()


def _results(study: MsaStudy) -> None:
    readings = study.readings()
    if not readings:
        st.caption("No appraiser has appraised every part in every trial, so there is nothing to show.")
        return
    with shell.errors_shown(ValueError):
        report = results(readings)
        st.header(shell.escape(verdict_sentence(report.agreement)))
        _measures(report.agreement)
        report_lines = report_sentences(report)
        recipe = _recipe(study)
        if report.gauge is not None and recipe is not None:
            report_lines.insert(-1, guard_bands(report.gauge, recipe.limits.review, recipe.limits.reject))
        for sentence in report_lines:
            st.markdown(f"- {shell.escape(sentence)}")
        table = table_of(report.agreement)
        data_table.show_cells(table)
        st.caption("Brackets show 95% confidence intervals (exact for proportions).")
        data = partial(html_of, study, table, report_lines, verdict_sentence(report.agreement))
        data_table.offer_report(st, data, "measurement-study.html")


def _measures(agreed: Agreement) -> None:
    """Show AIAG's three measures of the first appraiser, each in the colour of its band."""
    result = next(iter(agreed.appraisers.values()))
    titles = {
        "effectiveness": "Right in every trial",
        "misses": "Defective accepted",
        "false alarms": "Good not accepted",
    }
    shares = {"effectiveness": result.parts, "misses": result.misses, "false alarms": result.false_alarms}
    for column, (subject, band) in zip(st.columns(3), result.bands.items(), strict=True):
        share = shares[subject]
        with column.container(key=f"verdict-{COLOURS.get(band, 'none')}-{subject.replace(' ', '-')}"):
            value, words = f"{share.count} of {share.total}", band or "none appraised"
            st.metric(titles[subject], value, words, delta_color="off", delta_arrow="off", border=True)


def html_of(study: MsaStudy, table: Mapping[str, Sequence[str]], report_lines: Sequence[str], verdict: str) -> str:
    """The report: what the study says, its figures, and every call, in one page that needs no network."""
    truth = study.truth
    calls = [
        [appraisal.part, "defective" if truth[appraisal.part] else "good", appraisal.appraiser, str(appraisal.trial),
         "defective" if appraisal.not_accepted else "good", "" if appraisal.score is None else f"{appraisal.score:.4g}"]
        for appraisal in sorted(study.appraisals, key=lambda record: (record.appraiser, record.trial, record.part))
    ]  # fmt: skip
    return page(
        "ui/measurement/report.html",
        {
            "Recipe": f"{study.recipe}, digest {study.digest[:12]}",
            "State of the recipe": _approval(study.digest),
            "Parts": f"{len(study.parts)}, {sum(truth.values())} of them defective; {study.trials} trials",
            "Appraisers": ", ".join(study.appraisers),
            "Started": study.started_at[:16].replace("T", " "),
            "Report created": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        },
        begins=BEGINS,
        title=study.name,
        verdict=verdict,
        said=report_lines,
        heads=list(table),
        rows=list(zip(*table.values(), strict=True)),
        calls=calls,
    )


def _approval(digest: str) -> str:
    with contextlib.suppress(LogError), AuditLog.open() as log:
        return life_cycle.approval(log, digest)
    return ""


def _part_of(study: MsaStudy, file: str) -> str:
    """The part a file is named after: by its name, its stem or a word of that. Raises ValueError naming the file."""
    stem = PurePosixPath(file).stem
    names = {part.name for part in study.parts}
    words = [file, stem, *stem.replace("-", "_").replace(" ", "_").split("_")[::-1]]
    name = next((word for word in words if word in names), None)
    if name is None:
        raise ValueError(f"{file} does not match a part of the study; name it after the part, for example 7.png")
    return name


def _recipe(study: MsaStudy) -> Recipe | None:
    """The recipe of the study; None, with the reason on the page, when it is no longer the one it began with."""
    path = next((path for path in saved_recipes.paths() if path.name == study.recipe), Path(study.recipe))
    try:
        recipe = saved_recipes.checked(path)
        if recipe.digest != study.digest:
            raise ValueError(f"{study.recipe} has changed since this study started; start a new study")
    except (ValueError, OSError, ImageError) as error:
        st.error(shell.sentence(error), icon=":material/error:")
        return None
    return recipe


@st.cache_resource(max_entries=2, show_spinner="Loading the recipe…")
def _loaded(digest: str, _recipe: Recipe) -> LoadedRecipe:
    return LoadedRecipe(_recipe, loaded_backbone(_recipe.backbone))
