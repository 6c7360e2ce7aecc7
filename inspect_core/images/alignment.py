"""Alignment: a reference learned from good photos, and where the part lies in another photo, if it is found.

The reference is the median of the good photos, laid over the one that most resembles the others. A part counts as found
by its geometry: within a range of shifts and turns enough details agree, all over the part. How it looks there is for
the detector; only a part without details, found by phase correlation, must correlate with the reference. A long part is
located by its outline where that fits the good photos better than its details do.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import cv2
import numpy as np

from inspect_core.images import registration
from inspect_core.images.decode_memory import max_megapixels
from inspect_core.images.part_pose import PartPose, resized
from inspect_core.images.reference import FEWEST_PHOTOS, FoundPose, Reference, RegistrationImage, pick_medoid
from inspect_core.runtime.json_record import FINITE, FLAG, Rules, list_of, number, one_of, pair, whole
from inspect_core.runtime.progress import Report, ignore_progress, stage
from inspect_core.runtime.stored import ArraySpec, floats
from inspect_core.runtime.threads import parallel_map

SIDE = 256  # pixels of the longer side of the photo in which a part is searched
_SEEN = 200  # photos that the ranges are learned from
_CANDIDATES = 8  # photos of which one is laid under the others
_MEDIAN = 40  # photos in the median
_FLAT = 4.0  # grey levels: the spread of a picture without texture
_OTHER_SHAPE = 0.02  # of the ratio of the sides
_BETTER = 0.003  # of correlation, by which outlines must fit better than details
_APART = 0.05  # below the median correlation, at which a good photo counts as not found
_OUTLINES_APART = 0.1  # the same for outlines
_ROUND = 0.9  # least correlation of a round part with itself, turned by these degrees
_TRIED = (23, 51, 97)
_RIM = 11  # pixels, twice the width of an outline that is not yet the part
_LOST = 0.2  # share of the good photos that may stay without a pose
_ROOM = 0.25  # of a range, left free on both sides
TURN = 10.0  # degrees by which a part may at least be turned
SHIFT = 0.1  # share of the picture by which it may at least be shifted
MAX_ROTATION_DEGREES = 180.0
MOST_SHIFT = 0.5
_SCALE = 0.05  # by which it may at least be smaller or larger, where it may be at all
_ENOUGH = 0.54  # of the median share of details in agreement in a good photo
_LEAST = 0.9  # of the least
_PLAIN = ("scale", "photos_seen", "photos_not_located", "outlined")
_MEASURED = {
    "x": (0.02, "the part is shifted sideways by {}", 0, "%"),
    "y": (0.02, "the part is shifted up or down by {}", 0, "%"),
    "angle": (2.0, "the part is rotated by {}", 1, "°"),
    "scale": (0.005, "the part is scaled by {}", 3, ""),
    "share": (0.15, "{} of the features match the reference", 0, "%"),
    "correlation": (0.03, "the correlation with the reference is {}", 2, ""),
    "visible": (0.02, "{} of the part is in view", 0, "%"),
}
"""The values whose ranges are stored: the least room left free on both sides, words for a photo outside, and the
decimals and unit in which the value is told."""
_OPEN_ABOVE = ("share", "correlation", "visible")


@dataclass(frozen=True)
class ValueRange:
    """The lowest and the highest value that a photo may have."""

    low: float
    high: float


class NotLocated(ValueError):
    """A photo in which the part was not found; the message says why."""


class NoAlignment(ValueError):
    """Good photos from which no alignment can be learned; the message says why."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """A reference, and the ranges found in good photos.

    reference: (h, w, 3) uint8; mask: (h, w) bool, what most good photos cover; coverage_mask: (h, w) bool, what nearly
    all cover, less a margin for the reach of patches and smoothing: only there parts are inspected; photo_size:
    (height, width) of the photos learned from, in whose pixels positions on the reference are given; scale: whether
    parts may be nearer or farther; ranges: of x and y (shares of the width and height), angle (degrees), scale, share
    (of matched features in agreement), correlation, and visible (share of the mask that the photo covers);
    symmetry_angles: degrees by which the part can be turned and look the same; photos_seen, photos_not_located: good
    photos learned from, and those of them without a pose; outlined: whether it is located by its outline, whose
    correlation is then the one measured.
    """

    reference: np.ndarray
    mask: np.ndarray
    coverage_mask: np.ndarray
    photo_size: tuple[int, int]
    scale: bool
    ranges: Mapping[str, ValueRange]
    symmetry_angles: tuple[int, ...] = ()
    photos_seen: int = 0
    photos_not_located: int = 0
    outlined: bool = False

    def locate(self, pixels: np.ndarray) -> PartPose | None:
        """Where the part lies in a photo, (H, W, 3) uint8 of any size; None when it is not found."""
        try:
            return self.locate_or_raise(pixels)
        except NotLocated:
            return None

    def locate_or_raise(self, pixels: np.ndarray) -> PartPose:
        """As `locate`, but raises NotLocated, which says why, when the part is not found."""
        height, width = pixels.shape[:2]
        if not _are_alike((height, width), self.photo_size):
            raise NotLocated(
                f"the photo is {width} × {height} px, and the reference {self.photo_size[1]} × {self.photo_size[0]}"
            )
        small = _small(pixels, self.mask.shape)
        if small.grey.std() < _FLAT:
            raise NotLocated("the photo is uniform and shows no structure")
        match = self._reference.pose(small)
        if match is None:
            raise NotLocated("nothing in the photo matches the reference")
        coarse, pose, agreement = match
        middle = np.array([(self.mask.shape[1] - 1) / 2, (self.mask.shape[0] - 1) / 2, 1])
        if coarse.second is not None and np.linalg.norm((coarse.second - pose) @ middle) > min(self.mask.shape) / 4:
            raise NotLocated("there are two parts in the photo")
        located = self._located(pose, (height, width), coarse.share, agreement)
        for name, value in _measured(located).items():
            allowed = self.ranges.get(name, ValueRange(-np.inf, np.inf))
            if not allowed.low <= value <= allowed.high:
                raise NotLocated(_outside(name, value, allowed))
        return located

    def sentences(self) -> list[str]:
        """Where and by what the part is found, in sentences for the user."""
        names = ("x", "y", "angle", "scale", "share", "correlation")
        x, y, angle, scale, share, correlation = (self.ranges[name] for name in names)
        sizes = f", {scale.low:.3f} to {scale.high:.3f} times as large" if self.scale else ""
        needs = f"At least {max(share.low, 0):.0%} of the part's features must match the reference"
        if self.outlined:
            needs = f"Its outline must correlate with that of the reference by {correlation.low:.2f} or more"
        elif correlation.low > -1:
            needs += f", with a correlation of at least {correlation.low:.2f}"
        all_round = angle.high - angle.low >= 2 * MAX_ROTATION_DEGREES
        turned = "at any angle" if all_round else f"{angle.low:.1f}° to {angle.high:.1f}°"
        located = self.photos_seen - self.photos_not_located
        inspected = f"{self.coverage_mask.mean():.0%} of the reference is inspected"
        sentences = [
            f"The part was located in {located} of {self.photos_seen} good photos. Search range: {x.low:.0%} to "
            f"{x.high:.0%} of the width, {y.low:.0%} to {y.high:.0%} of the height and {turned}{sizes}.",
            f"{needs}.",
            f"{inspected}: the area visible in nearly all good photos.",
        ]
        if alike := " or ".join(f"{turn}°" for turn in self.symmetry_angles):
            sentences.append(
                f"The part looks the same when rotated by {alike}: Loupe cannot distinguish these orientations."
            )
        return sentences

    def arrays(self) -> dict[str, np.ndarray]:
        """reference (h, w, 3), mask and coverage_mask (h, w), uint8."""
        masks = {name: getattr(self, name).astype(np.uint8) for name in ("mask", "coverage_mask")}
        return {"reference": self.reference, **masks}

    def known(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: `coverage_mask` at the size of a map."""
        return cv2.resize(self.coverage_mask.astype(np.uint8), size[::-1], interpolation=cv2.INTER_NEAREST) > 0

    @cached_property
    def digest(self) -> str:
        """A digest of all fields."""
        digest = hashlib.sha256(json.dumps(self.params(), sort_keys=True).encode())
        for name, values in self.arrays().items():
            digest.update(f"{name}{values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def params(self) -> dict[str, Any]:
        """All other fields, JSON-able."""
        ranges = {name: asdict(value) for name, value in self.ranges.items()}
        lists = {name: list(getattr(self, name)) for name in ("photo_size", "symmetry_angles")}
        return {name: getattr(self, name) for name in _PLAIN} | lists | {"ranges": ranges}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping[str, Any]) -> Self:
        """The inverse of `arrays` and `params`. Raises ValueError for arrays of other shapes or types."""
        reference = arrays["reference"]
        masks = (arrays["mask"], arrays["coverage_mask"])
        shape = reference.shape
        if reference.dtype != np.uint8 or shape[2:] != (3,) or not 8 <= min(shape[:2]) <= max(shape[:2]) <= SIDE:
            raise ValueError(f"the reference is {reference.dtype} of shape {shape}; it must be uint8 (h, w, 3)")
        if any(mask.dtype != np.uint8 or mask.shape != shape[:2] or not mask.any() for mask in masks):
            raise ValueError("a mask of the reference is empty, or not uint8 of its shape")
        ranges = {name: ValueRange(**value) for name, value in params["ranges"].items()}
        if set(ranges) != set(_MEASURED):
            raise ValueError(f"there are ranges of {sorted(ranges)}; they must be those of {sorted(_MEASURED)}")
        height, width = params["photo_size"]
        if not _are_alike((height, width), shape[:2]) or height * width > 1e6 * max_megapixels():
            raise ValueError(f"photos of {width} × {height} px are too large, or not of the shape of the reference")
        mask, coverage_mask = (mask > 0 for mask in masks)
        plain = {name: params[name] for name in _PLAIN}
        angles = tuple(params["symmetry_angles"])
        return cls(reference, mask, coverage_mask, (height, width), ranges=ranges, symmetry_angles=angles, **plain)

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """As `Stored.array_specs`."""
        mask = floats("down across", 0, 1, ("U8",))
        return {"reference": floats("down across 3", 0, 255, ("U8",)), "mask": mask, "coverage_mask": mask}

    @classmethod
    def rules(cls) -> Rules:
        """As `Stored.rules`."""
        allowed = {"x": number(-2, 2), "y": number(-2, 2), "angle": number(-720, 720)}
        return {
            "photo_size": pair(whole(1)),
            "scale": FLAG,
            "ranges": {name: dict.fromkeys(("low", "high"), allowed.get(name, FINITE)) for name in _MEASURED},
            "symmetry_angles": list_of(one_of(90, 180, 270)),
            "photos_seen": whole(0),
            "photos_not_located": whole(0),
            "outlined": FLAG,
        }

    @cached_property
    def _reference(self) -> Reference:
        return Reference(self.reference, self.mask, self.coverage_mask, self.scale, self.outlined)

    def _located(self, pose: np.ndarray, size: tuple[int, int], share: float, agreement: float) -> PartPose:
        small = self.mask.shape
        covered = registration.warp_onto(np.zeros(small, np.uint8), pose, small)[1]
        visible = float(covered[self.mask].mean()) if self.mask.any() else 0.0
        in_photo = registration.compose_poses(
            resized(small, size), registration.compose_poses(pose, resized(self.photo_size, small))
        )
        matrix = cv2.invertAffineTransform(in_photo)
        return PartPose(matrix, size, self.photo_size, agreement, share, visible, ambiguous=bool(self.symmetry_angles))


def learn_alignment(
    photos: Iterable[np.ndarray],
    *,
    scale: bool = False,
    turn: float = TURN,
    shift: float = SHIFT,
    report: Report = ignore_progress,
) -> Alignment:
    """The alignment of good photos, (H, W, 3) uint8, processed one after the other.

    Photos may differ in size, not in the ratio of their sides; up to a fifth that do are left out. scale: whether the
    part may be nearer or farther; turn, shift: degrees and share of the picture by which it may be turned and shifted,
    or as far as in the good photos if that is farther. Raises NoAlignment for fewer than FEWEST_PHOTOS, photos of
    different shapes and photos in which no part is found again, ValueError for a turn or shift out of bounds, and
    whatever `report` raises to stop.
    """
    if not (0 <= turn <= MAX_ROTATION_DEGREES and 0 <= shift <= MOST_SHIFT):
        remedy = f"give 0° to {MAX_ROTATION_DEGREES:g}° and 0% to {MOST_SHIFT:.0%} of the picture"
        raise ValueError(f"rotation {turn:g}° or shift {shift:.0%} is out of range; {remedy}")
    small_photos = [(pixels.shape[:2], _small(pixels, _working_size(pixels.shape[:2]))) for pixels in photos]
    if len(small_photos) < FEWEST_PHOTOS:
        raise NoAlignment(f"there are {len(small_photos)} photos; alignment needs at least {FEWEST_PHOTOS}")
    photo_size = sorted((size for size, _ in small_photos), key=_ratio)[len(small_photos) // 2]
    shape = _working_size(photo_size)
    smalls = [
        small if small.picture.shape[:2] == shape else _small(small.picture, shape)
        for size, small in small_photos
        if _are_alike(size, photo_size)
    ]
    if len(smalls) < (1 - _LOST) * len(small_photos):
        raise NoAlignment("the photos have different shapes; alignment needs photos of one ratio of width and height")
    if np.median([small.picture.std() for small in smalls]) < _FLAT:
        raise NoAlignment("the photos are uniform; there is nothing to align to")
    bounds = {"scale": scale, "turn": turn, "shift": shift}
    if not _are_long(smalls):
        return _learned(smalls, photo_size, report, outlined=False, **bounds)[0]
    first, second = stage(report, 0.0, 0.5), stage(report, 0.5, 1.0)
    try:
        by_outline, outline_poses = _learned(smalls, photo_size, first, outlined=True, **bounds)
    except NoAlignment:
        return _learned(smalls, photo_size, second, outlined=False, **bounds)[0]
    try:
        by_details, detail_poses = _learned(smalls, photo_size, second, outlined=False, **bounds)
    except NoAlignment:
        return by_outline
    is_better = _fit(by_outline, smalls, outline_poses) > _fit(by_details, smalls, detail_poses) + _BETTER
    return by_outline if is_better else by_details


def _are_long(smalls: Sequence[RegistrationImage]) -> bool:
    """Whether nearly all photos show one long part, wholly in view."""
    outlines = [small.outline for small in _evenly(smalls, _MEDIAN)]
    return sum(outline is not None and outline.is_long for outline in outlines) >= (1 - _LOST) * len(outlines)


def _is_round(small: RegistrationImage) -> bool:
    """Whether the part in a photo has no angle: it looks the same turned about its middle."""
    if (outline := small.outline) is None or outline.is_long:
        return False
    part = cv2.erode(outline.fill, np.ones((_RIM, _RIM), np.uint8)) > 0.5
    return all(
        registration.correlation(small.grey, part, small.grey, outline.turned(degrees)) >= _ROUND for degrees in _TRIED
    )


def _fit(alignment: Alignment, smalls: Sequence[RegistrationImage], poses: Sequence[FoundPose | None]) -> float:
    """Correlation of the outlines of photos, as they are laid over the reference, with its own: of all but a tenth.

    poses: of the photos that the ranges are learned from, as `_learned` returns them.
    """
    reference = alignment._reference.outline
    correlations = []
    for small, pose in zip(_evenly(smalls, _SEEN), poses, strict=True):
        both = pose is not None and reference is not None and small.outline is not None
        correlations.append(reference.agreement(small.outline, pose[1]) if both else 0.0)
    return float(np.quantile(correlations, 0.1))


def _learned(
    smalls: Sequence[RegistrationImage],
    size: tuple[int, int],
    report: Report,
    *,
    scale: bool,
    turn: float,
    shift: float,
    outlined: bool,
) -> tuple[Alignment, list[FoundPose | None]]:
    """As `learn_alignment`, from photos of this (height, width) at working size; the poses are those of the photos that
    the ranges are learned from.
    """
    if _is_round(smalls[0]):
        raise NoAlignment("the part is round and looks the same however it is turned")
    reference = pick_medoid(_evenly(smalls, _CANDIDATES), stage(report, 0.0, 0.2), scale=scale, outlined=outlined)
    for begin in (0.2, 0.4):
        step = stage(report, begin, begin + 0.2)
        reference = reference and reference.median_reference(_evenly(smalls, _MEDIAN), step)
    if reference is None:
        raise _unreliable_alignment_error(0, len(smalls))
    trials = _evenly(smalls, _SEEN)
    trial_poses = parallel_map(reference.pose, trials, stage(report, 0.6, 1.0))
    poses = [pose for pose in trial_poses if pose is not None]
    apart = _OUTLINES_APART if outlined else _APART
    agreeing = np.median([agreement for _, _, agreement in poses]) - apart if poses else 0.0
    poses = [candidate for candidate in poses if candidate[2] >= agreeing]
    lost = len(trials) - len(poses)
    if lost > _LOST * len(trials):
        raise _unreliable_alignment_error(len(poses), len(trials))
    pictures = reference.picture, reference.mask, reference.always
    least = Alignment(*pictures, size, scale, {}, photos_seen=len(trials), photos_not_located=lost, outlined=outlined)
    measured = [_measured(least._located(pose, size, coarse.share, agreement)) for coarse, pose, agreement in poses]
    ranges = {name: _range(name, [values[name] for values in measured]) for name in _MEASURED}
    correlation = ranges["correlation"].low
    if not outlined and reference.repeats(correlation):
        raise _unreliable_alignment_error(len(poses), len(trials))
    if not reference.always.any():
        raise NoAlignment("no area is visible in nearly all good photos; part positions vary too much")
    for name, middle, reach in (("x", 0, shift), ("y", 0, shift), ("angle", 0, turn), ("scale", 1, _SCALE)):
        wide = ranges[name]
        ranges[name] = ValueRange(min(wide.low, middle - reach), max(wide.high, middle + reach))
    x, y, angle = ((ranges[name].low, ranges[name].high) for name in ("x", "y", "angle"))
    ranges["visible"] = ValueRange(min(ranges["visible"].low, reference.least_visible(x, y, angle)), 1.0)
    shares = [values["share"] for values in measured]
    if (enough := min(_ENOUGH * float(np.median(shares)), _LEAST * min(shares))) > 0:
        ranges |= {"share": ValueRange(enough, 1.0), "correlation": ValueRange(-1.0, 1.0)}
    return replace(least, ranges=ranges, symmetry_angles=reference.turns(correlation)), trial_poses


def _ratio(size: Sequence[int]) -> float:
    """Height over width."""
    return size[0] / size[1]


def _are_alike(size: Sequence[int], other: Sequence[int]) -> bool:
    """Whether photos of these (height, width) have the same shape, whatever their size."""
    return abs(np.log(_ratio(size) / _ratio(other))) <= _OTHER_SHAPE


def _working_size(size: tuple[int, int]) -> tuple[int, int]:
    """The (height, width) in which a part is searched in a photo of this one."""
    share = SIDE / max(size)
    return max(8, round(size[0] * share)), max(8, round(size[1] * share))


def _small(pixels: np.ndarray, shape: tuple[int, int]) -> RegistrationImage:
    return RegistrationImage(cv2.resize(pixels, shape[::-1], interpolation=cv2.INTER_AREA))


def _evenly(photos: Sequence[RegistrationImage], most: int) -> list[RegistrationImage]:
    return [photos[i] for i in np.unique(np.linspace(0, len(photos) - 1, most).astype(int))]


def _unreliable_alignment_error(located_count: int, count: int) -> NoAlignment:
    reason = "it has too little structure or a repeating pattern"
    return NoAlignment(f"the part was located in {located_count} of {count} good photos, but not reliably: {reason}")


def _outside(name: str, value: float, allowed: ValueRange) -> str:
    """Why the photo is refused, with as many decimals as tell its value from the bound that it misses."""
    _, words, least, unit = _MEASURED[name]
    bound = allowed.low if value < allowed.low else allowed.high
    tellers = [partial(_format_value, decimals=decimals, unit=unit) for decimals in range(least, 16)]
    formatted = next((tell for tell in tellers if tell(value) != tell(bound)), tellers[-1])
    most = "or more" if name in _OPEN_ABOVE else f"to {formatted(allowed.high)}"
    return f"{words.format(formatted(value))}; accepted: {formatted(allowed.low)} {most}"


def _format_value(value: float, decimals: int, unit: str) -> str:
    return f"{value:.{decimals}%}" if unit == "%" else f"{value:.{decimals}f}{unit}"


def _measured(located: PartPose) -> dict[str, float]:
    """The values whose ranges are stored."""
    others = ("angle", "scale", *_OPEN_ABOVE)
    return dict(zip("xy", located.shift, strict=True)) | {name: getattr(located, name) for name in others}


def _range(name: str, values: Sequence[float]) -> ValueRange:
    """The range of the values, widened on both sides in proportion to their spread."""
    room = max(_ROOM * (max(values) - min(values)), _MEASURED[name][0])
    return ValueRange(min(values) - room, 1.0 if name in _OPEN_ABOVE else max(values) + room)
