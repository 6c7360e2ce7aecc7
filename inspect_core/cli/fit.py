"""`fit`: learn a folder of good parts and save a recipe."""

import argparse

from inspect_core.audit.log import AuditLog
from inspect_core.cli import teaching_options, worker_options
from inspect_core.cli.console import ACCEPTED, path_argument, print_line, scale_argument
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import users
from inspect_core.runtime.wording import escape_line
from inspect_core.scoring.limits import limit_for_overkill
from inspect_core.study.evaluation import forecast_sentence
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.verdict import Limits
from inspect_core.whole_part.product_check import ALONE, FUSED, MODES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching_options.add_options(parser)
    worker_options.add_options(parser)
    out = "output folder or .zip file; overwrites only a Loupe recipe"
    parser.add_argument("--out", type=path_argument, required=True, help=out)
    parser.add_argument("--product", help="name of the product (default: the folder's name)")
    overkill = "share of good calibration parts that a single limit may reject"
    parser.add_argument("--overkill", type=float, help=overkill)
    parser.add_argument("--limit", type=float, help="use this score as the limit")
    scale = "scale of the photos; areas are then also reported in mm²"
    parser.add_argument("--mm-per-pixel", type=scale_argument, help=scale)
    check = "action for photos of another product"
    parser.add_argument("--product-check", choices=MODES, help=check, default=TeachingConfig.product_check)
    scores = "score of the product check: the photo's features alone, or fused with the network's own class scores"
    parser.add_argument("--product-check-scores", choices=(ALONE, FUSED), default=ALONE, help=scores)


def run(options: argparse.Namespace) -> int:
    check_place(options.out, photos=options.folder)
    AuditLog.open().close()  # one that cannot be written is said before anything is learned
    result = teaching_options.teach_folder(
        options, product_check=options.product_check, fused_product_check=options.product_check_scores == FUSED
    )
    study = result.study
    who = users.local_user()
    limits = _limits(study, options)
    product = escape_line(options.product or options.folder.resolve().stem)
    foreign = study.foreign(result.product_check)
    recipe = study.recipe(
        limits,
        foreign=foreign,
        product=product,
        author=who,
        product_check=result.product_check,
        mm_per_pixel=options.mm_per_pixel,
    )
    recipe = save_recorded(recipe, options.out, None, reason="fitted", user=who)
    band = "" if limits.review == limits.reject else f", review from {limits.review:.4g}"
    scored = study.scored
    print_line(f"Limit {limits.reject:.4g}{band}. {study.evidence(foreign).sentence(limits)}")
    sentence = forecast_sentence(scored, limits, scored.scores(), study.calibration_scores(), ceiling=scored.ceiling())
    print_line(sentence)
    print_line(f"Saved {options.out} (recipe {recipe.digest:.12}).")
    return ACCEPTED


def _limits(study: FittedStudy, options: argparse.Namespace) -> Limits:
    limit = options.limit
    if limit is None and options.overkill is not None:
        limit = limit_for_overkill(study.calibration_scores(), rate=options.overkill)
    if limit is not None and limit <= 0:
        raise ValueError(f"--limit {limit:g} rejects every part, as scores are above 0; give a limit above 0")
    return study.default_limits() if limit is None else Limits(limit, limit)
