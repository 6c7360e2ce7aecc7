"""The picture by which parts are located: the median of good photos, and the pose of a part relative to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import cv2
import numpy as np

from inspect_core.images import registration
from inspect_core.images.outline import Outline
from inspect_core.images.registration import CoarsePose, Keypoints
from inspect_core.runtime.progress import Report
from inspect_core.runtime.threads import parallel_map

FEWEST_PHOTOS = 3
Pair = tuple[float, float]
FoundPose = tuple[CoarsePose, np.ndarray, float]
"""Coarse pose, fine pose and how far the pictures agree in it, up to 1."""
_TURNS = (90, 180, 270)  # degrees
_ALIKE = 0.5  # least correlation, in the median, of photos of one part
_SAME = 0.9  # least correlation of a picture with itself turned by half, in which nothing tells the two apart
_ALWAYS = 0.95  # of the good photos
_MARGIN = 0.04  # of the longer side: the reach of half a patch and of the smoothing of a map
_MARGIN_OUTLINED = 0.07  # the reach of the network: an outlined part is wholly in view and loses nothing by it


@dataclass(frozen=True, eq=False)
class RegistrationImage:
    """picture: (h, w, 3) uint8, a photo at working size; what is found in it is found once, however often compared."""

    picture: np.ndarray

    @cached_property
    def grey(self) -> np.ndarray:
        """(h, w) uint8 brightness."""
        return cv2.cvtColor(self.picture, cv2.COLOR_RGB2GRAY)

    @cached_property
    def features(self) -> Keypoints:
        """All over the picture."""
        return Keypoints.from_image(self.grey)

    @cached_property
    def outline(self) -> Outline | None:
        """Of the part, None where none is wholly in view."""
        return Outline.from_picture(self.picture)


@dataclass(frozen=True, eq=False)
class Reference(RegistrationImage):
    """mask: (h, w) bool, where the picture counts; always: (h, w) bool, what nearly every good photo covers, and all
    around it, of an outlined part also the part and its rim alone; scale: whether a part may be nearer or farther;
    outlined: whether it is located by its outline.
    """

    mask: np.ndarray
    always: np.ndarray
    scale: bool
    outlined: bool = False

    @cached_property
    def features(self) -> Keypoints:
        """Those that count."""
        return Keypoints.from_image(self.grey, self.mask)

    def turns(self, lowest: float) -> tuple[int, ...]:
        """By which degrees the part (else the picture) can be turned and match itself at least `lowest`."""
        if self.outlined:
            ways = [] if self.outline is None else self.outline.poses(self.outline, scale=False)
            alike = [registration.correlation(self.grey, self.mask, self.grey, pose) for _, pose, _ in ways]
            return (180,) if len(alike) == 2 and min(alike) >= _SAME else ()
        starts = {
            turn: self.outline.turned(turn)
            if self.outline
            else registration.rotation_about_centre(self.grey.shape, turn)
            for turn in _TURNS
        }
        fine = {
            turn: registration.refine_pose(self.grey, self.mask, self.grey, start) for turn, start in starts.items()
        }
        return tuple(turn for turn, match in fine.items() if match is not None and match[1] >= lowest)

    def repeats(self, lowest: float) -> bool:
        """Whether its middle correlates at least `lowest`, as good photos must, with another place on it."""
        height, width = self.grey.shape
        middle = self.grey[height // 4 : height - height // 4, width // 4 : width - width // 4]
        alike = cv2.matchTemplate(self.grey, middle, cv2.TM_CCOEFF_NORMED)
        near = tuple(slice(side // 4 - side // 8, side // 4 + side // 8 + 1) for side in (height, width))
        alike[near] = -1
        return bool(alike.max() >= lowest)

    def least_visible(self, x: Pair, y: Pair, angle: Pair) -> float:
        """The least share of the mask that a photo covers at the ends of these ranges of shift and turn."""
        height, width = self.mask.shape
        shares = []
        for right, down, degrees in product(x, y, angle):
            pose = registration.rotation_about_centre(self.mask.shape, degrees)
            pose[:, 2] += right * width, down * height
            _, covered = registration.warp_onto(self.grey, pose, self.grey.shape)
            shares.append(covered[self.mask].mean())
        return float(min(shares))

    def median_reference(self, smalls: Sequence[RegistrationImage], report: Report) -> "Reference | None":
        """The median of these photos, in their median pose; None when the part is found on too few of them.

        The mask is what most of them cover. The ground beside an outlined part is not inspected.
        """
        poses = parallel_map(self.pose, smalls, report)
        located = [(small, pose[1]) for small, pose in zip(smalls, poses, strict=True) if pose is not None]
        if len(located) < FEWEST_PHOTOS:
            return None
        back = cv2.invertAffineTransform(_median_pose([pose for _, pose in located], self.grey.shape))
        laid = [(small, registration.compose_poses(pose, back)) for small, pose in located]
        warped, covers = zip(
            *(registration.warp_onto(small.picture, pose, self.grey.shape) for small, pose in laid), strict=True
        )
        covered = np.mean(covers, axis=0)
        margin = _square(_MARGIN_OUTLINED if self.outlined else _MARGIN, covered.shape)
        always = cv2.erode((covered >= _ALWAYS).astype(np.uint8), margin) > 0
        if self.outlined:
            outlines = [(small.outline, pose) for small, pose in laid]
            fills = [registration.warp_onto(part.fill, pose, self.grey.shape)[0] for part, pose in outlines if part]
            part = np.mean(np.stack(fills) > 0.5, axis=0) > 1 - _ALWAYS
            always &= cv2.dilate(part.astype(np.uint8), _square(_MARGIN, covered.shape)) > 0
        return Reference(_median_where(warped, covers), covered > 0.5, always, self.scale, self.outlined)

    def pose(self, small: RegistrationImage) -> FoundPose | None:
        """The coarse pose, the fine one and its correlation; by phase correlation where features lead nowhere.

        Of an outlined one the correlation of the outlines; where both directions fit, that in which the pictures agree.
        """
        if self.outlined:
            if self.outline is None or small.outline is None:
                return None
            poses = self.outline.poses(small.outline, scale=self.scale)
            return max(poses, key=lambda pose: registration.correlation(self.grey, self.mask, small.grey, pose[1]))
        refined = self._refined(
            small.grey, registration.poses_from_keypoints(self.features, small.features, scale=self.scale)
        )
        return refined or self._refined(small.grey, registration.poses_from_phase(self.grey, small.grey))

    def _refined(self, grey: np.ndarray, starts: Sequence[CoarsePose]) -> FoundPose | None:
        """The pose near that of these which agrees best after a few steps."""
        if len(starts) > 1:
            rough = [(self._near(grey, coarse, registration.ROUGH), coarse) for coarse in starts]
            near = [(refined, coarse) for refined, coarse in rough if refined is not None]
            if not near:
                return None
            (pose, _), coarse = max(near, key=lambda candidate: candidate[0][1])
            starts = [coarse._replace(pose=pose)]
        poses = ((coarse, self._near(grey, coarse)) for coarse in starts)
        return next(((coarse, *fine) for coarse, fine in poses if fine is not None), None)

    def _near(
        self, grey: np.ndarray, coarse: CoarsePose, steps: int = registration.FINE
    ) -> tuple[np.ndarray, float] | None:
        """As `refine_pose`, in at most so many steps."""
        return registration.refine_pose(self.grey, self.mask, grey, coarse.pose, alike=coarse.share > 0, steps=steps)


def pick_medoid(
    smalls: Sequence[RegistrationImage], report: Report, *, scale: bool, outlined: bool
) -> Reference | None:
    """The photo that agrees best with the others, in the median; None when no part is common to them."""
    everywhere = np.ones(smalls[0].grey.shape, bool)
    candidates = [Reference(small.picture, everywhere, everywhere, scale, outlined) for small in smalls]
    agreement = np.full((len(smalls), len(smalls)), np.nan)
    pairs = list(combinations(range(len(smalls)), 2))
    poses = parallel_map(lambda pair: candidates[pair[0]].pose(smalls[pair[1]]), pairs, report)
    for (first, other), pose in zip(pairs, poses, strict=True):
        agreement[first, other] = agreement[other, first] = pose[2] if pose is not None else 0.0
    usual = np.nanmedian(agreement, axis=1)
    return candidates[int(usual.argmax())] if usual.max() >= _ALIKE else None


def _square(margin: float, shape: tuple[int, ...]) -> np.ndarray:
    """What a mask is widened or narrowed with, by a share of the longer side on every side."""
    side = 2 * round(margin * max(shape)) + 1
    return np.ones((side, side), np.uint8)


def _median_where(photos: Sequence[np.ndarray], covers: Sequence[np.ndarray]) -> np.ndarray:
    """(h, w, 3) uint8: the median at each place of the photos that cover it, of all where none does."""
    stack, covered = np.stack(photos), np.stack(covers)
    covered[:, ~covered.any(axis=0)] = True
    ordered = np.sort(np.where(covered[..., None], stack, np.uint16(256)), axis=0)  # what does not count comes last
    count = covered.sum(axis=0)[None, :, :, None]
    lower, upper = (np.take_along_axis(ordered, middle, axis=0)[0] for middle in ((count - 1) // 2, count // 2))
    return ((lower + upper) / 2).round().astype(np.uint8)


def _median_pose(poses: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """(2, 3): turned, scaled and shifted as these poses are in the median, about the middle of the reference."""
    middle = np.array([(shape[1] - 1) / 2, (shape[0] - 1) / 2])
    turns = np.array([pose[:, 0] @ [1, 1j] for pose in poses])
    first = turns[0] / abs(turns[0])
    turn = np.median(abs(turns)) * first * np.exp(1j * np.median(np.angle(turns / first)))
    matrix = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    centre = np.median([pose @ (*middle, 1) for pose in poses], axis=0)
    return np.column_stack([matrix, centre - matrix @ middle])
