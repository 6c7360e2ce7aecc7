"""How a study runs and is written down: its command, its result, its picture, the photos that it needs."""

import argparse
import io
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import plotly.graph_objects as go
from PIL import Image
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from benchmarks.main_job.start import open_browser
from benchmarks.measure import RESULTS, kept, machine, sets, write
from benchmarks.studies.data_sets import ROOT, SHARED, known
from inspect_core.plots.chart_theme import LIGHT, new_figure
from inspect_core.scoring.metrics import auroc

FOLDER = RESULTS / "studies"
PICTURES = ROOT / "docs/pictures/studies"
PHOTOS = ("magnetic_tile", "elpv")
"""Folders in MVTec AD layout that a study also takes where --data holds them."""
COLOURS = (LIGHT.good, LIGHT.defect, *LIGHT.defect_types)

Part = Callable[[argparse.Namespace], object]


def run(
    name: str,
    description: str,
    parts: Mapping[str, Part],
    draw: Callable[[dict], go.Figure] | None = None,
    needs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """The command of a study: measures its parts one by one, keeps each as it comes, and draws what is kept, if asked.

    A part gets the options: `quick`, and `data`, the folder of photos. needs: by part, the set of data.toml that it
    cannot do without. Of a part, and of a set of PHOTOS, that is not there what was measured before stays.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer seeds; the result says so")
    parser.add_argument("--parts", nargs="*", choices=parts, default=list(parts), help="none: only draw what is kept")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with the sets of data.toml, if any")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    on = machine()
    for part in options.parts:
        if part in needs and not (needed := known()[needs[part]]).is_in(options.data):
            missing = f"needs {needs[part]}: {needed.get}; name its folder by --data"
            print(f"{name}: {part} stays as it was measured; {missing}.", file=sys.stderr, flush=True)
            continue
        print(f"{name}: {part}", file=sys.stderr, flush=True)
        began = time.perf_counter()
        measured = parts[part](options)
        duration = {"seconds": round(time.perf_counter() - began, 1), "quick": options.quick}
        figures = kept(f"studies/{name}")  # read anew: parts may be measured side by side
        figures[part] = _with_sets_kept(measured, figures.get(part), options.data)
        figures["runs"] = figures.get("runs", {}) | {part: duration}
        write(name, figures, measured_on=on, folder=FOLDER)
    figures = kept(f"studies/{name}")
    if draw is not None and figures.keys() >= parts.keys():
        picture(name, draw(figures))


def _with_sets_kept(measured: object, before: object, data: Path) -> object:
    """Figures by set with those of sets that are not there, as they were measured before."""
    if not isinstance(measured, dict) or not isinstance(before, dict):
        return measured
    absent = [name for name in PHOTOS if name in before and not (data / name / "train").is_dir()]
    return {name: before[name] for name in absent} | measured


def photo_sets(options: argparse.Namespace) -> dict[str, Path]:
    """The sample parts, and those of PHOTOS that are there; a sentence for each that is not."""
    folders = sets([])
    for name in PHOTOS:
        if (options.data / name / "train").is_dir():
            folders[name] = options.data / name
        else:
            print(f"{name} is left out, {options.data / name} is not there: {known()[name].get}.", file=sys.stderr)
    return folders


def area(scores: np.ndarray, foreign: np.ndarray) -> float:
    """AUROC of scores, higher for what is foreign."""
    return auroc(np.asarray(scores), foreign)


def panels(rows: int, columns: int, titles: list[str], *, height: int, width: int = 1200, **more) -> go.Figure:
    """An empty grid of panels in the app's own look, on white."""
    figure = make_subplots(rows, columns, subplot_titles=titles, **more)
    figure.update_layout(
        new_figure(LIGHT).layout, height=height, width=width, paper_bgcolor="white", plot_bgcolor="white"
    )
    figure.update_layout(margin={"l": 50, "r": 16, "t": 36, "b": 70}, showlegend=True, font_size=12)
    figure.update_layout(legend={"orientation": "h", "y": -30 / height, "yanchor": "top", "x": 0})
    figure.update_annotations(font_size=13)
    return figure


def line(
    figure: go.Figure, x: object, y: object, name: str, number: int, place: tuple[int, int], *, first: bool = True
) -> None:
    """A line in a panel, (row, column) from 1; `first` puts its name into the legend."""
    colour = COLOURS[number % len(COLOURS)]
    figure.add_scatter(
        x=x, y=y, name=name, legendgroup=name, showlegend=first, mode="lines+markers", row=place[0], col=place[1],
        line={"color": colour, "width": 2}, marker={"size": 4},
    )  # fmt: skip


def boundary(
    figure: go.Figure, points: np.ndarray, axes: tuple[np.ndarray, np.ndarray], scores: np.ndarray, limit: float,
    place: tuple[int, int],
) -> None:  # fmt: skip
    """Points of the plane, and the line at which scores (len(y), len(x)) reach a limit, in a panel."""
    row, col = place
    x, y = points.T
    figure.add_scatter(
        x=x, y=y, mode="markers", marker={"size": 2, "color": LIGHT.unknown}, showlegend=False, row=row, col=col
    )
    figure.add_contour(
        x=axes[0], y=axes[1], z=scores, contours={"start": limit, "end": limit, "size": 1, "coloring": "lines"},
        colorscale=[[0, LIGHT.defect], [1, LIGHT.defect]], showscale=False, line_width=2, row=row, col=col,
    )  # fmt: skip
    figure.update_xaxes(showticklabels=False, ticks="", row=row, col=col)
    figure.update_yaxes(showticklabels=False, ticks="", row=row, col=col)


def picture(name: str, figure: go.Figure) -> None:
    """docs/pictures/studies/<name>.png, drawn by Chromium; without it a sentence."""
    with open_browser() as browser:
        if browser is None:
            print(f"{name}: no picture, Chromium is missing.", file=sys.stderr)
            return
        page = browser.new_page(viewport={"width": figure.layout.width, "height": figure.layout.height})
        page.set_content(f"<body style='margin:0'><script>{get_plotlyjs()}</script><div id='plot'></div></body>")
        drawn = f"Plotly.newPlot('plot', {figure.to_json()}).then(() => true)"
        page.evaluate(drawn)
        PICTURES.mkdir(parents=True, exist_ok=True)
        with Image.open(io.BytesIO(page.locator("#plot").screenshot())) as shown:
            shown.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(PICTURES / f"{name}.png", optimize=True)
