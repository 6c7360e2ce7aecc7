"""Where a part ends and the ground begins, and the pose of a long part by that alone.

What lies on a long part may move along it, as the thread of a screw does when it rolls, and may repeat; its ends and
its middle line do not.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from inspect_core.images import registration
from inspect_core.images.registration import CoarsePose

LONG = 2.5
"""Least ratio of the spreads along a part and across it from which its middle line has one direction."""
_EDGE = 0.03  # of the longer side: the rim of a photo, where the ground is learned
_GAP = 0.012  # of the longer side: half of what is closed between bright or dark bands of a part
_REST = 0.995  # of the rim's pixels, which are ground
_AREA = (0.002, 0.7)  # of the photo
_CUT = 0.02  # of the rim, which a part that is wholly in view leaves free
_AGAIN = 0.5  # of the largest body's area, from which another is a second part
_ALIKE = 0.004  # of correlation, within which both directions of a middle line fit
_ACROSS = 5  # pixels, the side of the filter before the fine step
_FINE = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 1e-5)


@dataclass(frozen=True, eq=False)
class Outline:
    """fill: (h, w) float32, 1 on the part and 0 beside it; middle: its centroid, x + iy; axis: unit, along it; spread:
    standard deviations in pixels along it and across; second: centroid of another part, None without one.
    """

    fill: np.ndarray
    middle: complex
    axis: complex
    spread: tuple[float, float]
    second: complex | None = None

    @classmethod
    def from_picture(cls, picture: np.ndarray) -> "Outline | None":
        """That of the largest body in (h, w, 3) uint8 that differs from the rim; None where none is wholly in view."""
        height, width = picture.shape[:2]
        rim = max(2, round(_EDGE * max(height, width)))
        edge = np.ones((height, width), bool)
        edge[rim:-rim, rim:-rim] = False
        smooth = cv2.GaussianBlur(picture, (3, 3), 0).astype(np.float32)
        apart = np.abs(smooth - np.median(smooth[edge], axis=0)).max(axis=-1)
        least, _ = cv2.threshold(apart.astype(np.uint8), 0, 255, cv2.THRESH_OTSU)
        bodies = (apart > max(least / 2, np.quantile(apart[edge], _REST))).astype(np.uint8)
        side = 2 * round(_GAP * max(height, width)) + 1
        near = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
        count, label, facts, middles = cv2.connectedComponentsWithStats(cv2.morphologyEx(bodies, cv2.MORPH_CLOSE, near))
        if count < 2:
            return None
        largest, *others = 1 + np.argsort(-facts[1:, cv2.CC_STAT_AREA])
        area = facts[largest, cv2.CC_STAT_AREA]
        rims, _ = cv2.findContours((label == largest).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        body = cv2.drawContours(np.zeros((height, width), np.uint8), rims, -1, 1, cv2.FILLED)
        if not (_AREA[0] <= body.mean() <= _AREA[1] and body[edge].mean() <= _CUT):
            return None
        moments = cv2.moments(body, binaryImage=True)
        covariance = np.array([[moments["mu20"], moments["mu11"]], [moments["mu11"], moments["mu02"]]]) / moments["m00"]
        variances, axes = np.linalg.eigh(covariance)
        across, along = np.sqrt(np.maximum(variances, 1 / 12))
        has_second = bool(others) and facts[others[0], cv2.CC_STAT_AREA] >= _AGAIN * area
        return cls(
            cv2.GaussianBlur(body.astype(np.float32), (3, 3), 0),
            complex(moments["m10"], moments["m01"]) / moments["m00"],
            complex(*axes[:, 1]),
            (float(along), float(across)),
            complex(*middles[others[0]]) if has_second else None,
        )

    @property
    def is_long(self) -> bool:
        """Whether its middle line tells how it is turned."""
        return self.spread[0] >= LONG * self.spread[1]

    def turned(self, degrees: float) -> np.ndarray:
        """(2, 3): the pose of a part turned clockwise about its middle."""
        turn = complex(np.exp(1j * np.deg2rad(degrees)))
        return _pose(turn, self.middle - turn * self.middle)

    def agreement(self, other: "Outline", pose: np.ndarray) -> float:
        """Correlation, up to 1, with another that is laid over it by a pose."""
        moved = registration.warp_onto(other.fill, pose, self.fill.shape)[0]
        return float(np.corrcoef(self.fill.ravel(), moved.ravel())[0, 1])

    def poses(self, other: "Outline", *, scale: bool) -> list[tuple[CoarsePose, np.ndarray, float]]:
        """The poses of another in both directions of its middle line, each coarse, fine, and how far it agrees:
        the best first, and alone where it is clearly better. scale: whether it may be nearer or farther.
        """
        candidates = []
        size = other.spread[0] / self.spread[0] if scale else 1.0
        for direction in (1, -1):
            turn = direction * size * other.axis / self.axis
            start = _pose(turn, other.middle - turn * self.middle)
            fine = self._refined(other, start, scale=scale)
            second = None if other.second is None else _pose(turn, other.second - turn * self.middle)
            candidates.append((CoarsePose(start, second=second), fine, self.agreement(other, fine)))
        candidates.sort(key=lambda candidate: -candidate[2])
        return [candidate for candidate in candidates if candidate[2] >= candidates[0][2] - _ALIKE]

    def _refined(self, other: "Outline", start: np.ndarray, *, scale: bool) -> np.ndarray:
        """The pose near `start` in which both agree best, or `start`. The size is that along the part."""
        moved, _ = registration.warp_onto(other.fill, start, self.fill.shape)
        still = np.eye(2, 3, dtype=np.float32)
        everywhere = np.ones(moved.shape, np.uint8)
        motion = cv2.MOTION_AFFINE if scale else cv2.MOTION_EUCLIDEAN
        try:
            _, rest = cv2.findTransformECC(self.fill, moved, still, motion, _FINE, everywhere, _ACROSS)
        except cv2.error:  # it does not converge
            return start
        if not np.isfinite(rest).all():
            return start
        turn = complex(*(rest[:, :2] @ (self.axis.real, self.axis.imag))) / self.axis
        there = complex(*(rest @ (self.middle.real, self.middle.imag, 1)))
        return registration.compose_poses(start, _pose(turn, there - turn * self.middle))


def _pose(turn: complex, shift: complex) -> np.ndarray:
    """(2, 3) of z -> turn z + shift."""
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])
