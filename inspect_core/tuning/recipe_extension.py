"""A recipe taught again with further good parts, and what that changes for every part judged before.

Everything is fitted anew on the old photos and the new ones: local scales, limits and methods that sample patches
cannot be carried on by sums, so a recipe whose photos are gone is not taught further.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from inspect_core.audit.inspections import Inspection
from inspect_core.features.store import Store
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.samples import GOOD, Sample, counted, examples
from inspect_core.images.splitting import Split
from inspect_core.images.tolerances import Tolerances
from inspect_core.judge.anomaly_map import AREA
from inspect_core.line.ordered_pool import in_order
from inspect_core.line.result_row import ResultRow, judge, row_of
from inspect_core.line.verdict_changes import VerdictChanges, changed
from inspect_core.recipe import LoadedRecipe, Recipe
from inspect_core.recipe_format.recorded_photos import TaughtFrom
from inspect_core.recipe_io.parity_photos import by_content, masks_in
from inspect_core.runtime.progress import Report, silent
from inspect_core.study.study import Study
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

LEARNED_FROM = ("fit", "calibrate")
DEFECT = "defect"


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is to be taught. order: the recipe's own, with the new photos among those to fit; new: their names; known:
    names of photos that it has learned from before; skipped: (name, reason) of those that cannot be read; defective:
    those of the new ones that are known to be defective; tested: those that were test photos of the recipe.
    """

    recipe: Recipe
    order: TeachingConfig
    new: tuple[str, ...]
    known: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    defective: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What is learned and what is not, in words."""
        found = [f"{counted(len(self.new), 'photo')} to add: {examples(list(self.new))}."]
        if self.known:
            found.append(f"Already used for training, skipped: {counted(len(self.known), 'photo')}.")
        if self.tested:
            leave = f"{counted(len(self.tested), 'test photo')} of the recipe ({examples(list(self.tested))})"
            found.append(f"Among them {leave}: learned, they leave the test photos, so the figures rest on fewer.")
        if self.defective:
            named = f"{counted(len(self.defective), 'known defect')} ({examples(list(self.defective))})"
            found.append(f"Among them {named}: learned, such defects are accepted.")
        return [*found, *(f"{name} was skipped: {reason}" for name, reason in self.skipped)]


def lesson(
    recipe: Recipe,
    photos: Iterable[tuple[str, Path]],
    folders: Sequence[Path],
    inspections: Sequence[Inspection] = (),
) -> Lesson:
    """The recipe's order with these photos of good parts, (name, path); folders: where its own photos lie.

    inspections: under the recipe; what a person called defective there is a known defect.

    Raises ValueError, with the remedy, for a recipe that does not say what it was taught from, for photos of it that
    are not found, and when nothing is new.
    """
    taught = recipe.taught
    if taught is None:
        reason = "does not record its training photos"
        raise ValueError(f"{recipe.product} {reason}; teach it again from its folder, with the new photos in it")
    own = _own_photos(recipe, taught, folders)
    learned = {one.digest for one in taught.photos if one.set in LEARNED_FROM}
    called = {one.digest for one in inspections if _truth(one) == DEFECT}
    new: dict[str, Sample] = {}
    known, skipped, defective, tested = [], [], [], []

    def looked(item: tuple[str, Path]) -> tuple[str, Sample] | ImageError:
        name, path = item
        try:
            picture = read(path, recipe.depth)
        except ImageError as error:
            return error
        return picture.digest, Sample(path, name, GOOD, picture.pixels.shape[:2], depth=recipe.depth)

    for found in in_order(looked, photos):
        if isinstance(found, ImageError):
            skipped.append((found.name, found.why))
            continue
        digest, sample = found
        if digest in learned or digest in new:
            known.append(sample.name)
        else:
            new[digest] = replace(own[digest][1], kind=GOOD) if digest in own else sample
            if digest in called or (digest in own and own[digest][1].kind != GOOD):
                defective.append(sample.name)
            if digest in own and own[digest][0] == "judge":
                tested.append(sample.name)
    if not new:
        why = f"{counted(len(known), 'photo')} already used" if known else "no readable photo"
        raise ValueError(f"nothing to add: {why}; choose good photos that are new to this recipe")
    split = _split(own.values()).relabelled(new.values())
    names = tuple(sample.name for sample in new.values())
    known_of = tuple(known), tuple(skipped), tuple(defective), tuple(tested)
    return Lesson(recipe, order_of(recipe, taught, split), names, *known_of)


def order_of(recipe: Recipe, taught: TaughtFrom, photos: Split) -> TeachingConfig:
    """The order that taught the recipe, with other photos."""
    check, tolerances = recipe.product_check, taught.tolerances
    return TeachingConfig(
        recipe.product,
        photos,
        backbone=recipe.backbone.name,
        taps=taught.taps,
        size=recipe.backbone.size,
        grid=recipe.grid,
        method=recipe.method,
        parameters=taught.parameters,
        as_published=recipe.as_published,
        area=recipe.live[AREA],
        align=taught.align,
        align_turn=taught.align_turn,
        align_shift=taught.align_shift,
        areas=recipe.areas,
        tiles=recipe.tiles,
        tolerances=None if tolerances is None else _tolerances(tolerances),
        seed=recipe.provenance.seeds.get("split", TeachingConfig.seed),
        product_check=OFF if check is None else check.mode,
        fused_product_check=check is not None and check.fused,
    )


def learn(
    task: Lesson, store: Store, report: Report, workers: Workers = IN_PROCESS, **said: Any
) -> tuple[Recipe, Study]:
    """The recipe taught again, unsaved, with the limits suggested for it, and its study; said: author and reason.

    Equal to the bit to teaching the order from nothing. Known cases, defect types, areas and live values are kept;
    challenge parts are left out, since their photos are to be judged again. Raises ValueError as `teach`.
    """
    recipe, taught = task.recipe, teach(task.order, store, report, workers)
    if taught.study.preparation.backbone.weight_digest != recipe.backbone.weight_digest:
        raise ValueError(f"the network's weights are not those of {recipe.product}; put that weights file in place")
    new = taught.study.recipe(
        parent=recipe.digest,
        product=recipe.product,
        gallery=recipe.gallery,
        defect_types=recipe.defect_types,
        areas=recipe.areas,
        mm_per_pixel=recipe.mm_per_pixel,
        product_check=taught.product_check,
        **said,
        **recipe.live,
    )
    return new, taught.study


def regression(
    task: Lesson,
    old: LoadedRecipe,
    new: Recipe,
    study: Study,
    inspections: Sequence[Inspection] = (),
    report: Report = silent,
) -> tuple[VerdictChanges, list[str]]:
    """Which verdicts change of all parts that the recipe has judged before; and sentences on those not judged again.

    Those of its teaching go by their scores, each good one scored by a detector that has not learned from it; defects
    that only chose settings, and the inspected parts whose photo still lies where it lay, are inspected. What a person
    said of an inspected part is its truth, Loupe's own verdict is none.
    """
    inspector = LoadedRecipe(new, study.preparation.backbone)
    before, after = _recorded(old), _recorded(inspector)
    taught = [(one.name, one.path, "", one.kind, None) for one in task.order.photos.choose]
    latest = {one.digest: one for one in reversed(inspections) if one.score is not None and one.digest not in before}
    logged = [(one.name, Path(one.path), one.digest, _truth(one), one.verdict) for one in latest.values()]

    def again(item: tuple[str, Path, str, str, str | None]) -> tuple[ResultRow, ResultRow] | None:
        name, path, digest, truth, verdict = item
        row = replace(judge(inspector, name, path).row, truth=truth)
        if not row.digest or (digest and row.digest != digest):
            return None
        had = judge(old, name, path).row if verdict is None else replace(row, verdict=verdict)
        return replace(had, truth=truth), row

    unseen = 0
    for digest in before.keys() & after.keys():  # a photo learned as good is still what it was known to be
        after[digest] = replace(after[digest], truth=before[digest].truth or after[digest].truth)
    for number, pair in enumerate(in_order(again, items := [*taught, *logged]), 1):
        report(number / len(items), f"judging part {number} of {len(items)} again")
        unseen += pair is None
        if pair is not None:
            before[pair[0].digest], after[pair[1].digest] = pair
    said = [f"{counted(unseen, 'part')} not re-inspected: the photo is missing or has changed."] if unseen else []
    if old.challenge:
        said.append(f"{counted(len(old.challenge), 'challenge part')} to be added again, from new photos.")
    return changed(list(before.values()), list(after.values())), said


def _recorded(inspector: LoadedRecipe) -> dict[str, ResultRow]:
    """By digest, the photos that set or judged the limits of a recipe, by their scores."""
    recipe, rows = inspector.recipe, {}
    for one in (*recipe.calibration, *recipe.judged):
        row, verdict = row_of(inspector, one.name), recipe.limits.verdict(one.score)
        rows[one.digest] = replace(row, digest=one.digest, score=one.score, verdict=verdict, truth=one.kind)
    return rows


def _own_photos(recipe: Recipe, taught: TaughtFrom, folders: Sequence[Path]) -> dict[str, tuple[str, Sample, str]]:
    """(set, photo, group) of every photo that it was taught from, by digest. Raises ValueError for missing ones."""
    found = by_content(taught.photos, folders, recipe.depth)
    if missing := [photo.name for photo in taught.photos if photo.digest not in found]:
        raise ValueError(
            f"{len(missing)} of the {len(taught.photos)} training photos of {recipe.product} were not found "
            f"({examples(missing)}); all are needed because everything is retrained: specify their folder with "
            "--photos"
        )
    masks = {photo: mask for folder in folders if folder.is_dir() for photo, mask in masks_in(folder).items()}
    own = {}
    for one in taught.photos:
        path, size = found[one.digest]
        sample = Sample(path, one.name, one.kind, size, masks.get(path), depth=recipe.depth)
        own[one.digest] = one.set, sample, one.group
    return own


def _split(own: Collection[tuple[str, Sample, str]]) -> Split:
    fit, calibrate, judge, choose = (
        tuple(sample for of, sample, _ in own if of == part) for part in ("fit", "calibrate", "judge", "choose")
    )
    groups = {sample.name: group for _, sample, group in own if group}
    return Split(fit, calibrate, judge, groups=groups, choose=choose)


def _tolerances(recorded: Mapping[str, float]) -> Tolerances:
    """The tolerances that a recipe records. Raises ValueError for names that are not those of tolerances."""
    if recorded.keys() != (names := {field.name for field in fields(Tolerances)}):
        raise ValueError(f"the recipe's tolerances are {sorted(recorded)}, not {sorted(names)}; teach it again")
    values: dict[str, Any] = dict(recorded)
    return Tolerances(**values | {name: int(values[name]) for name in ("jpeg", "copies", "seed")})


def _truth(one: Inspection) -> str:
    if one.overridden is None:
        return ""
    return {"accept": GOOD, "reject": DEFECT}.get(one.final, "")
