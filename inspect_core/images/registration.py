"""How one small grey picture lies in another: by features, or by phase correlation where they are few, then to a
fraction of a pixel.

Poses are `(2, 3)` float64 matrices from pixels of the reference to pixels of the photo, centres at whole numbers.
"""

from typing import NamedTuple

import cv2
import numpy as np

FEWEST = 12  # fewest features that agree on a pose; fewer may agree by chance
_MOST = 600  # features
_FAR = 64  # bits of 256 in which features of the same place differ at most
_OFF = 3.0  # pixels from where a pose puts a feature
_SPREAD = 0.25  # of the spread of the reference's features, across the line that those in agreement lie along
_ALIKE = 0.6  # least correlation of a place in both pictures
_AROUND = 21  # pixels of its side
_FAINT = 3.0  # grey levels: the least spread at a place that is more than noise
_BLUR = 5  # pixels, the side of the filter before the fine step
FINE = 40
"""Steps of the fine pose."""
ROUGH = 16
"""Steps that tell which of several poses is near."""
_CONVERGED = 1e-5  # of correlation, by which a step changes it no more
_TURNS = 720  # rows of a spectrum in polar coordinates, for all round


class Keypoints(NamedTuple):
    """points: (n, 2) float32, x and y; codes: (n, 32) uint8, 256 bits each."""

    points: np.ndarray
    codes: np.ndarray

    @classmethod
    def from_image(cls, grey: np.ndarray, mask: np.ndarray | None = None) -> "Keypoints":
        """ORB features of (h, w) uint8, only where the mask is True."""
        orb = cv2.ORB.create(_MOST, scaleFactor=1.3, nlevels=4, edgeThreshold=12, patchSize=25, fastThreshold=8)
        keypoints, codes = orb.detectAndCompute(grey, None if mask is None else mask.astype(np.uint8))
        points = np.array([key.pt for key in keypoints], np.float32).reshape(-1, 2)
        return cls(points, np.zeros((0, 32), np.uint8) if codes is None else codes)


class CoarsePose(NamedTuple):
    """pose; share: of the matched features that agree with it, 0 when it does not come from features; second: the pose
    that most of the others agree with, if they are at least half as many.
    """

    pose: np.ndarray
    share: float = 0.0
    second: np.ndarray | None = None


def poses_from_keypoints(reference: Keypoints, photo: Keypoints, *, scale: bool) -> list[CoarsePose]:
    """The pose that most features agree on, of those that are each other's match in both directions.

    None of them when fewer than FEWEST agree, or all lie close together or along a line. scale: whether it may change.
    """
    if min(len(reference.points), len(photo.points)) < FEWEST:
        return []
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(photo.codes, reference.codes)
    pairs = [pair for pair in pairs if pair.distance <= _FAR]
    here = reference.points[[pair.trainIdx for pair in pairs]].reshape(-1, 2)
    there = photo.points[[pair.queryIdx for pair in pairs]].reshape(-1, 2)
    pose, agreeing = _agreed(here, there, scale=scale)
    if pose is None or _narrowest(here[agreeing]) < _SPREAD * _narrowest(reference.points):
        return []
    second, others = _agreed(here[~agreeing], there[~agreeing], scale=scale)
    return [CoarsePose(pose, float(agreeing.mean()), second if 2 * others.sum() >= agreeing.sum() else None)]


def poses_from_phase(reference: np.ndarray, photo: np.ndarray) -> list[CoarsePose]:
    """The poses of equal scale in which the spectra may agree; none when a picture is constant.

    The spectra's magnitudes in log-polar coordinates cannot tell a turn from half a turn more and may miss a part that
    is nearly level: returned are both turns, and no turn.
    """
    if reference.std() < 1 or photo.std() < 1:
        return []
    (_, down), _ = cv2.phaseCorrelate(_polar(reference), _polar(photo))
    window = cv2.createHanningWindow(photo.shape[::-1], cv2.CV_32F)
    poses = []
    for turn in (360 * down / _TURNS, 360 * down / _TURNS + 180, 0.0):
        pose = rotation_about_centre(photo.shape, turn)
        upright, _ = warp_onto(photo, pose, photo.shape)
        (x, y), _ = cv2.phaseCorrelate(reference.astype(np.float32), upright.astype(np.float32), window)
        poses.append(CoarsePose(compose_poses(pose, np.array([[1, 0, x], [0, 1, y]]))))
    return poses


def refine_pose(
    reference: np.ndarray,
    mask: np.ndarray,
    photo: np.ndarray,
    start: np.ndarray,
    *,
    alike: bool = False,
    steps: int = FINE,
) -> tuple[np.ndarray, float] | None:
    """The pose near `start` of the largest correlation, and that correlation; None if not found.

    reference, photo: uint8; mask: (h, w) bool, where the reference counts. The scale stays that of `start`: that of
    this step would be biased. alike: `start` is close, and only places that look alike in it draw the pose, so that
    what is missing or covered does not; the correlation is that of the whole mask all the same. steps: at most.
    """
    moved, covered = warp_onto(photo, start, reference.shape)
    draws = mask & _alike(reference, moved) if alike else mask
    kernel = np.ones((_BLUR, _BLUR), np.uint8)
    masks = [cv2.erode(valid.astype(np.uint8), kernel, borderValue=0) for valid in (draws, covered)]
    if np.logical_and(*masks).sum() < FEWEST**2:
        return None
    try:
        until = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, steps, _CONVERGED)
        warp, residue = cv2.findTransformECCWithMask(
            reference, moved, *masks, np.eye(2, 3, dtype=np.float32), cv2.MOTION_EUCLIDEAN, until, _BLUR
        )
    except cv2.error:  # it does not converge
        return None
    if not (np.isfinite(warp) and np.isfinite(residue).all()):
        return None
    pose = compose_poses(start, residue.astype(np.float64))
    return pose, correlation(reference, mask, photo, pose) if alike else float(warp)


def warp_onto(photo: np.ndarray, pose: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The photo as it lies over the reference, of that shape, and where it covers it, (h, w) bool."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(photo, pose, shape[::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE)
    covered = cv2.warpAffine(np.full(photo.shape[:2], 255, np.uint8), pose, shape[::-1], flags=flags)
    return moved, covered == 255


def compose_poses(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The pose that applies `inner` first."""
    return outer @ np.vstack([inner, [0, 0, 1]])


def _alike(reference: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """(h, w) bool: where the surroundings of a pixel correlate in both pictures."""

    def mean(values: np.ndarray) -> np.ndarray:
        return cv2.blur(values, (_AROUND, _AROUND))

    a, b = (cv2.GaussianBlur(grey.astype(np.float32), (_BLUR, _BLUR), 0) for grey in (reference, moved))
    middle_a, middle_b = mean(a), mean(b)
    spread_a, spread_b = mean(a * a) - middle_a**2, mean(b * b) - middle_b**2
    spread = np.sqrt(np.maximum(spread_a, _FAINT**2) * np.maximum(spread_b, _FAINT**2))
    return mean(a * b) - middle_a * middle_b > _ALIKE * spread


def correlation(reference: np.ndarray, mask: np.ndarray, photo: np.ndarray, pose: np.ndarray) -> float:
    """That of reference and photo laid over it, where the mask counts and the photo covers; -1 to 1.

    -1 where they have nothing in common.
    """
    moved, covered = warp_onto(photo, pose, reference.shape)
    common = mask & covered
    if not common.any():
        return -1.0
    a, b = (cv2.GaussianBlur(grey, (_BLUR, _BLUR), 0)[common].astype(np.float32) for grey in (reference, moved))
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), np.finfo(np.float32).tiny))


def _agreed(here: np.ndarray, there: np.ndarray, *, scale: bool) -> tuple[np.ndarray | None, np.ndarray]:
    """The pose of most pairs of points and which have it, (n,) bool; None and no pair below FEWEST."""
    none = None, np.zeros(len(here), bool)
    if len(here) < FEWEST:
        return none
    pose, inliers = cv2.estimateAffinePartial2D(here, there, method=cv2.RANSAC, ransacReprojThreshold=_OFF)
    if pose is None or inliers.sum() < FEWEST or _narrowest(here[inliers[:, 0] > 0]) < 1:
        return none
    agreeing = inliers[:, 0] > 0
    pose = _fitted(here[agreeing], there[agreeing], scale=scale)
    agreeing = np.linalg.norm(here @ pose[:, :2].T + pose[:, 2] - there, axis=1) <= _OFF
    return (pose, agreeing) if agreeing.sum() >= FEWEST else none


def _narrowest(points: np.ndarray) -> float:
    """Standard deviation in pixels across the line that the points lie along."""
    return float(np.sqrt(max(np.linalg.eigvalsh(np.cov(points.T))[0], 0.0)))


def _fitted(here: np.ndarray, there: np.ndarray, *, scale: bool) -> np.ndarray:
    """The least-squares pose of pairs of points (Umeyama), of scale 1 unless that may change."""
    middle = here.mean(axis=0)
    middle_there = there.mean(axis=0)
    a, b = np.complex128((here - middle) @ [1, 1j]), np.complex128((there - middle_there) @ [1, 1j])
    turn = np.vdot(a, b) / np.vdot(a, a).real
    turn = turn if scale else turn / abs(turn)
    matrix = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    return np.column_stack([matrix, middle_there - matrix @ middle])


def rotation_about_centre(shape: tuple[int, ...], degrees: float) -> np.ndarray:
    """The pose of a picture turned clockwise about its middle."""
    middle = ((shape[1] - 1) / 2, (shape[0] - 1) / 2)
    return cv2.getRotationMatrix2D(middle, -degrees, 1.0)


def _polar(grey: np.ndarray) -> np.ndarray:
    """(_TURNS, radii) float32: the magnitudes of the spectrum by angle and logarithm of the frequency."""
    side = max(grey.shape)
    square = np.zeros((side, side), np.float32)
    window = cv2.createHanningWindow(grey.shape[::-1], cv2.CV_32F)
    square[: grey.shape[0], : grey.shape[1]] = (grey - np.float32(grey.mean())) * window
    magnitude = np.log1p(np.abs(np.fft.fftshift(np.fft.fft2(square)))).astype(np.float32)
    flags = cv2.INTER_LINEAR | cv2.WARP_POLAR_LOG
    polar = cv2.warpPolar(magnitude, (side, _TURNS), (side / 2, side / 2), side / 2, flags)
    return polar[:, side // 4 :] - polar[:, side // 4 :].mean(axis=0)
