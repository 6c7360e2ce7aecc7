"""What comes from outside reaches Streamlit's Markdown through `shell.escape` alone: their source shows it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py")), *sorted((ROOT / "inspect_core/ui").rglob("*.py"))]
# Seen in a browser on the pinned Streamlit; text, code, dataframes and options of a selectbox are shown as they are.
FIRST = {
    "badge", "button", "caption", "checkbox", "dialog", "download_button", "error", "expander", "feedback",
    "file_uploader", "header", "info", "link_button", "markdown", "metric", "multiselect", "number_input", "page_link",
    "pills", "popover", "radio", "segmented_control", "select_slider", "selectbox", "slider", "spinner", "status",
    "subheader", "success", "table", "tabs", "text_area", "text_input", "title", "toast", "toggle", "warning", "write",
}  # fmt: skip
OPTIONS = {"pills", "radio", "segmented_control", "select_slider"}
NAMED = {"body", "caption", "captions", "delta", "help", "label", "text", "value_label"}
# Functions of ours that show these of their parameters: whoever calls them is held to the same.
SHOWING = {
    "start_job_button": {"label": 0, "words": 1},
    "result_or_button": {"label": 0, "words": 1},
    "result_on_opening": {"label": 0, "words": 1},
    "show_no_product": {"words": 0},
    "show_running_job": {"follow_up": 0},
    "show_job_status": {"follow_up": 1},
    "_build": {"words": None},
    "_scored": {"words": 2},
    "_explain": {"in_force": 2},
    "choose_folder": {"words": 0},
    "folder_at": {"label": 0, "help": None},
}
# Per package and module, what holds words of ours or a number, though its form does not show it.
OURS = {
    "app": {"group", "member"},
    "ui/data_table": {
        "{shell.escape(title): [shell.escape(cell) for cell in column] for title, column in cells.items()}",
    },
    "ui/verdict_tiles": {"phrase.capitalize()"},
    "ui/shell": {"begins", "at"},
    "ui/open_products": {"page"},
    "history/drift_panel": {"NAMES[name]"},
    "measurement/msa_panels": {
        "done", "total", "trial", "word", "missing", "titles[subject]", "value", "words",
    },
    "history/tables": {"VERDICT_PHRASES.__getitem__", "VERDICT_PHRASES[inspection.final_verdict].capitalize()"},
    "history/history_report": {"label"},
    "batch/batch_form": {"words", "label", "MAPS.__getitem__", "stop", "os.cpu_count()", "FOLDERS.values()"},
    "batch/batch_results": {
        "WAYS[one.way]",
        "words.__getitem__", "label"},
    "inspect/first_start": {"line"},
    "batch/watch_panel": {"FOLDERS.values()", "label", "_verdict_label(word)"},
    "pages/explore": {"list(VIEWS)"},
    "pages/history": {"list(VIEWS)"},
    "pages/methods": {"list(VIEWS)"},
    "compare/comparison_panels": {"label"},
    "defect_types/training_panel": {"PARENTS.get"},
    "defect_types/training_results": {"accuracy_sentences(learned)", "line"},
    "explore/variance_panels": {
        "CONTROLS[name].label", "METRIC_HELP.values()", "learned_from(product, local.photos)", "local.possible",
        "local.values.shape[-1]", "views[i].definition.title",
    },
    "explore/patch_map": {"explore.view_in_words(product.scored.views[view].method, whole=points == PHOTOS)"},
    "history/history_overview": {"list(names.values())"},
    "history/selection": {"local(last.moment)"},
    "line/station_panel": {
        "time.strftime('%d %B, %H:%M:%S', time.localtime(status.written))", "signals['mean_milliseconds']",
        "signals['largest_milliseconds']", "signals['error_code']", "label", "names", "states",
    },
    "inspect/live_parameters": {
        "CONTROLS[name].label", "control.label", "control.effect", "control.tooltip", "_percent", "figure_of",
        "product.live[name]", "stop",
    },
    "inspect/known_cases_panel": {"defect_types.count(defect_type)"},
    "inspect/limit_advice": {
        "counts_sentence(suggestion.counts)", "counts.defects_unscored.clauses()", "counts.good_unscored.clauses()",
        "_suggest(product, shown.view, cost)", "_suggest(product, drawn, ESCAPE_COST)",
    },
    "inspect/inspect_panels": {
        "changed.sentence()",
        "view.definition.title", "words.__getitem__",
    },
    "inspect/preview_panel": {"run.done", "shell.time_left(run.seconds_left)"},
    "recipes/challenge_panel": {"words", "label", "part.verdict"},
    "recipes/export_panel": {"proof['photos']", "proof['golden']"},
    "recipes/recipe_panels": {
        "title_of(recipe.method, as_published=recipe.as_published)", "file",
        "name", "recipe.evidence().sentence(recipe.limits)", "list(shown)", "state",
        "value",
    },
    "recipes/approval_panel": {
        "ICONS.get(state, '')", "label", "words", "evidence.sentence(recipe.limits)",
        "words.format(count, total)",
    },
    "teach/teach_panels": {
        "CHECK_SCORES.__getitem__", "METHODS[name].reference", "METHODS[name].title", "TITLES.__getitem__",
        "METHODS[method].published_words",
        "expected.engine", "option.help", "option.label", "presets.__getitem__", "side", "registry.title_of",
        "'{0} × {0} patches'.format", "n",
    },
    "methods/embedding_playgrounds": {"name", "title"},
    "methods/posteriors": {"_WORDS[shift].capitalize()", "float(value)", "steps"},
    "inspect/repeat_photo_panel": {"word.capitalize()", "was"},
    "teach/photo_settings": {"label", "option.label", "words", "caption", "ALIGN.__getitem__"},
    "teach/screening_panel": {"labels.__getitem__", "photo.unlike"},
    "ui/photo_source": {"label"},
    "ui/label_question": {"label"},
    "inspect/label_check_panel": {"label"},
}  # fmt: skip
SAFE_CALLS = {
    "escape",
    "sentence",
    "shell.sentence",
    "shell.escape",
    "pluralise",
    "duration",
    "shell.duration",
    "shell.progress_in_words",
    "int",
    "len",
    "limits_in_words",
}


def rendered(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that a browser gets as Markdown."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in SHOWING:
        shown = SHOWING[name]
        arguments = [call.args[place] for place in shown.values() if place is not None and place < len(call.args)]
        return arguments + [keyword.value for keyword in call.keywords if keyword.arg in shown]
    if name not in FIRST | {"image", "progress"} or not isinstance(call.func, ast.Attribute):
        return []
    values = [keyword.value for keyword in call.keywords if keyword.arg in NAMED]
    if name in FIRST:
        values += call.args[:1]
    if name in OPTIONS:
        values += [keyword.value for keyword in call.keywords if keyword.arg == "format_func"] or call.args[1:2]
    return values


class Source:
    """One module: its functions by name, and which of its expressions are known to be ours."""

    def __init__(self, tree: ast.Module, ours: frozenset[str] | set[str]) -> None:
        self.ours = ours | SAFE_CALLS
        self.functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def unsafe(self, node: ast.expr | None, scope: ast.AST, visited: frozenset[str] = frozenset()) -> list[str]:
        """The parts of an expression that may hold what came from outside."""

        def among(*nodes: ast.expr | None) -> list[str]:
            return [part for child in nodes for part in self.unsafe(child, scope, visited)]

        match node:
            case None | ast.Constant():
                return []
            case _ if ast.unparse(node) in self.ours:
                return []
            case ast.Name(id=name) if name in SHOWING.get(getattr(scope, "name", ""), ()):
                return []
            case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return among(*parts)
            case ast.Dict(keys=keys, values=values):
                return among(*keys, *values)
            case ast.FormattedValue(value=value, format_spec=spec):
                form = "" if spec is None else "".join(getattr(part, "value", "") for part in spec.values)
                return [] if form.endswith(tuple("dfgeE%,")) else among(value)  # raises for a text
            case ast.IfExp(body=body, orelse=other):
                return among(body, other)
            case ast.BinOp(left=left, right=right):
                number = any(isinstance(side, ast.Constant) and isinstance(side.value, int) for side in (left, right))
                return [] if number else among(left, right)
            case (
                ast.Starred(value=value)
                | ast.Lambda(body=value)
                | ast.GeneratorExp(elt=value)
                | ast.ListComp(elt=value)
            ):
                return among(value)
            case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(attr=name) | ast.Name(id=name) if (
                name.isupper()
            ):
                return []
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[parts]):
                return among(parts)
            case ast.Call(func=function) if not among(function):
                return []
            case ast.Name(id=name) if name in self.functions and name not in visited:
                definition = self.functions[name]
                returned = [step.value for step in ast.walk(definition) if isinstance(step, ast.Return)]
                return [part for value in returned for part in self.unsafe(value, definition, visited | {name})]
            case ast.Name(id=name) if name not in visited and (values := set_to(name, scope)):
                return [part for value in values for part in self.unsafe(value, scope, visited | {name})]
        return [ast.unparse(node)]


def set_to(name: str, scope: ast.AST) -> list[ast.expr]:
    """What a name is set to in a function, one by one where several are set at once."""
    values = []
    for step in ast.walk(scope):
        if isinstance(step, ast.Assign | ast.AugAssign):
            for target in step.targets if isinstance(step, ast.Assign) else [step.target]:
                if isinstance(target, ast.Name) and target.id == name:
                    values.append(step.value)
                elif isinstance(target, ast.Tuple) and name in (
                    names := [getattr(element, "id", "") for element in target.elts]
                ):
                    several = isinstance(step.value, ast.Tuple)
                    values.append(step.value.elts[names.index(name)] if several else step.value)
    return values


def faults(text: str, module: str = "") -> list[str]:
    tree = ast.parse(text)
    source, faulty = Source(tree, OURS.get(module, set())), []

    def visit(node: ast.AST, scope: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                for argument in rendered(child):
                    faulty.extend(f"line {child.lineno}: {part}" for part in source.unsafe(argument, scope))
            visit(child, child if isinstance(child, ast.FunctionDef) else scope)

    visit(tree, tree)
    return faulty


def place_of(path: Path) -> str:
    """Package and module, whatever the folder of the checkout is called."""
    return "/".join(path.relative_to(ROOT).with_suffix("").parts[-2:])


@pytest.mark.parametrize("path", SOURCES, ids=place_of)
def test_nothing_from_outside_is_rendered_as_markdown(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8"), place_of(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "st.error(str(error))",
        "st.caption(f'{hand.product} is here')",
        "left.button('x', help=photo.name)",
        "st.pills('Show', kinds)",
        "st.radio('x', ['a'], captions=[note])",
        "st.progress(0.5, text=job.title)",
        "st.table({'a': names})",
        "def f(p):\n    words = p.name\n    st.info(words + '.')",
        "def name_of(p):\n    return p.name\nst.info(name_of(p))",
        "show_running_job(job.title)",
        "st.caption(', '.join(kinds))",
    ],
)
def test_a_forgotten_call_is_found(text: str) -> None:
    assert faults(text)
