"""A small assembled circuit board: traces under green mask, white print, soldered components, plated holes.

The board lies in a fixture; every component has its own small, harmless placement error. Lengths in mm.
"""

from dataclasses import replace

import numpy as np

from sample_data.make.board.artwork import EXTENT, HALF, PADS, PARTS, Part, artwork
from sample_data.make.board.parts import DRAW
from sample_data.make.board.solids import GOLD, TIN, Seat, blob
from sample_data.make.marks import blot, scratch, wander
from sample_data.make.scene import Light, Pose, Scene, ramp, smooth_noise

KINDS = ("flux_residue", "misaligned", "missing_part", "scratch", "solder_bridge")
FIELD = 44.0
SKY = (0.40, 0.41, 0.42)

_COPPER = ((0.30, 0.13, 0.06), (0.60, 0.36, 0.22))
# Components that can be gone or askew, from the least to the most conspicuous.
_LOOSE = (("C1", "C2", "R4", "R7"), ("C3", "C4", "R1", "R8"), ("D1", "U2", "Y1"), ("C6", "L1"))


def draw_pose(rng: np.random.Generator) -> Pose:
    """Return how the board was laid in the fixture."""
    shift = np.clip(rng.normal(0, 0.22, 2), -0.5, 0.5)
    return Pose((float(shift[0]), float(shift[1])), float(np.deg2rad(np.clip(rng.normal(0, 0.5), -1.2, 1.2))), FIELD)


def draw_lights(rng: np.random.Generator) -> tuple[Light, ...]:
    """Return a lamp from the upper left and a weaker one from the lower right."""
    turn = np.deg2rad(rng.normal(0, 1.2))
    return (
        Light(np.deg2rad(-125) + turn, np.deg2rad(54), (1.30, 1.25, 1.18), 0.13),
        Light(np.deg2rad(35) + turn, np.deg2rad(45), (0.34, 0.36, 0.40), 0.22),
    )


def build(
    pose: Pose, rng: np.random.Generator, defect: str | None, severity: float, harm: np.random.Generator
) -> Scene:
    """Return one board. `rng` decides the good board, `harm` only the defect."""
    scene = Scene.flat((0.03, 0.03, 0.032), (0.02, 0.02, 0.02), 0.4)
    _laminate(scene, pose, rng)
    if defect == "scratch":
        _scrape(scene, pose, severity, harm)
    seats = {}
    for part in PARTS:
        free = 0.3 if part.shape in ("header", "quad") else 1.0
        dx, dy, turn = np.clip(rng.normal(0, 1, 3), -2, 2) * (0.05, 0.05, 0.010)
        seats[part.name] = Seat(part.x + free * dx, part.y + free * dy, np.deg2rad(part.turn) + free * turn)
    if defect == "misaligned":
        name = str(harm.choice(_LOOSE[int(3 * severity)]))
        seats[name] = _knocked(seats[name], severity if name not in ("Y1", "U2") else 0.4 * severity, harm)
    if defect == "missing_part":
        del seats[str(harm.choice(_LOOSE[int(4 * severity)]))]
    for part in PARTS:
        if part.name in seats:
            DRAW[part.shape](scene, pose, seats[part.name], part.value)
    if defect == "solder_bridge":
        _bridge(scene, pose, severity, harm)
    if defect == "flux_residue":
        _flux(scene, pose, severity, harm)
    _speckle(scene, rng)
    return scene


def _laminate(scene: Scene, pose: Pose, rng: np.random.Generator) -> None:
    """Lay the board on a dark table: laminate, copper, mask, print, drills and solder on bare pads."""
    layers = artwork()
    scene.height -= 4
    scene.depth += 1
    x, y = pose.grid()
    beyond = np.maximum(np.abs(x), np.abs(y)) - HALF
    board = np.clip(0.5 - beyond / pose.pitch, 0, 1)
    copper, bare, white, drill, solder = (
        pose.sample(layer, EXTENT)
        for layer in (layers.copper, layers.openings, layers.print, layers.drills, layers.solder)
    )
    scene.height += board * (4 + 0.035 * copper)
    scene.depth *= 1 - board
    weave = np.sin(2 * np.pi * x / 0.55) * np.sin(2 * np.pi * y / 0.55)
    tone = 1 + 0.03 * weave * (1 - copper) + 0.04 * smooth_noise(rng, 120)
    scene.paint(board, diffuse=(0.006, 0.042, 0.022), specular=(0.045, 0.045, 0.045), rough=0.10)
    scene.paint(board * copper, diffuse=(0.010, 0.098, 0.040))
    scene.diffuse *= 1 + board * (tone - 1)
    scene.tilt += 0.018 * board * np.stack([smooth_noise(rng, 22), smooth_noise(rng, 22)])
    scene.paint(bare * board, diffuse=(0.16, 0.13, 0.06), specular=(0.02, 0.02, 0.02), rough=0.3)
    scene.paint(bare * copper, diffuse=GOLD[0], specular=GOLD[1], rough=0.2)
    ink = 0.93 * white * (1 - bare) * np.clip(1 + 0.08 * smooth_noise(rng, 3), 0, 1)
    scene.paint(ink, diffuse=(0.72, 0.72, 0.69), specular=(0.03, 0.03, 0.03), rough=0.3)
    scene.height += 0.02 * ink
    wet = ramp(solder, 0.01, 0.05)
    scene.height += solder * (1 + 0.12 * smooth_noise(rng, 25))
    scene.paint(wet, diffuse=TIN[0], specular=TIN[1], rough=0.14)
    scene.paint(drill, diffuse=(0.008, 0.008, 0.008), specular=(0.0, 0.0, 0.0), rough=0.4)
    scene.height -= 1.2 * drill
    scene.opening *= 1 - 0.75 * drill


def _speckle(scene: Scene, rng: np.random.Generator) -> None:
    """Roughen plastic and metal faintly, so that no surface is perfectly even."""
    grain = smooth_noise(rng, 2.0)
    scene.diffuse *= 1 + 0.05 * grain
    scene.specular *= 1 + 0.06 * grain + 0.03 * smooth_noise(rng, 40)


def _knocked(seat: Seat, severity: float, harm: np.random.Generator) -> Seat:
    """Push a component off its pads and turn it."""
    off, heading = 0.28 + 0.55 * severity, harm.uniform(0, 2 * np.pi)
    turn = np.deg2rad((5 + 22 * severity) * harm.choice((-1, 1)))
    return replace(seat, x=seat.x + off * np.cos(heading), y=seat.y + off * np.sin(heading), angle=seat.angle + turn)


def _open_ground(harm: np.random.Generator) -> tuple[float, float]:
    """Return a place on the board that no component covers."""
    large = {"quad": 6.0, "soic": 4.4, "can": 4.8, "inductor": 4.4, "crystal": 3.8}
    while True:
        x, y = harm.uniform(-HALF + 3, HALF - 3, 2)
        if y < 14 and all(np.hypot(x - p.x, y - p.y) > large.get(p.shape, 1.8) for p in PARTS):
            return float(x), float(y)


def _scrape(scene: Scene, pose: Pose, severity: float, harm: np.random.Generator) -> None:
    """Score the mask down to bright copper, before the components went on."""
    path = wander(harm, _open_ground(harm), harm.uniform(0, np.pi), 2.5 + 9 * severity, 0.3)
    scratch(scene, pose, path, harm, width=0.13 + 0.12 * severity, depth=0.03 + 0.03 * severity, laid_bare=_COPPER)


def _bridge(scene: Scene, pose: Pose, severity: float, harm: np.random.Generator) -> None:
    """Join neighbouring leads of the quad package with solder, and throw a few solder balls when it is plain."""
    quad = next(part for part in PARTS if part.shape == "quad")
    seat = Seat(quad.x, quad.y, float(harm.integers(4)) * np.pi / 2)
    first, joined = int(harm.integers(0, 5)), 1 + int(severity * 2.4)
    middle = first + joined / 2 - 3.5
    x, y = seat.spot(4.45 + harm.uniform(-0.1, 0.15), middle * 0.8)
    blob(scene, pose, x, y, (0.36 + 0.14 * severity, 0.4 * joined + 0.10), 0.30 + 0.12 * severity, seat.angle)
    for _ in range(int(severity * 4)):
        radius = harm.uniform(0.14, 0.26)
        ball = seat.spot(harm.uniform(5.6, 7.6), 0.8 * middle + harm.uniform(-2.5, 2.5))
        blob(scene, pose, *ball, (radius, radius), radius + 0.1)


def _flux(scene: Scene, pose: Pose, severity: float, harm: np.random.Generator) -> None:
    """Let a drop of flux dry on the board: an amber varnish with a whitish rim."""
    part: Part = PARTS[int(harm.integers(len(PARTS) - 2))]
    pad = PADS[part.shape][0]
    spot = (part.x + pad[0] + harm.normal(0, 1), part.y + pad[1] + harm.normal(0, 1))
    where, away = blot(pose, spot, harm, 1.2 + 2.4 * severity)
    low = ramp(scene.height[where], 1.0, 0.5)
    film = (0.28 + 0.4 * severity) * ramp(away, 0.05, -0.08) * low
    rim = (0.30 + 0.35 * severity) * np.exp(-0.5 * ((away + 0.02) / 0.055) ** 2) * low
    scene.paint(film, where, diffuse=(0.17, 0.105, 0.025), specular=(0.09, 0.085, 0.07), rough=0.07)
    scene.paint(rim, where, diffuse=(0.42, 0.40, 0.34))
    scene.height[where] += 0.05 * film
