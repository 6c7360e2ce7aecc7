"""A recipe taught again with further good parts, and what that changes for every part judged before.

Everything is fitted anew on the old photos and the new ones: local scales, limits and methods that sample patches
cannot be carried on by sums, so a recipe whose photos are gone is not taught further.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inspect_core.audit.inspections import LoggedInspection
from inspect_core.datasets.dataset import CALIBRATION, GOOD, SUBSETS, TRAIN, PhotoFile
from inspect_core.datasets.photo_tree import resolved
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.tolerances import Tolerances
from inspect_core.inspection import Inspection
from inspect_core.line.photo_inspection import inspect_photos, uninspected_row
from inspect_core.line.verdict_changes import VerdictChanges, compare_verdicts
from inspect_core.methods.registry import fitted_detector
from inspect_core.recipe import LoadedRecipe, Recipe
from inspect_core.recipe_format.recorded_photos import TeachingRecord
from inspect_core.recipe_io.parity_photos import by_content, masks_in
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import join_first_names, pluralise
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.study.study import FittedStudy
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

LEARNED_FROM = (TRAIN, CALIBRATION)
DEFECT = "defect"


@dataclass(frozen=True, eq=False)
class ExtensionPlan:
    """What is to be taught. order: the recipe's own, with the new photos among those to fit; added: their names;
    already_taught: names of photos that it has learned from before; skipped: (name, reason) of those that cannot be
    read; defective: those of the new ones that are known to be defective; tested: those that were test photos of the
    recipe.
    """

    recipe: Recipe
    order: TeachingConfig
    added: tuple[str, ...]
    already_taught: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    defective: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What is learned and what is not, in words."""
        sentences = [f"{pluralise(len(self.added), 'photo')} to add: {join_first_names(list(self.added))}."]
        if self.already_taught:
            sentences.append(f"Already used for training, skipped: {pluralise(len(self.already_taught), 'photo')}.")
        if self.tested:
            leave = f"{pluralise(len(self.tested), 'test photo')} of the recipe ({join_first_names(list(self.tested))})"
            sentences.append(f"Among them {leave}: learned, they leave the test photos, so the figures rest on fewer.")
        if self.defective:
            named = f"{pluralise(len(self.defective), 'known defect')} ({join_first_names(list(self.defective))})"
            sentences.append(f"Among them {named}: learned, such defects are accepted.")
        return [*sentences, *(f"{name} was skipped: {reason}" for name, reason in self.skipped)]


def plan_extension(
    recipe: Recipe,
    photos: Iterable[tuple[str, Path]],
    folders: Sequence[Path],
    inspections: Sequence[LoggedInspection] = (),
    *,
    labels: Mapping[Path, str] = MappingProxyType({}),
) -> ExtensionPlan:
    """The recipe's order with these photos of good parts, (name, path); folders: where its own photos lie.

    inspections: under the recipe; what a person called defective there is a known defect. labels: what names, lists and
    masks say of the new photos (`folders.labels_at`); what they call defective is a known defect too.

    Raises ValueError, with the remedy, for a recipe that does not say what it was taught from, for photos of it that
    are not found, and when nothing is new.
    """
    teaching = recipe.teaching
    if teaching is None:
        reason = "does not record its training photos"
        raise ValueError(f"{recipe.product} {reason}; teach it again from its folder, with the new photos in it")
    original_photos = _own_photos(recipe, teaching, folders)
    learned = {photo.digest for photo in teaching.photos if photo.subset in LEARNED_FROM}
    called = {inspection.digest for inspection in inspections if _truth(inspection) == DEFECT}
    new: dict[str, PhotoFile] = {}
    known, skipped, defective, tested = [], [], [], []

    def looked(item: tuple[str, Path]) -> tuple[str, PhotoFile] | ImageError:
        name, path = item
        try:
            picture = read(path, recipe.depth)
        except ImageError as error:
            return error
        return picture.digest, PhotoFile(path, name, GOOD, picture.pixels.shape[:2], depth=recipe.depth)

    for located in in_order(looked, photos):
        if isinstance(located, ImageError):
            skipped.append((located.name, located.why))
            continue
        digest, sample = located
        if digest in learned or digest in new:
            known.append(sample.name)
        else:
            new[digest] = replace(original_photos[digest][1], label=GOOD) if digest in original_photos else sample
            is_said = labels.get(resolved(sample.path), GOOD) != GOOD
            if is_said or digest in called or (digest in original_photos and original_photos[digest][1].label != GOOD):
                defective.append(sample.name)
            if digest in original_photos and original_photos[digest][0] == "test":
                tested.append(sample.name)
    if not new:
        reason_given = f"{pluralise(len(known), 'photo')} already used" if known else "no readable photo"
        raise ValueError(f"nothing to add: {reason_given}; choose good photos that are new to this recipe")
    split = _split(original_photos.values()).with_labels(new.values())
    names = tuple(sample.name for sample in new.values())
    known_of = tuple(known), tuple(skipped), tuple(defective), tuple(tested)
    return ExtensionPlan(recipe, order_of(recipe, teaching, split), names, *known_of)


def order_of(recipe: Recipe, teaching: TeachingRecord, photos: Split) -> TeachingConfig:
    """The order that taught the recipe, with other photos."""
    check, tolerances = recipe.product_check, teaching.tolerances
    return TeachingConfig(
        recipe.product,
        photos,
        backbone=recipe.backbone.name,
        taps=teaching.taps,
        size=recipe.backbone.size,
        grid=recipe.grid,
        method=fitted_detector(recipe.method),
        parameters=teaching.parameters,
        as_published=recipe.as_published,
        area=recipe.live_values[AREA],
        align=teaching.align,
        align_turn=teaching.align_turn,
        align_shift=teaching.align_shift,
        areas=recipe.areas,
        tiles=recipe.tiles,
        tolerances=None if tolerances is None else _tolerances(tolerances),
        seed=recipe.provenance.seeds.get("split", TeachingConfig.seed),
        product_check=OFF if check is None else check.mode,
        fused_product_check=check is not None and check.fused,
    )


def extend_recipe(
    task: ExtensionPlan, store: FeatureStore, report: Report, workers: Workers = IN_PROCESS, **facts: Any
) -> tuple[Recipe, FittedStudy]:
    """The recipe taught again, unsaved, with suggested limits, and its study; facts: author and reason.

    Equal to the bit to teaching the order from nothing. Known cases, defect types, areas and live values are kept;
    challenge parts are left out, since their photos are to be judged again. Raises ValueError as `teach`.
    """
    recipe = task.recipe
    result = teach(task.order, store, report, workers)
    if result.study.extractor.backbone.weight_digest != recipe.backbone.weight_digest:
        raise ValueError(f"the network's weights are not those of {recipe.product}; put that weights file in place")
    drawn = {photo.digest: photo.drawn for photo in recipe.teaching.photos} if recipe.teaching else {}
    study, _ = result.study.with_known_defects(result.study.scored.drawn(drawn))
    new = study.recipe(
        parent=recipe.digest,
        product=recipe.product,
        known_cases=recipe.known_cases,
        defect_types=recipe.defect_types,
        areas=recipe.areas,
        mm_per_pixel=recipe.mm_per_pixel,
        product_check=result.product_check,
        **facts,
        **recipe.live_values,
    )
    return new, study


def compare_with_previous(
    task: ExtensionPlan,
    old: LoadedRecipe,
    new: Recipe,
    study: FittedStudy,
    inspections: Sequence[LoggedInspection] = (),
    report: Report = ignore_progress,
) -> tuple[VerdictChanges, list[str]]:
    """Which verdicts change of all parts judged before, and sentences on those not judged again.

    Those of its teaching go by their scores, each good one scored by a detector that has not learned from it; defects
    that only chose settings, and the inspected parts whose photo still lies where it lay, are inspected. What a person
    said of an inspected part is its truth, Loupe's own verdict is none.
    """
    inspector = LoadedRecipe(new, study.extractor.backbone)
    before, after = _recorded(old), _recorded(inspector)
    known_parts = [(sample.name, sample.path, "", sample.label, None) for sample in task.order.photos.validation]
    latest = {
        inspection.digest: inspection
        for inspection in reversed(inspections)
        if inspection.score is not None and inspection.digest not in before
    }
    logged = [
        (inspection.name, Path(inspection.path), inspection.digest, _truth(inspection), inspection.verdict)
        for inspection in latest.values()
    ]
    for digest in before.keys() & after.keys():  # a photo learned as good is still what it was known to be
        after[digest] = replace(after[digest], truth=before[digest].truth or after[digest].truth)
    items = [*known_parts, *logged]
    had = inspect_photos(old, [(name, path) for name, path, _, _, verdict in items if verdict is None])
    unseen = 0
    for number, (inspected, (_, _, digest, truth, verdict)) in enumerate(
        zip(inspect_photos(inspector, [(name, path) for name, path, *_ in items]), items, strict=True), 1
    ):
        report(number / len(items), f"judging part {number} of {len(items)} again")
        row = replace(inspected.row, truth=truth)
        row_before = next(had).row if verdict is None else replace(row, verdict=verdict)
        if not row.digest or (digest and row.digest != digest):
            unseen += 1
            continue
        before[row_before.digest], after[row.digest] = replace(row_before, truth=truth), row
    notes = [f"{pluralise(unseen, 'part')} not re-inspected: the photo is missing or has changed."] if unseen else []
    if old.challenge_parts:
        notes.append(f"{pluralise(len(old.challenge_parts), 'challenge part')} to be added again, from new photos.")
    return compare_verdicts(list(before.values()), list(after.values())), notes


def rejected_photos(task: ExtensionPlan, old: LoadedRecipe, photos: Sequence[tuple[str, Path]]) -> list[str]:
    """The names of the photos to add, (name, path), that the recipe rejects: who adds them says that it is wrong."""
    learned = {*task.already_taught, *task.defective}
    rows = [inspected.row for inspected in inspect_photos(old, [photo for photo in photos if photo[0] not in learned])]
    return [row.name for row in rows if row.verdict == "reject"]


def newly_accepted(rows: Sequence[Inspection], new: Recipe) -> list[str]:
    """A sentence for each photo that was not accepted before it was learned, and now is.

    rows: what the former recipe made of the photos; the new one scores each by what has not learned from it.
    """
    now = {part.digest: part.decide(new.limits, stops=new.stops)[0] for part in new.calibration_photos}
    return [
        f"The limit would now accept {row.name}, score {row.score:.3g} before."
        for row in rows
        if row.score is not None and row.verdict != "accept" and now.get(row.digest) == "accept"
    ]


def _recorded(inspector: LoadedRecipe) -> dict[str, Inspection]:
    """By digest, the photos that set or judged the limits of a recipe, by their scores."""
    recipe = inspector.recipe
    rows = {}
    for part in (*recipe.calibration_photos, *recipe.test_photos):
        row = uninspected_row(inspector, part.name)
        verdict, decided_by = part.decide(recipe.limits, stops=recipe.stops)
        rows[part.digest] = replace(
            row,
            digest=part.digest,
            score=part.score,
            verdict=verdict,
            decided_by=decided_by,
            reason=decided_by.text(),
            never_accepted=part.never_accepted,
            truth=part.label,
        )
    return rows


def _own_photos(
    recipe: Recipe, teaching: TeachingRecord, folders: Sequence[Path]
) -> dict[str, tuple[str, PhotoFile, str]]:
    """(set, photo, group) of every photo it was taught from, by digest. Raises ValueError for missing ones."""
    by_digest = by_content(teaching.photos, folders, recipe.depth)
    if missing := [photo.name for photo in teaching.photos if photo.digest not in by_digest]:
        raise ValueError(
            f"{len(missing)} of the {len(teaching.photos)} training photos of {recipe.product} were not found "
            f"({join_first_names(missing)}); all are needed because everything is retrained: specify their folder with "
            "--photos"
        )
    masks = {photo: mask for folder in folders if folder.is_dir() for photo, mask in masks_in(folder).items()}
    photos = {}
    for recorded in teaching.photos:
        path, size = by_digest[recorded.digest]
        sample = PhotoFile(path, recorded.name, recorded.label, size, masks.get(path), depth=recipe.depth)
        photos[recorded.digest] = recorded.subset, sample, recorded.group
    return photos


def _split(original_photos: Collection[tuple[str, PhotoFile, str]]) -> Split:
    train, calibration, validation, test = (
        tuple(sample for subset, sample, _ in original_photos if subset == name) for name in SUBSETS
    )
    groups = {sample.name: group for _, sample, group in original_photos if group}
    return Split(train, calibration, test, groups=groups, validation=validation)


def _tolerances(recorded: Mapping[str, float]) -> Tolerances:
    """The tolerances that a recipe records. Raises ValueError for names that are not those of tolerances."""
    if recorded.keys() != (names := {field.name for field in fields(Tolerances)}):
        raise ValueError(f"the recipe's tolerances are {sorted(recorded)}, not {sorted(names)}; teach it again")
    values: dict[str, Any] = dict(recorded)
    return Tolerances(**values | {name: int(values[name]) for name in ("jpeg", "copies", "seed")})


def _truth(inspection: LoggedInspection) -> str:
    if inspection.override is None:
        return ""
    return {"accept": GOOD, "reject": DEFECT}.get(inspection.final_verdict, "")
