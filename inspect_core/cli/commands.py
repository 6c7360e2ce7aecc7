"""The command line: the same verbs as the pages.

Exit codes: `inspect` gives 0 when every part was accepted, 1 when one was not, 2 when it could not run; the other
verbs give 0 or 2.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TextIO

from tqdm import tqdm

from inspect_core.cli import doctor
from inspect_core.cli.outputs import Maps, check_figures, check_table, table_row, write_figures, write_table
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import available
from inspect_core.features.weights import download_weights
from inspect_core.guard.model import ALONE, FUSED, MODES, OFF
from inspect_core.images.folders import Samples, scan, split
from inspect_core.images.listing import photos_in
from inspect_core.images.read import ImageError, read
from inspect_core.images.samples import shown
from inspect_core.judge.limits import in_parts, limit_for_overkill
from inspect_core.methods.table import METHODS
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.records.place import check_place
from inspect_core.records.recipe_file import load as load_recipe
from inspect_core.records.recipe_file import save
from inspect_core.runtime import unfinished, workspace
from inspect_core.study.evaluation import evaluate, in_parts_of, truth_masks
from inspect_core.study.study import Study
from inspect_core.tuning.teaching import Order, Taught, feature_store, teach
from inspect_core.verdict import Limits

ACCEPTED, NOT_ACCEPTED, COULD_NOT_RUN = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. Errors that a user can mend are one line on standard error."""
    options = _parser().parse_args(arguments)
    warnings.formatwarning = lambda message, *_: f"Note: {shown(str(message))}\n"
    try:
        if options.run is not _doctor:
            workspace.require_writable()
        unfinished.clear()
        return options.run(options)
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        _say(f"loupe: {error}", sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("loupe: stopped; nothing was saved", file=sys.stderr)
        return COULD_NOT_RUN


def _say(line: str, file: TextIO | None = None) -> None:
    """Print one line, on standard output by default; no name in it can begin another or steer the terminal."""
    tqdm.write(shown(line), file=file or sys.stdout)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="loupe", description="Taught with good parts, shows where a new part differs.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    fit = verbs.add_parser("fit", help="learn a folder of good parts and save a recipe")
    fit.add_argument("folder", type=_path, help="photos in any layout, or a zip of them")
    fit.add_argument(
        "--out", type=_path, required=True,
        help="recipe to write: a folder, or a file ending in .zip; replaces nothing but a recipe of Loupe's",
    )  # fmt: skip
    fit.add_argument("--product", help="name of the product; the folder's name otherwise")
    _add_study_options(fit)
    fit.add_argument("--overkill", type=float, help="share of good calibrate parts the limit may reject (default 0.01)")
    fit.add_argument("--limit", type=float, help="the limit itself, as a raw score")
    fit.add_argument("--guard", choices=MODES, default=Order.guard, help="what to do with a photo of another product")
    fit.add_argument(
        "--guard-scores", choices=(ALONE, FUSED), default=ALONE,
        help="the guard's score: the photo's features alone, or fused with the network's own class scores",
    )  # fmt: skip
    fit.set_defaults(run=_fit)

    look = verbs.add_parser("inspect", help="judge photos with a recipe")
    look.add_argument("recipe", type=_path)
    look.add_argument("paths", type=_path, nargs="+", metavar="PATH", help="photos or folders of them")
    look.add_argument(
        "--csv", type=_path,
        help="table of the verdicts; replaces nothing but such a table. A text that begins with = + - @ or ' has ' in "
        "front there, so that a spreadsheet runs no formula",
    )  # fmt: skip
    look.add_argument(
        "--maps", type=_path,
        help="folder for the heatmaps (PNG) and raw maps (.npy); replaces nothing but what Loupe wrote there",
    )  # fmt: skip
    look.add_argument("--device", default="auto")
    look.set_defaults(run=_inspect)

    measure = verbs.add_parser("evaluate", help="teach a folder and measure how well it separates good from defect")
    measure.add_argument("folder", type=_path)
    _add_study_options(measure)
    measure.add_argument(
        "--ks", type=int, nargs="+", help="values of the live parameter to measure; the one in force otherwise"
    )
    measure.add_argument("--json", type=_path, help="write the figures there; replaces nothing but such figures")
    measure.set_defaults(run=_evaluate)

    for verb in (fit, look, measure):
        verb.add_argument("--download", action="store_true", help="fetch the backbone's weights when there are none")

    check = verbs.add_parser("doctor", help="what is installed, which device is used, what is missing")
    check.set_defaults(run=_doctor)
    return parser


def _add_study_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backbone", default=Order.backbone, help=f"one of {', '.join(available())}")
    parser.add_argument("--weights", type=_path, help="weights file of the backbone, when it is not built in")
    parser.add_argument("--taps", help="a preset (expansions, outputs) or layer names separated by commas")
    parser.add_argument("--size", type=_size, default=Order.size, help="input size: 256 or HEIGHTxWIDTH")
    parser.add_argument("--grid", type=_size, default=Order.grid, help="patch grid: 32 or HEIGHTxWIDTH")
    parser.add_argument("--detector", default=Order.method, choices=METHODS)
    parser.add_argument("--k", type=int, help="features kept at every place")
    parser.add_argument("--gamma", type=float, help="sharpness of the random-Fourier kernel")
    parser.add_argument("--M", type=int, help="number of random-Fourier features")
    parser.add_argument("--sigma", type=float, help="width of the Gaussian kernel")
    parser.add_argument("--q", type=int, help="components kept")
    parser.add_argument("--m", type=int, help="number of quadrics")
    parser.add_argument("--components", type=int, help="principal components that quadrics are fitted in")
    parser.add_argument("--robust", type=int, choices=(0, 1), help="quadrics: 1 refines the closed form robustly")
    parser.add_argument("--seed", type=int, default=Order.seed)
    parser.add_argument("--calibrate", type=float, default=0.2, help="share of the good photos that sets limits")
    parser.add_argument("--device", default="auto")


def _path(text: str) -> Path:
    try:
        return workspace.usable(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _size(text: str) -> tuple[int, int]:
    try:
        numbers = [int(part) for part in text.lower().split("x")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 256 or 256x320")
    return numbers[0], numbers[-1]


def _taught(options: argparse.Namespace, **more: str | bool) -> Taught:
    """What the folder teaches, as the page would; more: fields of the order."""
    samples = scan(options.folder)
    for line in _preflight(samples):
        _say(line)
    parts = split(samples, seed=options.seed, calibrate=options.calibrate)
    for note in parts.notes:
        _say(f"Note: {note}")
    if options.download and options.weights is None:
        download_weights(spec_of(options.backbone, has_weights=False))
    names = ("k", "gamma", "M", "sigma", "q", "m", "components", "robust")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    order = Order(
        options.folder.resolve().stem,
        parts,
        backbone=options.backbone,
        taps=_taps(options.taps),
        size=options.size,
        grid=options.grid,
        method=options.detector,
        parameters=given,
        fixed=given,
        seed=options.seed,
        weights=options.weights,
        device=options.device,
        **more,
    )
    with _bar() as report:
        taught = teach(order, feature_store(), report)
    backbone = taught.study.preparation.backbone
    _say(f"Used {backbone.name} with {backbone.engine}.")
    if taught.suggestion is not None:
        _say(taught.suggestion.basis)
    for note in taught.notes:
        _say(f"Note: {note}")
    return taught


def _taps(text: str | None) -> str | tuple[str, ...] | None:
    return tuple(text.split(",")) if text and ("." in text or "," in text) else text


def _fit(options: argparse.Namespace) -> int:
    check_place(options.out, photos=options.folder)
    taught = _taught(options, guard=options.guard, fused_guard=options.guard_scores == FUSED)
    study = taught.study
    limits = _limits(study, options)
    product = shown(options.product or options.folder.resolve().stem)
    recipe = save(study.recipe(limits, product=product, guard=taught.guard), options.out)
    _say(f"Limit {limits.reject:.4g}. {in_parts_of(study.scored, study.scores(), limits)}")
    _say(f"Saved {options.out} (recipe {recipe.digest[:12]}).")
    return ACCEPTED


def _limits(study: Study, options: argparse.Namespace) -> Limits:
    if options.limit is not None:
        return Limits(options.limit, options.limit)
    if options.overkill is not None:
        limit = limit_for_overkill(study.calibration_scores(), rate=options.overkill)
        return Limits(limit, limit)
    return study.default_limits()


def _inspect(options: argparse.Namespace) -> int:
    maps = Maps(options.maps) if options.maps else None
    if options.csv:
        check_table(options.csv)
    recipe = load_recipe(options.recipe)
    photos = [(name, path) for name, path in photos_in(options.paths) if maps is None or not maps.holds(path)]
    if not photos:
        raise ValueError("no photo was found at the given paths; name PNG, JPEG, BMP, TIFF or WebP files or folders")
    if maps is not None:
        maps.expect([name for name, _ in photos])
    if options.download:
        download_weights(spec_of(recipe.backbone.name, has_weights=False))
    backbone = loaded_backbone(recipe.backbone, options.device)
    rows, outcome = [], ACCEPTED
    for name, path in tqdm(photos, unit="part", disable=not sys.stderr.isatty()):
        began = time.perf_counter()
        try:
            picture = read(path)
            verdict = inspect(picture.pixels, recipe, backbone=backbone)
        except (ValueError, RuntimeError, MemoryError) as error:
            reason = f"{error.reason}; {error.remedy}" if isinstance(error, ImageError) else error
            _say(f"Skipped {name}: {reason}", sys.stderr)
            outcome = COULD_NOT_RUN
            continue
        rows.append(table_row(name, picture.digest, verdict, recipe, seconds=time.perf_counter() - began))
        _say(f"{verdict.verdict:7} {verdict.score:10.4f}  {name}")
        if maps is not None:
            maps.write(name, picture.pixels, verdict.anomaly_map, recipe.limits.review)
        if verdict.verdict != "accept":
            outcome = max(outcome, NOT_ACCEPTED)
        del picture  # before the next is read: memory holds one photo at a time
    if options.csv:
        write_table(options.csv, rows)
    accepted = sum(row[3] == "accept" for row in rows)
    _say(f"Accepted {accepted} of {len(rows)}; recipe {recipe.product} {recipe.digest[:12]}, {backbone.engine}.")
    return outcome


def _evaluate(options: argparse.Namespace) -> int:
    if options.json:
        check_figures(options.json)
    study = _taught(options, guard=OFF).study
    masks, name = truth_masks(study.scored), METHODS[options.detector].live
    values = options.ks or list(study.live.values())
    print(f"{name or '':>6} {'image AUROC':>12} {'pixel AUROC':>12} {'AUPRO':>12} {'FPR95':>12}")
    figures = []
    for value in values or [None]:
        live = {name: value} if name else {}
        found = evaluate(study, study.default_limits(**live), masks, **live)
        fractions = (found.image_auroc, found.pixel_auroc, found.aupro, found.fpr95)
        print(f"{value or '':>6}", *(f"{fraction:12.4f}" for fraction in fractions))
        figures.append({"live": live, "image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc,
                        "aupro": found.aupro, "fpr95": found.fpr95, "in_parts": in_parts(found.counts)})  # fmt: skip
    _say(in_parts_of(study.scored, study.scores(), study.default_limits()))
    if options.json:
        write_figures(options.json, figures)
    return ACCEPTED


def _doctor(options: argparse.Namespace) -> int:
    for line in doctor.report():
        _say(line)
    return ACCEPTED


def _preflight(samples: Samples) -> list[str]:
    rows = [f"{row.what:>16} {row.count:5}  {row.remark}" for row in samples.table()]
    return rows + [f"Note: {line}" for line in samples.warnings]


@contextmanager
def _bar():
    """A report(share, step) that draws a bar with the time left on a terminal."""
    with tqdm(total=1000, disable=not sys.stderr.isatty(), bar_format="{desc:32.32} {bar} {remaining}") as bar:

        def report(fraction: float, step: str) -> None:
            bar.set_description_str(shown(step))
            bar.update(int(1000 * fraction) - bar.n)

        yield report
