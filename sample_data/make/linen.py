"""A plain-weave linen under raking light: yarns with twist, thick and thin places, and gaps between them.

The cloth passes the camera as it comes: it is aligned with nothing. One unit of cloth is one yarn pitch; lengths in mm.
"""

import numpy as np
from scipy import ndimage

from sample_data.make.marks import blot, fibre, wander
from sample_data.make.scene import CANVAS, Light, Pose, Scene, ramp, smooth_noise

KINDS = ("foreign_fibre", "hole", "missing_yarn", "slub", "stain")
FIELD = 30.0
SKY = (0.44, 0.45, 0.47)

_PITCH = 0.86
_YARNS = 72
_ALONG = 8
_FLAX = np.array((0.46, 0.375, 0.265), dtype=np.float32)


def draw_pose(rng: np.random.Generator) -> Pose:
    """Return how the cloth happens to lie: any offset, a few degrees either way."""
    shift = rng.uniform(-4, 4, 2)
    return Pose((float(shift[0]), float(shift[1])), float(np.deg2rad(rng.uniform(-7, 7))), FIELD)


def draw_lights(rng: np.random.Generator) -> tuple[Light, ...]:
    """Return a raking lamp from the left and a soft one from above right."""
    turn = np.deg2rad(rng.normal(0, 2))
    return (
        Light(np.deg2rad(-152) + turn, np.deg2rad(36), (1.36, 1.30, 1.20), 0.25),
        Light(np.deg2rad(-40) + turn, np.deg2rad(60), (0.40, 0.41, 0.45), 0.4),
    )


class _Yarns:
    """One set of parallel yarns: course and width along each in yarn pitches, shade as a factor, twist in radians."""

    def __init__(self, rng: np.random.Generator):
        length = _YARNS * _ALONG
        self.course = 0.055 * _smooth_rows(rng, length, 14) + 0.035 * rng.standard_normal((_YARNS, 1))
        thick = 0.024 * _smooth_rows(rng, length, 10) + 0.018 * _smooth_rows(rng, length, 40)
        slubs = np.maximum(_smooth_rows(rng, length, 22) - 1.9, 0) * 0.10
        self.width = np.clip(0.42 + thick + 0.022 * rng.standard_normal((_YARNS, 1)) + slubs, 0.3, 0.56)
        self.shade = 1 + 0.07 * rng.standard_normal((_YARNS, 1)) + 0.045 * _smooth_rows(rng, length, 30)
        self.twist = rng.uniform(0, 2 * np.pi, (_YARNS, 1)) + 0.9 * _smooth_rows(rng, length, 20)

    def seen(self, across: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return, for cloth coordinates, the distance from the yarn's course in pitches, width, shade and twist."""
        yarn = np.floor(across).astype(np.int32) % _YARNS
        place = (along * _ALONG) % (_YARNS * _ALONG - 1)
        left = place.astype(np.int32)
        fraction = (place - left).astype(np.float32)

        def read(table: np.ndarray) -> np.ndarray:
            table = np.broadcast_to(table, self.width.shape).astype(np.float32).ravel()
            at = yarn * self.width.shape[1] + left
            low = table[at]
            return low + fraction * (table[at + 1] - low)

        off = across - np.floor(across) - np.float32(0.5) - read(self.course)
        return off, read(self.width), read(self.shade), read(self.twist)

    def cut(self, yarn: int, start: float, end: float) -> None:
        """Take the yarn out between two places along it (pitches)."""
        self.width[yarn % _YARNS, int(start * _ALONG) : int(end * _ALONG)] = 0


def build(
    pose: Pose, rng: np.random.Generator, defect: str | None, severity: float, harm: np.random.Generator
) -> Scene:
    """Return one view of the cloth. `rng` decides the good cloth, `harm` only the defect."""
    x, y = pose.grid()
    drift = [0.10 * smooth_noise(rng, 130) + 0.03 * smooth_noise(rng, 40) for _ in range(2)]
    u, v = x / _PITCH + _YARNS / 2 + drift[0], y / _PITCH + _YARNS / 2 + drift[1]
    warp, weft = _Yarns(rng), _Yarns(rng)
    spot = tuple(harm.uniform(-0.30, 0.30, 2) * FIELD)
    spot = (spot[0] - pose.shift[0], spot[1] - pose.shift[1])
    scene = Scene.flat((0.030, 0.024, 0.018), (0.0, 0.0, 0.0), 0.4)
    if defect == "missing_yarn":
        yarns, across, along = (warp, *spot) if harm.random() < 0.5 else (weft, *spot[::-1])
        _unravel(yarns, across, along, severity)
    torn = _tear(pose, spot, severity, harm) if defect == "hole" else None
    _weave(scene, pose, u, v, warp, weft, rng, torn)
    _nap(scene, pose, rng)
    if defect == "hole":
        _fray(scene, pose, spot, severity, harm)
    if defect == "foreign_fibre":
        path = wander(harm, spot, harm.uniform(0, 2 * np.pi), 2.5 + 9 * severity, 1.3)
        colour = ((0.02, 0.03, 0.10), (0.20, 0.015, 0.012), (0.012, 0.012, 0.012))[harm.integers(3)]
        fibre(scene, pose, path, radius=0.07 + 0.09 * severity, diffuse=colour)
    elif defect == "slub":
        _slub(scene, pose, spot, severity, harm)
    elif defect == "stain":
        _stain(scene, pose, spot, u, v, severity, harm)
    return scene


def _smooth_rows(rng: np.random.Generator, length: int, scale: float) -> np.ndarray:
    """Return unit-variance noise `(yarns, length)` that varies slowly along each yarn."""
    noise = ndimage.gaussian_filter1d(rng.standard_normal((_YARNS, length)), scale / 2, axis=1, mode="wrap")
    return noise * np.sqrt(scale * np.sqrt(np.pi))


def _weave(
    scene: Scene,
    pose: Pose,
    u: np.ndarray,
    v: np.ndarray,
    warp: _Yarns,
    weft: _Yarns,
    rng: np.random.Generator,
    torn: tuple | None,
) -> None:
    """Interlace the two sets: each yarn rides over and under, and the higher surface is seen."""
    ripple_u, ripple_v = np.sin(np.pi * u), np.sin(np.pi * v)
    over = np.where(np.floor(u) % 2 == 0, 1, -1) * ripple_v, -np.where(np.floor(v) % 2 == 0, 1, -1) * ripple_u
    fibres = (smooth_noise(rng, 2.2), smooth_noise(rng, 5))
    top = np.full(u.shape, -0.62, dtype=np.float32)
    for yarns, across, along, ride, lean in ((warp, u, v, over[0], 1), (weft, v, u, over[1], -1)):
        off, width, shade, twist = yarns.seen(across, along)
        if torn is not None:
            width = width * (1 - torn[0 if lean > 0 else 1])
        round_off = off / np.maximum(width, 0.01)
        body = np.sqrt(np.maximum(1 - round_off**2, 0))
        strands = np.sin(2 * np.pi * (1.25 * along + lean * 0.55 * round_off) + twist)
        surface = 0.16 * ride + 0.34 * body + 0.018 * strands * body + 0.012 * fibres[0]
        shown = (np.abs(round_off) < 1) & (width > 0.06) & (surface > top)
        top = np.where(shown, surface, top)
        tone = shade * (0.90 + 0.10 * body) * (1 + 0.05 * strands + 0.06 * fibres[0] + 0.03 * fibres[1])
        scene.diffuse[:, shown] = tone[shown] * _FLAX[:, None]
        scene.specular[:, shown] = 0.035
        scene.grain[shown] = pose.angle + (np.pi / 2 if lean > 0 else 0.0) + 0.25 * lean
    scene.rough[0] = 0.25
    scene.rough[1] = 0.45
    scene.height += np.float32(_PITCH) * top


def _nap(scene: Scene, pose: Pose, rng: np.random.Generator) -> None:
    """Let a few fine flax hairs stand off the cloth and soften its tone unevenly, as on every good piece."""
    scene.diffuse *= 1 + 0.035 * smooth_noise(rng, 150) + 0.025 * smooth_noise(rng, 45)
    for _ in range(int(rng.integers(8, 15))):
        start = tuple(rng.uniform(-0.5, 0.5, 2) * FIELD)
        path = wander(rng, start, rng.uniform(0, 2 * np.pi), rng.uniform(0.8, 2.2), 0.9)
        fibre(scene, pose, path, radius=0.022, diffuse=tuple(1.15 * _FLAX))


def _unravel(yarns: _Yarns, across: float, along: float, severity: float) -> None:
    """Lose a yarn over some length; a plain one takes part of its neighbour with it."""
    yarn, middle = int(across / _PITCH + _YARNS / 2), along / _PITCH + _YARNS / 2
    half = 1.6 + 9 * severity
    yarns.cut(yarn, middle - half, middle + half)
    if severity > 0.7:
        yarns.cut(yarn + 1, middle - 0.6 * half, middle + 0.5 * half)


def _tear(pose: Pose, spot: tuple, severity: float, harm: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return, for warp and weft, where the yarns are broken (1) and how they thin towards their frayed ends."""
    where, away = blot(pose, spot, harm, 0.75 + 1.5 * severity)
    gone = []
    for _ in range(2):
        frayed = away + 0.16 * smooth_noise(harm, 9, away.shape)
        field = np.zeros((CANVAS, CANVAS), dtype=np.float32)
        field[where] = ramp(frayed, 0.22, -0.12)
        gone.append(field)
    return gone[0], gone[1]


def _fray(scene: Scene, pose: Pose, spot: tuple, severity: float, harm: np.random.Generator) -> None:
    """Leave loose fibres of the broken yarns hanging into the hole."""
    for _ in range(int(10 + 14 * severity)):
        turn, out = harm.uniform(0, 2 * np.pi), (0.55 + 1.1 * severity) * harm.uniform(0.8, 1.4)
        start = (spot[0] + out * np.cos(turn), spot[1] + out * np.sin(turn))
        path = wander(harm, start, turn + harm.normal(0, 0.5), harm.uniform(0.4, 0.9), 0.8)
        fibre(scene, pose, path, radius=harm.uniform(0.02, 0.05), diffuse=tuple(_FLAX * harm.uniform(0.8, 1.1)))


def _slub(scene: Scene, pose: Pose, spot: tuple, severity: float, harm: np.random.Generator) -> None:
    """Spin a thick, loosely twisted lump into a yarn, lying over its neighbours."""
    long, thick = 1.5 + 3.2 * severity, 0.42 + 0.32 * severity
    lies = harm.random() < 0.5
    where = pose.window(*spot, long + 1)
    x, y = pose.grid(where)
    along, across = (x - spot[0], y - spot[1]) if lies else (y - spot[1], x - spot[0])
    across = across + 0.12 * np.sin(along * 1.1 + harm.uniform(0, 6.3))
    girth = (
        thick
        * np.sqrt(np.maximum(1 - (along / long) ** 2, 0))
        * (1 + 0.12 * np.sin(2.3 * along + harm.uniform(0, 6.3)))
    )
    part = across / np.maximum(girth, 1e-3)
    inside = ramp(np.abs(part), 1.0, 0.9) * (girth > 0.05)
    strands = np.sin(2 * np.pi * (along / 0.75 + 0.5 * part) + harm.uniform(0, 6.3))
    rough = smooth_noise(harm, 2.4, x.shape)
    lump = girth * np.sqrt(np.maximum(1 - part**2, 0)) + 0.03 * strands + 0.02 * rough
    floor = scene.height[where]
    scene.height[where] = floor + inside * np.maximum(0.16 + 0.6 * lump - floor, 0).astype(np.float32)
    tone = (1.04 + 0.05 * strands + 0.07 * rough) * _FLAX[:, None, None]
    diffuse = scene.diffuse[(slice(None), *where)]
    diffuse += inside * (tone - diffuse)
    scene.paint(inside, where, specular=(0.035, 0.035, 0.035))


def _stain(
    scene: Scene, pose: Pose, spot: tuple, u: np.ndarray, v: np.ndarray, severity: float, harm: np.random.Generator
) -> None:
    """Soak a drop of oil or tea into the cloth: it creeps along the yarns and is darkest at its rim."""
    where, away = blot(pose, spot, harm, 1.3 + 2.8 * severity)
    creep = 0.10 * harm.standard_normal((2, _YARNS)).astype(np.float32)
    away = away + creep[0][np.floor(u[where]).astype(int) % _YARNS] + creep[1][np.floor(v[where]).astype(int) % _YARNS]
    soaked = ramp(away, 0.10, -0.14)
    rim = np.exp(-0.5 * ((away + 0.05) / 0.10) ** 2)
    strength = (0.22 + 0.45 * severity) * soaked * (0.65 + 0.35 * rim)
    absorb = np.array((0.62, 0.82, 1.0) if harm.random() < 0.6 else (0.9, 0.9, 0.85), dtype=np.float32)
    scene.diffuse[(slice(None), *where)] *= 1 - strength * absorb[:, None, None]
