"""Parts as a conveyor brings them: shifted and turned, a belt around them that runs, a light that changes."""

from dataclasses import dataclass

import numpy as np

from sample_data.make.scene import CANVAS, Light, Pose, Scene, ramp, smooth_noise

ROOM = 1.25
"""Field of view over that of the part in its fixture: turned and shifted, all of the part is still seen."""
_RIB, _ROUGHNESS = 31, 5  # canvas pixels from one rib of the belt to the next, and of its grain


@dataclass(frozen=True)
class Conveyor:
    """How far parts lie from the middle and level, each drawn evenly.

    shift: of the field of view, right and down; turn: degrees; scale: share of the size; light: share of the exposure;
    lamp: degrees that the lamps turn.
    """

    shift: float = 0.08
    turn: float = 10.0
    scale: float = 0.0
    light: float = 0.15
    lamp: float = 4.0

    def pose(self, rng: np.random.Generator, field: float) -> Pose:
        """How a part is laid; field: of view in mm in its fixture."""
        x, y, turn, scale = rng.uniform(-1, 1, 4)
        wide = ROOM * field / (1 + self.scale * scale)
        return Pose((self.shift * wide * x, self.shift * wide * y), float(np.deg2rad(self.turn * turn)), wide)

    def lit(self, lights: tuple[Light, ...], rng: np.random.Generator) -> tuple[tuple[Light, ...], float]:
        """The lamps as they then stand, and the gain of the exposure."""
        turn = np.deg2rad(self.lamp * rng.uniform(-1, 1))
        turned = tuple(Light(light.azimuth + turn, light.elevation, light.colour, light.size) for light in lights)
        return turned, float(1 + self.light * rng.uniform(-1, 1))

    def lay_under(self, scene: Scene, rng: np.random.Generator) -> None:
        """Put a ribbed belt in place of what lies out of focus behind the part, at whatever place it has run to."""
        behind = ramp(scene.depth, 0.8, 1.0)
        along = np.arange(CANVAS, dtype=np.float32)[:, None] + rng.uniform(0, _RIB)
        ribs = np.broadcast_to(0.5 + 0.5 * np.sin(2 * np.pi * along / _RIB), (CANVAS, CANVAS)).astype(np.float32)
        grain = smooth_noise(rng, _ROUGHNESS)
        scene.paint(behind, diffuse=(0.030, 0.040, 0.048), specular=(0.02, 0.02, 0.02), rough=0.4)
        scene.diffuse *= 1 + behind * np.clip(0.9 * (ribs - 0.5) + 0.25 * grain, -0.9, 2)


RIGID = Conveyor()
SCALED = Conveyor(scale=0.03)
