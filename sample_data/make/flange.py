"""A machined bearing flange: a face-milled plate, a turned boss, drilled and tapped holes with chamfers, a number.

The part lies in a fixture, so it is aligned to within a millimetre and a degree. Lengths in mm.
"""

from copy import deepcopy
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sample_data.make.marks import blot, dent, scratch, stroke, wander
from sample_data.make.scene import Light, Pose, Scene, ramp, smooth_noise

KINDS = ("contamination", "dent", "misdrilled", "scratch", "stain")
CUT = "cut"
"""A piece of the flange is missing: a kind of its own, for parts on a conveyor."""
FIELD = 88.0
SKY = (0.23, 0.24, 0.25)

_HALF, _CORNER = 38.0, 9.0
_BOSS, _BOSS_HEIGHT, _BORE = 22.5, 3.2, 10.5
_TAPPED = [(28.0 * i, 28.0 * j) for i in (-1, 1) for j in (-1, 1)]
_BOLTS = [(16.6 * np.cos(a), 16.6 * np.sin(a)) for a in np.arange(6) * np.pi / 3 + np.pi / 6]
_DOWELS = [(-31.0, 0.0), (31.0, 0.0)]
_CAMERA_DISTANCE = 95.0
_FRESH = ((0.11, 0.11, 0.11), (0.94, 0.94, 0.95))
_ALUMINIUM = ((0.045, 0.046, 0.048), (0.80, 0.81, 0.82))


def draw_pose(rng: np.random.Generator) -> Pose:
    """Return how the part was laid in the fixture."""
    shift = rng.normal(0, 0.45, 2).clip(-1.1, 1.1)
    return Pose((float(shift[0]), float(shift[1])), float(np.deg2rad(np.clip(rng.normal(0, 0.6), -1.5, 1.5))), FIELD)


def draw_lights(rng: np.random.Generator) -> tuple[Light, ...]:
    """Return a bar light from the upper left and a weaker one from the right, within what a fixture keeps."""
    turn, lift = np.deg2rad(rng.normal(0, 1.2)), np.deg2rad(rng.normal(0, 0.6))
    return (
        Light(np.deg2rad(-128) + turn, np.deg2rad(50) + lift, (0.92, 0.90, 0.87), 0.10),
        Light(np.deg2rad(25) + turn, np.deg2rad(38), (0.26, 0.28, 0.31), 0.14),
    )


def build(
    pose: Pose, rng: np.random.Generator, defect: str | None, severity: float, harm: np.random.Generator
) -> Scene:
    """Return one flange. `rng` decides the good part, `harm` only the defect: a part and its damaged twin agree."""
    tapped, bolts = _drilling(defect, severity, harm)
    scene = Scene.flat((0.020, 0.021, 0.023), (0.02, 0.02, 0.02), 0.4)
    x, y = pose.grid()
    _mat(scene, rng)
    mat = deepcopy(scene)
    _plate(scene, pose, x, y, rng)
    _boss(scene, x, y, pose, rng)
    start = float(rng.uniform(0, 2 * np.pi))
    for hole in tapped:
        drill(scene, pose, hole, radius=4.3, depth=9.0, chamfer=0.9, thread=1.45, turn=start + hole[0])
    for hole in bolts:
        drill(scene, pose, hole, radius=1.75, depth=8.0, chamfer=0.45, thread=None, turn=0.0)
    for hole in _DOWELS:
        drill(scene, pose, hole, radius=2.1, depth=8.0, chamfer=0.35, thread=None, turn=0.0)
    drill(scene, pose, (0.0, 0.0), radius=_BORE, depth=13.0, chamfer=1.3, thread=1.8, turn=start)
    _weather(scene, rng)
    if defect in ("scratch", "dent", "stain", "contamination"):
        _damage(scene, pose, defect, severity, harm)
    if defect == CUT:
        scene.fade(mat, _missing(pose, x, y, severity, harm))
    return scene


def drill(
    scene: Scene,
    pose: Pose,
    centre: tuple,
    *,
    radius: float,
    depth: float,
    chamfer: float,
    thread: float | None,
    turn: float,
) -> None:
    """Sink a through hole with a chamfer; the lens sees its far wall, with the crests of a `thread` of that pitch.

    A point at depth z appears nearer to the optical axis by the factor 1 - z / distance. The depth seen at a pixel
    inside the rim is the smaller root of `|q + c w|^2 = radius^2 (1 - w)^2`, with c the centre from the axis, q the
    pixel from the centre and w = z / distance.
    """
    where = pose.window(*centre, radius + chamfer + 0.5)
    cu, cv = pose.place(*centre)
    u, v = pose.axes()
    qu, qv = u[:, where[1]] - np.float32(cu), v[where[0]] - np.float32(cv)
    r = np.hypot(qu, qv)
    rim = scene.height[where]
    fall = 0.75 * np.clip(radius + chamfer - r, 0, chamfer)
    scene.height[where] = rim - fall.astype(np.float32)
    bevel = ramp(r, radius + chamfer + 0.1, radius + chamfer - 0.1)
    inside = np.clip((radius - r) / pose.pitch + 0.5, 0, 1).astype(np.float32)
    scene.tilt[(slice(None), *where)] *= 1 - bevel
    scene.grain[where] += bevel * (np.arctan2(qv, qu) + np.pi / 2 - scene.grain[where])
    scene.paint(bevel, where, rough=(0.10, 0.22))

    a = cu * cu + cv * cv - radius**2
    b = qu * cu + qv * cv + radius**2
    c = r**2 - radius**2
    w = np.clip(-c / (b + np.sqrt(np.maximum(b * b - a * c, 0)) + 1e-6), 0, 1)
    z = w * _CAMERA_DISTANCE
    wall = inside * ramp(z, depth + 0.25, depth - 0.25)
    nu, nv = (qu + cu * w) / radius, (qv + cv * w) / radius
    steep, seen = np.full_like(z, 2.2), 0.95 * np.exp(-z / (0.9 * depth))
    if thread is not None:
        crest = np.sin(2 * np.pi * z / thread + np.arctan2(nv, nu) + turn)
        steep = 1.9 - 1.25 * crest
        seen *= 0.55 + 0.45 * crest
    scene.tilt[0][where] += wall * (steep * nu)
    scene.tilt[1][where] += wall * (steep * nv)
    scene.paint(wall, where, rough=(0.3, 0.3))
    floor = inside * (1 - wall)
    scene.paint(floor, where, diffuse=(0.012, 0.012, 0.013), specular=(0.004, 0.004, 0.004), rough=0.4)
    scene.tilt[(slice(None), *where)] *= 1 - floor
    scene.opening[where] *= 1 - inside + wall * seen + floor * 0.35
    scene.depth[where] += inside * np.minimum(z / 40, 0.35)


def _drilling(defect: str | None, severity: float, harm: np.random.Generator) -> tuple[list, list]:
    """Return where the tapped holes and the bolt holes are drilled."""
    tapped, bolts = list(_TAPPED), list(_BOLTS)
    if defect != "misdrilled":
        return tapped, bolts
    holes = tapped if harm.random() < 0.5 else bolts
    which = int(harm.integers(len(holes)))
    if severity > 0.6:
        del holes[which]
        return tapped, bolts
    off, heading = 0.7 + 2.2 * severity, harm.uniform(0, 2 * np.pi)
    x, y = holes[which]
    holes[which] = (x + off * np.cos(heading), y + off * np.sin(heading))
    return tapped, bolts


def _mat(scene: Scene, rng: np.random.Generator) -> None:
    """Put a dark rubber mat under the part, out of focus."""
    scene.height -= 9
    scene.height += 0.05 * smooth_noise(rng, 7)
    scene.diffuse *= 1 + 0.18 * smooth_noise(rng, 9) + 0.15 * smooth_noise(rng, 90)
    scene.depth += 1


def _plate(scene: Scene, pose: Pose, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
    """Face-mill a plate with rounded corners: arcs of the cutter, one feed apart."""
    qx, qy = np.abs(x) - (_HALF - _CORNER), np.abs(y) - (_HALF - _CORNER)
    beyond = np.hypot(np.maximum(qx, 0), np.maximum(qy, 0)) + np.minimum(np.maximum(qx, qy), 0) - _CORNER
    cover = np.clip(0.5 - beyond / pose.pitch, 0, 1)
    scene.paint(cover, diffuse=_ALUMINIUM[0], specular=_ALUMINIUM[1], rough=(0.08, 0.23))
    scene.height += cover * (-0.7 * np.clip(beyond + 0.9, 0, 0.9) - scene.height)
    scene.depth *= 1 - cover
    cutter = np.float32(52 + rng.normal(0, 1.5))
    middle = np.float32(rng.normal(0, 2))
    chord = np.sqrt(np.maximum(cutter**2 - (y - middle) ** 2, 1))
    flat = cover * ramp(beyond, -0.7, -0.95)
    _cut(
        scene,
        x - chord + cutter,
        np.arctan2(np.ones_like(y), -(y - middle) / chord),
        flat,
        rng,
        feed=0.95,
        amplitude=0.13,
        turn=pose.angle,
    )
    engraving = pose.sample(_engraving(), 80.0) * flat
    scene.height -= 0.35 * engraving
    scene.paint(0.8 * engraving, diffuse=(0.03, 0.03, 0.03), specular=(0.30, 0.30, 0.31), rough=0.35)


def _boss(scene: Scene, x: np.ndarray, y: np.ndarray, pose: Pose, rng: np.random.Generator) -> None:
    """Turn a raised round face with a relief groove."""
    r = np.hypot(x, y)
    cover = np.clip(0.5 + (_BOSS - r) / pose.pitch, 0, 1)
    face = _BOSS_HEIGHT - 0.75 * np.clip(r - (_BOSS - 1.0), 0, 1.0)
    face -= 0.5 * ramp(np.abs(r - 12.9), 0.75, 0.45)
    fillet = 0.5 * np.clip(1 - (r - _BOSS) / 1.1, 0, 1) ** 2
    scene.height += cover * (face - scene.height) + (1 - cover) * fillet * (scene.height > -1)
    scene.tilt *= 1 - cover
    scene.paint(cover, diffuse=_ALUMINIUM[0], specular=_ALUMINIUM[1], rough=(0.06, 0.24))
    _cut(scene, r, np.arctan2(y, x) + np.pi / 2, cover, rng, feed=0.6, amplitude=0.15, turn=pose.angle)


def _cut(
    scene: Scene,
    s: np.ndarray,
    along: np.ndarray,
    cover: np.ndarray,
    rng: np.random.Generator,
    *,
    feed: float,
    amplitude: float,
    turn: float,
) -> None:
    """Leave tool marks: grooves one `feed` apart, each cut a little differently, running `along` (radians)."""
    stations = np.arange(-60.0, 60.0, 0.05)
    worn = np.interp(stations, np.arange(-61, 62, feed), 0.6 + 0.5 * rng.random(len(np.arange(-61, 62, feed))))
    marks = worn * np.sin(2 * np.pi * stations / feed + rng.uniform(0, 6.3))
    marks += np.convolve(rng.standard_normal(len(stations)), np.hanning(7) / 2, mode="same")
    slope = (amplitude * np.interp(s, stations, marks)).astype(np.float32) * cover
    grain = (along + turn).astype(np.float32)
    scene.tilt[0] += slope * np.sin(grain)
    scene.tilt[1] -= slope * np.cos(grain)
    scene.grain += cover * (grain - scene.grain)


def _weather(scene: Scene, rng: np.random.Generator) -> None:
    """Give the metal the faint clouds and specks that every good part has."""
    clouds = 1 + 0.035 * smooth_noise(rng, 110) + 0.025 * smooth_noise(rng, 30) + 0.05 * smooth_noise(rng, 1.6)
    scene.specular *= np.clip(clouds, 0.7, 1.3)
    scene.tilt[0] += 0.012 * smooth_noise(rng, 3)
    scene.tilt[1] += 0.012 * smooth_noise(rng, 3)


def _damage(scene: Scene, pose: Pose, defect: str, severity: float, harm: np.random.Generator) -> None:
    spot = _spot(harm)
    if defect == "scratch":
        path = wander(harm, spot, harm.uniform(0, np.pi), 6 + 20 * severity, 0.25)
        while not _on_metal(*path.T, margin=1.5):
            path = wander(harm, _spot(harm), harm.uniform(0, np.pi), 6 + 20 * severity, 0.25)
        width, depth = 0.20 + 0.16 * severity, 0.05 + 0.09 * severity
        scratch(scene, pose, path, harm, width=width, depth=depth, laid_bare=_FRESH)
    elif defect == "dent":
        radius = 1.3 + 2.4 * severity
        dent(scene, pose, spot, harm, radius=radius, depth=radius * (0.13 + 0.13 * severity))
    elif defect == "stain":
        _oil(scene, pose, spot, severity, harm)
    else:
        _swarf(scene, pose, spot, severity, harm)


def _missing(pose: Pose, x: np.ndarray, y: np.ndarray, severity: float, harm: np.random.Generator) -> np.ndarray:
    """Where a corner, a side, a bite around a tapped hole or the boss is gone, 0 to 1."""
    which, turn, lean = harm.integers(4), harm.integers(4) * np.pi / 2, harm.normal(0, 0.12)
    if which < 2:
        heading, kept = turn + lean + np.pi / 4 * which, (34 - 26 * severity, 45 - 25 * severity)[which]
        beyond = x * np.cos(heading) + y * np.sin(heading) - kept
    elif which == 2:
        hole = _TAPPED[harm.integers(len(_TAPPED))]
        beyond = 7 + 13 * severity - np.hypot(x - hole[0], y - hole[1])
    else:
        beyond = _BORE + 1 + (_BOSS - _BORE) * severity - np.hypot(x, y)
    return np.clip(0.5 + beyond / pose.pitch, 0, 1).astype(np.float32)


def _spot(harm: np.random.Generator) -> tuple[float, float]:
    """Return a place on the metal that is clear of every hole and edge."""
    while True:
        x, y = harm.uniform(-_HALF, _HALF, 2)
        if _on_metal(x, y, margin=3.5):
            return float(x), float(y)


def _on_metal(x: np.ndarray | float, y: np.ndarray | float, margin: float) -> bool:
    """Return whether all the points lie on one face of the part, `margin` mm or more from its holes and edges."""
    r = np.hypot(x, y)
    holes = ((_TAPPED, 5.2), (_BOLTS, 2.2), (_DOWELS, 2.5))
    clear = all(np.all(np.hypot(x - a, y - b) > size + margin - 1) for places, size in holes for a, b in places)
    boss = np.all((r > _BORE + 1.5 + 0.5 * margin) & (r < _BOSS - 1 - 0.4 * margin))
    plate = np.all((r > _BOSS + margin - 0.5) & (np.maximum(np.abs(x), np.abs(y)) < _HALF - margin))
    return bool(clear and (boss or plate))


def _oil(scene: Scene, pose: Pose, spot: tuple, severity: float, harm: np.random.Generator) -> None:
    """Dry a drop of coolant on the metal: a brown film, darkest at its rim."""
    where, away = blot(pose, spot, harm, 2.4 + 4.2 * severity)
    film = ramp(away, 0.04, -0.06) * (0.45 + 0.55 * np.exp(-0.5 * ((away + 0.08) / 0.09) ** 2))
    film *= np.clip(1 + 0.15 * smooth_noise(harm, 12, away.shape), 0.6, 1.3) * (0.35 + 0.4 * severity)
    scene.paint(film, where, diffuse=(0.060, 0.042, 0.022), specular=(0.24, 0.17, 0.09), rough=0.3)


def _swarf(scene: Scene, pose: Pose, spot: tuple, severity: float, harm: np.random.Generator) -> None:
    """Leave a curl of metal from the cutter on the part."""
    turns = np.linspace(0, 2 * np.pi * (0.6 + 1.5 * severity), 240)
    coil = (0.8 + 1.5 * severity) * (1 + 0.12 * turns / np.pi)
    heading = harm.uniform(0, 2 * np.pi)
    drift = 0.28 * coil * turns
    path = np.stack(
        [
            spot[0] + coil * np.cos(turns + heading) + drift * np.cos(heading),
            spot[1] + coil * np.sin(turns + heading) + drift * np.sin(heading),
        ],
        axis=1,
    )
    width = 0.30 + 0.22 * severity
    where, distance, place = stroke(pose, path - path.mean(axis=0) + spot, width + 3 * pose.pitch)
    inside = np.clip((width - distance) / pose.pitch + 0.5, 0, 1) * ramp(place, 0, 0.04) * ramp(place, 1, 0.94)
    arch = (
        0.5
        + 0.9 * np.sin(np.pi * place * (1 + 2 * severity)) ** 2
        + 0.35 * (1 - (np.minimum(distance, width) / width) ** 2)
    )
    scene.height[where] += (inside * arch).astype(np.float32)
    scene.tilt[(slice(None), *where)] *= 1 - inside
    scene.paint(inside.astype(np.float32), where, diffuse=(0.05, 0.05, 0.05), specular=(0.92, 0.93, 0.95), rough=0.22)


@cache
def _engraving() -> np.ndarray:
    """Return the part number as drawn, 80 mm square at 10 dots a mm."""
    picture = Image.new("L", (800, 800))
    draw = ImageDraw.Draw(picture)
    draw.text((400, 718), "LP 204-7", font=ImageFont.load_default(46), fill=255, anchor="mm", stroke_width=1)
    return np.asarray(picture, dtype=np.float32) / 255
