"""What `fit` and `evaluate` share: the options of a fit, and teaching a folder as the page would."""

import argparse

from inspect_core.cli import worker_options
from inspect_core.cli.console import (
    add_labels,
    argument,
    chosen_reading,
    number_argument,
    path_argument,
    print_line,
    print_notes,
    progress_bar,
    size_argument,
    whole_argument,
)
from inspect_core.datasets.folders import Dataset, scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import available
from inspect_core.features.store import feature_store
from inspect_core.features.weights_download import download_weights
from inspect_core.images.depth import DEPTHS
from inspect_core.images.shape import CELL, SIDE, input_size
from inspect_core.images.tolerances import NONE, Tolerances
from inspect_core.methods.method import Option
from inspect_core.methods.registry import JOIN, METHODS, OPTIONS, methods_of, parameters_of
from inspect_core.runtime.json_record import MANY
from inspect_core.study.teaching_config import ALIGN, ORDER_OPTIONS, TeachingConfig
from inspect_core.tuning import tile_planning
from inspect_core.tuning.label_check import check_labels
from inspect_core.tuning.teaching import TeachingResult, teach
from inspect_core.tuning.teaching_plan import TeachingPlan

FULL, LEARNED = "full", "learned"
WIDE = 60
"""Characters in a histogram bar of all pixels."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the folder and the options that decide what is fitted to it."""
    folder = (
        "folder or zip of photos in any supported layout, or a list of photos: a table of file and label (.csv, .xlsx, "
        ".json), COCO, CVAT, Label Studio or a Lookout for Vision manifest"
    )
    parser.add_argument("folder", type=path_argument, help=folder)
    add_labels(parser)
    leave = "good photo to exclude, named as shown by `screen`; repeatable"
    parser.add_argument("--leave-out", metavar="NAME", action="append", default=[], help=leave)
    parser.add_argument("--backbone", default=TeachingConfig.backbone, help=f"one of {', '.join(available())}")
    parser.add_argument("--weights", type=path_argument, help="weights file of the backbone, if it is not built in")
    parser.add_argument("--taps", help="a preset (expansions, outputs) or layer names separated by commas")
    size = f"input size: 256 or HEIGHTxWIDTH (default: the shape of the good photos, as many pixels as {SIDE}x{SIDE})"
    parser.add_argument("--size", type=size_argument, help=size)
    grid = f"patch grid: 32 or HEIGHTxWIDTH (default: one patch to {CELL}x{CELL} pixels of the input)"
    parser.add_argument("--grid", type=size_argument, help=grid)
    detector = (
        f"one of {', '.join(METHODS)}, or several joined by {JOIN}, whose maps are added; without it, the one that "
        "suits how the parts lie, or that separates ten or more known defects best"
    )
    parser.add_argument("--detector", type=detector_argument, help=detector)
    for name, option in OPTIONS.items():
        _add_option(parser, name, option)
    for name, option in ORDER_OPTIONS.items():
        _add_option(parser, name, option, getattr(TeachingConfig, name))
    published = (
        "run the single method named by --detector with its paper's settings (replaces --size, --grid, --taps, "
        "--area, --tolerance and --product-check-scores): no local scale, area 1, no augmented copies; with "
        "evaluate --compare, test each method both ways"
    )
    parser.add_argument("--as-published", action="store_true", help=published)
    parser.set_defaults(compare=False)
    blind = "do not use known defects to choose settings; test on all of them"
    parser.add_argument("--blind", action="store_true", help=blind)
    depth = "bits the camera uses in 16-bit photos, if they cannot be detected"
    parser.add_argument("--depth", type=int, choices=DEPTHS, help=depth)
    window = (
        "values of 16-bit photos that map to black and white: the full range, or the range of the good photos "
        "(default: full, or learned where the good photos fill few grey levels)"
    )
    parser.add_argument("--window", choices=(FULL, LEARNED), help=window)
    align = (
        "locate and align parts: shift and rotation (rigid), or also scale (similarity); auto tries it on good photos "
        "kept apart and aligns only where it gains (default: %(default)s)"
    )
    parser.add_argument("--align", choices=ALIGN, default=TeachingConfig.align, help=align)
    tiles = (
        "split large photos into tiles: only if the smallest defect requires it (auto), or with cells of this many "
        "pixels"
    )
    parser.add_argument("--tiles", choices=tile_planning.CHOICES, default=tile_planning.OFF, help=tiles)
    smallest = "smallest relevant defect, in photo pixels"
    parser.add_argument("--smallest-defect", type=float, metavar="PX", help=smallest)
    differ = (
        "allowed variation between photos of the same good part: noise in grey levels, brightness in %%, shift and "
        "focus in pixels of the network input, JPEG quality, turn in degrees (with --align auto as in the photos); "
        f"{NONE} to disable (default: %(default)s)"
    )
    named = "NAME=VALUE,..."
    usual = TeachingConfig.tolerances
    parser.add_argument("--tolerance", type=argument(Tolerances.parse), default=usual, metavar=named, help=differ)
    calibrate = (
        "share of the good photos reserved for setting the limits (default: cross-validation; all are used for "
        "training, and each is scored by a detector trained without it)"
    )
    parser.add_argument("--calibrate", type=float, help=calibrate)
    test = "keep one in five good photos for testing where the folder has no test/ (default: all are learned from)"
    parser.add_argument("--keep-test", action="store_true", help=test)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--download", action="store_true", help="download the backbone's weights if they are missing")


def _add_option(parser: argparse.ArgumentParser, name: str, option: Option, default: float | None = None) -> None:
    """Add the option that sets a number as it is typed; default: of the field that it sets."""
    low, high = option.bounds
    whole = max(int(low), 0), min(int(high), MANY)
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        type=number_argument(low, high) if option.kind is float else whole_argument(*whole),
        choices=(0, 1) if option.kind is bool else None,
        default=default if default is None else default * option.per,
        metavar=option.unit,
        help=option.words,
    )


def _typed(value: float | None, option: Option) -> float | None:
    """What was typed as the number that it sets."""
    return value if value is None or option.per == 1 else value / option.per


def load_dataset(options: argparse.Namespace) -> Dataset:
    """The photos of the folder, except those to leave out; prints what was found."""
    samples = scan(options.folder, labels=chosen_reading(options))
    is_narrow = samples.is_narrow and options.window is None
    learned = None if options.window is None else options.window == LEARNED
    samples = samples.with_depth(bits=options.depth, learned=learned)
    for row in samples.table():
        print_line(f"{row.what:>16} {row.count:5}  {row.remark}")
    if samples.depth is not None and samples.values is not None:
        print_line(samples.depth.sentence())
        if is_narrow:
            print_line("The good photos fill so few values that the window is learned; --window full keeps all.")
        for first, share in samples.depth.histogram(samples.values):
            print_line(f"{first:16,} {share:6.1%}  {'█' * round(WIDE * share)}")
    print_notes(samples.warnings)
    return samples.without(options.leave_out)


def build_config(
    options: argparse.Namespace,
    samples: Dataset | None = None,
    *,
    product_check: str,
    fused_product_check: bool = False,
) -> TeachingConfig:
    """The order that the options describe; samples: of `load_dataset`; the others: fields of the order."""
    samples = load_dataset(options) if samples is None else samples
    chosen = {name: getattr(options, name) for name in ("seed", "blind", "calibrate", "keep_test")}
    parts = split_to_teach(samples, **chosen)
    print_notes(parts.notes)
    if options.download and options.weights is None:
        download_weights(spec_of(options.backbone, has_weights=False))
    size = options.size or input_size([sample.size for sample in parts.train])
    tile = options.size or (SIDE, SIDE)
    tiles, sentences = tile_planning.plan_tiles(options.tiles, samples.good, options.smallest_defect, size, tile=tile)
    for sentence in sentences:
        print_line(sentence)
    fit_parameters = {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}
    names = ("backbone", "align", "weights", "device")
    numbers = {name: _typed(getattr(options, name), option) for name, option in ORDER_OPTIONS.items()}
    order = TeachingConfig.from_photos(
        options.folder.resolve().stem,
        parts,
        size=size,
        grid=options.grid,
        **{name: getattr(options, name) for name in names},
        **numbers,
        taps=_taps(options.taps),
        method=options.detector,
        parameters=fit_parameters,
        tiles=tiles,
        tolerances=options.tolerance,
        product_check=product_check,
        fused_product_check=fused_product_check,
        as_published=options.as_published and not options.compare,
    )
    if order.method is not None:  # refused before anything is learned
        parameters_of(methods_of(order.method), order.parameters, tiles)
    order.as_fitted()
    return order


def teach_folder(
    options: argparse.Namespace, *, product_check: str, fused_product_check: bool = False
) -> TeachingResult:
    """The folder taught as on the page; prints what was chosen. Otherwise as `build_config`."""
    order = build_config(options, product_check=product_check, fused_product_check=fused_product_check)
    with worker_options.study_workers(options) as workers, progress_bar() as report:
        plan = TeachingPlan.from_order(order, feature_store(), workers)
        print_line(f"{plan.sentence()} {plan.cost().sentence()}")
        teaching_result = teach(order, feature_store(), report, workers)
    print_teaching_result(teaching_result)
    return teaching_result


def print_teaching_result(teaching_result: TeachingResult) -> None:
    """Print what was used and chosen, and why."""
    backbone = teaching_result.study.extractor.backbone
    print_line(f"Used {backbone.name} with {backbone.engine}.")
    for line in (teaching_result.detector_reason or "").splitlines():
        print_line(line)
    on_labels = check_labels(teaching_result.study.scored).sentences
    print_notes((*on_labels, *teaching_result.warnings, *teaching_result.notes))


@argument
def detector_argument(text: str) -> str:
    """A detector by name."""
    methods_of(text)
    return text


def _taps(text: str | None) -> str | tuple[str, ...] | None:
    return tuple(text.split(",")) if text and ("." in text or "," in text) else text
