"""What teaching an order is going to do and what that costs: decided first, then shown, printed and done."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import DEFAULT_METHOD, IN_TILES, METHODS, methods_in, methods_of, title_of
from inspect_core.runtime.wording import duration, pluralise
from inspect_core.study.study import Study
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.time_estimates import StepTimes
from inspect_core.tuning.place import in_words, place_of, preferred, preferred_in_tiles
from inspect_core.tuning.shortlist import Shortlist
from inspect_core.tuning.synthetic_trial import COMPARISON_DEFECTS
from inspect_core.whole_part.product_check import OFF

NAMED, BY_DEFECTS, BY_PLACE, ALONE, COMPARED = "named", "by defects", "by place", "alone", "compared"
"""How the detector is chosen: by the user, by known defects, by how parts lie; there is but one; all are compared."""
JUDGING = 0.3
"""Seconds per detector in a comparison."""
JUDGING_PHOTO = 0.0095
"""Seconds per photo it is judged on: figures and intervals."""
RUNNING_APP = 700 << 20


@dataclass(frozen=True)
class TeachingCost:
    """seconds where nothing else runs; memory at its peak and disk, in bytes; engine: of the backbone; fits_store:
    whether the features of all photos do.
    """

    seconds: float
    memory: int
    disk: int
    engine: str
    fits_store: bool

    def sentence(self) -> str:
        """The figures."""
        sentence = (
            f"Teaching takes about {duration(self.seconds)} on an idle machine ({self.engine}) and needs up to "
            f"{self.memory / 2**20:.0f} MB of memory and {self.disk / 2**20:.0f} MB on disk."
        )
        if self.fits_store:
            return sentence
        too_small = "The feature cache is too small for all photos, so training photos are processed one by one"
        return f"{sentence} {too_small} (slower)."


@dataclass(frozen=True, eq=False)
class TeachingPlan:
    """Everything that is decided before a photo is read, but alignment, which `alignment_training` tries on photos.

    order: as it is fitted; study: what is extracted and fitted, unfitted yet: by the detector where one is known, else
    by the methods of all in question, one by one; detectors: those in question; chosen_by: one of NAMED, BY_DEFECTS,
    BY_PLACE, ALONE, COMPARED; reason: why the detector is this one, None where it was named or is not known yet;
    shortlist: with those left out as too slow.
    """

    order: TeachingConfig
    study: Study
    detectors: tuple[str, ...]
    chosen_by: str
    reason: str | None
    shortlist: Shortlist

    @classmethod
    def from_order(cls, order: TeachingConfig, store: FeatureStore, workers: Workers = IN_PROCESS) -> "TeachingPlan":
        """The plan of teaching an order.

        Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching would take more memory
        than it may, and as `TeachingConfig.as_fitted`.
        """
        order = order.as_fitted()
        shortlist = Shortlist.from_budget(order.grid, order.parameters, budget=order.budget)
        default = METHODS[DEFAULT_METHOD].title
        reason = None
        if order.method is not None:
            chosen_by, detectors = NAMED, (order.method,)
        elif order.tiles is not None:
            chosen_by, detectors = BY_PLACE, IN_TILES
        elif not order.setters or not shortlist.candidates:
            chosen_by, detectors = ALONE, (DEFAULT_METHOD,)
            reason = f"Too few photos to choose a detector by; {default} needs the fewest."
        elif order.photos.validation:
            chosen_by, detectors = BY_DEFECTS, tuple(shortlist.candidates)
        else:
            chosen_by, detectors = BY_PLACE, shortlist.to_begin_with
        known = chosen_by in (NAMED, ALONE) or order.tiles is not None
        study = study_of(order, detectors[0] if known else methods_in(detectors), store, workers)
        return cls(order, study, detectors, chosen_by, reason, shortlist)

    @classmethod
    def to_compare(
        cls, order: TeachingConfig, store: FeatureStore, detectors: Sequence[str], workers: Workers = IN_PROCESS
    ) -> "TeachingPlan":
        """The plan of comparing detectors on the photos of an order. Raises as `from_order`."""
        shortlist = Shortlist.from_budget(order.grid, order.parameters, budget=order.budget)
        study = study_of(order, methods_in(detectors), store, workers)
        return cls(order, study, tuple(detectors), COMPARED, None, shortlist)

    def sentence(self) -> str:
        """How the detector is chosen."""
        titles = [title_of(detector) for detector in self.detectors]
        if self.chosen_by == BY_DEFECTS:
            defects = pluralise(len(self.study.split.validation), "known defect")
            return f"The detector is chosen from {len(titles)} by {defects}."
        if self.chosen_by == BY_PLACE:
            either = f"{', '.join(titles[:-1])} or {titles[-1]}" if titles[1:] else titles[0]
            return f"The detector is chosen by how the parts lie: {either}."
        return self.reason or f"Detector: {', '.join(titles)}."

    def cost(self) -> TeachingCost:
        """The cost, from timing one grey photo here, then multiplied.

        The photos to fit go through the network twice: for their patches, and as a whole for the product check; a photo
        takes one run per tile.
        """
        study = self.study
        is_compared = self.chosen_by == COMPARED
        expected = study.expected(COMPARISON_DEFECTS if is_compared else 0)
        seconds = seconds_with_product_check(study, expected)
        if is_compared:
            seconds += expected.pace * comparison_seconds(len(self.detectors), len(study.order.scored))
        disk = study.extractor.bytes_per_photo * (len(study.split.train) + len(study.order.scored))
        memory, engine = RUNNING_APP + study.costs.memory, study.extractor.backbone.engine
        return TeachingCost(seconds, memory, disk, engine, study.store.would_fit(disk))

    def chosen_by_place(self, study: Study) -> tuple[Study, str]:
        """The unfitted study of the detector that suits how the parts of its extracted photos lie, and why; with tiles
        the photos as a whole tell.
        """
        whole = study if self.order.tiles is None else study_of(self.order.untiled(), DEFAULT_METHOD, study.store)
        place = place_of(whole) if len(self.detectors) > 1 else None
        tiled = self.order.tiles is not None
        detector = preferred_in_tiles(place) if tiled else preferred(place, self.detectors)
        others = f"Compare tries all others on your photos. {self.shortlist.sentence()}"
        reason = f"Detector: {title_of(detector)}.\n{in_words(place, tiled=tiled)}{others}"
        return study.with_method(detector, *self.order.network(methods_of(detector))), reason.strip()


def study_of(
    order: TeachingConfig, method: str | tuple[str, ...], store: FeatureStore, workers: Workers = IN_PROCESS
) -> Study:
    """The unfitted study of an order by a detector, or by methods that are fitted one by one. Raises as `Study`."""
    methods = methods_of(method) if isinstance(method, str) else method
    backbone, taps = order.network(methods)
    order = replace(order, parameters=order.parameters_for(methods))
    return Study.from_order(order, backbone, store, taps=taps, workers=workers, method=method)


def seconds_with_product_check(study: Study, expected: StepTimes) -> float:
    """The seconds that all steps of teaching are expected to take: those of a study, and learning the product."""
    return expected.total + (0.0 if study.order.product_check == OFF else len(study.split.train) * expected.photo)


def comparison_seconds(detectors: int, shown: int) -> float:
    """The seconds that the figures of so many detectors on so many photos are expected to take."""
    return detectors * (JUDGING + JUDGING_PHOTO * shown)
