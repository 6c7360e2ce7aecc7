"""Damage and dirt that any part can have, drawn into the scene before light and lens: scratch, dent, stain, fibre.

`scratch`, `dent` and `fibre` edit the scene in place; paths and centres are in the part's frame in mm. See
`images.synthetic.scene` for the conventions.
"""

import numpy as np
from scipy.spatial import KDTree

from sample_data.make.scene import Pose, Scene, ramp, smooth_noise


def wander(rng: np.random.Generator, start: tuple, heading: float, length: float, bend: float) -> np.ndarray:
    """Return a smooth path `(n, 2)` of `length` mm whose heading drifts by about `bend` radians on the way."""
    n = 200
    steps = np.linspace(0, 1, n)
    drift = sum(rng.normal(0, bend / k) * np.sin(np.pi * k * steps + rng.uniform(0, 6.3)) for k in (1, 2, 3))
    angle = heading + drift
    path = np.cumsum(np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0) * (length / n)
    return np.asarray(start) + path - path[n // 2]


def stroke(pose: Pose, path: np.ndarray, reach: float) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
    """Return the window around a path, the distance to it (infinite beyond `reach`) and the place along it, 0 to 1."""
    fine = np.linspace(0, len(path) - 1, 12 * len(path))
    dense = np.stack([np.interp(fine, np.arange(len(path)), path[:, i]) for i in (0, 1)], axis=1)
    middle = (dense.max(axis=0) + dense.min(axis=0)) / 2
    where = pose.window(*middle, float(np.hypot(*(dense - middle).T).max()) + reach)
    x, y = pose.grid(where)
    distance, nearest = KDTree(dense).query(
        np.stack([x.ravel(), y.ravel()], axis=1), distance_upper_bound=reach, workers=1
    )
    place = np.minimum(nearest, len(dense) - 1) / (len(dense) - 1)
    return where, distance.reshape(x.shape).astype(np.float32), place.reshape(x.shape).astype(np.float32)


def scratch(
    scene: Scene,
    pose: Pose,
    path: np.ndarray,
    rng: np.random.Generator,
    *,
    width: float,
    depth: float,
    laid_bare: tuple[tuple, tuple],
) -> None:
    """Plough a groove of `width` and `depth` mm with burrs; `laid_bare` is the (diffuse, specular) found below."""
    where, distance, place = stroke(pose, path, 2.5 * width)
    pressure = np.interp(place, np.linspace(0, 1, 40), np.clip(0.75 + 0.3 * rng.standard_normal(40), 0.25, 1.3))
    pressure *= ramp(place, 0, 0.12) * ramp(place, 1, 0.85)
    off = np.minimum(distance, 3 * width) / width
    groove = np.exp(-0.5 * (off / 0.42) ** 2) - 0.45 * np.exp(-0.5 * ((off - 1.0) / 0.3) ** 2)
    groove[off > 2.4] = 0
    scene.height[where] -= depth * pressure * groove
    cover = (np.clip(pressure, 0, 1) * ramp(off, 1.1, 0.4)).astype(np.float32)
    scene.paint(cover, where, diffuse=laid_bare[0], specular=laid_bare[1], rough=0.22)


def dent(scene: Scene, pose: Pose, centre: tuple, rng: np.random.Generator, *, radius: float, depth: float) -> None:
    """Press a blunt, slightly oval dimple of `radius` and `depth` mm with a thrown-up rim."""
    where = pose.window(*centre, 1.8 * radius)
    x, y = pose.grid(where)
    turn, oval = rng.uniform(0, np.pi), rng.uniform(1.0, 1.35)
    c, s = np.cos(turn), np.sin(turn)
    dx, dy = x - np.float32(centre[0]), y - np.float32(centre[1])
    r = np.hypot((c * dx + s * dy) * oval, (c * dy - s * dx) / oval) / radius
    r *= 1 + 0.05 * np.sin(3 * np.arctan2(dy, dx) + rng.uniform(0, 6.3))
    bowl = np.where(r < 1, (1 - r**2) ** 2, 0) - 0.16 * np.exp(-0.5 * ((r - 1.05) / 0.16) ** 2) * (r < 1.6)
    scene.height[where] -= (depth * bowl).astype(np.float32)
    crushed = ramp(r, 1.0, 0.7)
    scene.paint(0.5 * crushed, where, rough=0.17)


def blot(pose: Pose, centre: tuple, rng: np.random.Generator, radius: float) -> tuple[tuple[slice, slice], np.ndarray]:
    """Return a window and the distance beyond a ragged rounded outline, in radii: below 0 inside, above 0 outside."""
    where = pose.window(*centre, 1.9 * radius)
    x, y = pose.grid(where)
    dx, dy = x - np.float32(centre[0]), y - np.float32(centre[1])
    turn = np.arctan2(dy, dx)
    edge = sum(rng.normal(0, 0.16 / k) * np.cos(k * turn + rng.uniform(0, 6.3)) for k in (1, 2, 3, 4, 6))
    ragged = 0.05 * smooth_noise(rng, max(0.22 * radius / pose.pitch, 2.0), x.shape)
    return where, (np.hypot(dx, dy) / radius - 1 - np.clip(edge, -0.35, 0.45) + ragged).astype(np.float32)


def fibre(scene: Scene, pose: Pose, path: np.ndarray, *, radius: float, diffuse: tuple) -> None:
    """Lay a round thread or hair of `radius` mm along the path, resting on the surface."""
    where, distance, place = stroke(pose, path, 1.5 * radius + 2 * pose.pitch)
    bow = 1 + 1.5 * np.sin(np.pi * place) ** 2
    inside = np.clip((radius - distance) / pose.pitch + 0.5, 0, 1).astype(np.float32)
    profile = np.sqrt(np.maximum(1 - (np.minimum(distance, radius) / radius) ** 2, 0))
    scene.height[where] += inside * (radius * (profile + bow)).astype(np.float32)
    scene.paint(inside, where, diffuse=diffuse, specular=(0.03, 0.03, 0.03), rough=0.25)
