"""The components of the sample board, each drawn on its seat. Lengths in mm; `value` is what is printed on it.

See `images.synthetic.scene` for the conventions.
"""

import numpy as np

from sample_data.make.board.solids import GOLD, TIN, Seat, mark, nearer, solid
from sample_data.make.scene import Pose, Scene, ramp

_EPOXY = ((0.022, 0.022, 0.023), (0.035, 0.035, 0.035))
_CERAMIC = ((0.62, 0.61, 0.58), (0.03, 0.03, 0.03))


def _chip_ends(scene: Scene, pose: Pose, seat: Seat, length: float, wide: float, tall: float) -> None:
    """Wet both ends of a chip: concave fillets of solder against bright end caps."""
    for side in (-1, 1):

        def climb(across: np.ndarray, down: np.ndarray, side: int = side) -> np.ndarray:
            return 0.06 + 0.85 * tall * np.clip(0.5 - 0.5 * side * across, 0, 1) ** 2 * (1 - 0.3 * down**2)

        solid(
            scene,
            pose,
            seat,
            (side * (length + 0.26), 0, 0.30, wide * 0.95),
            top=0,
            material=TIN,
            rough=0.13,
            profile=climb,
        )
        solid(scene, pose, seat, (side * (length - 0.2), 0, 0.24, wide), top=tall, material=TIN, rough=0.17, bevel=0.1)


def resistor(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a thick-film chip: white ceramic, black glaze with its value, tinned ends."""
    _chip_ends(scene, pose, seat, 1.0, 0.62, 0.5)
    solid(scene, pose, seat, (0, 0, 0.62, 0.62), top=0.5, material=_CERAMIC, rough=0.3)
    solid(
        scene, pose, seat, (0, 0, 0.60, 0.53), top=0.53, material=((0.018, 0.018, 0.02), (0.05, 0.05, 0.05)), rough=0.14
    )
    mark(scene, pose, seat, value, height=0.66, tone=(0.75, 0.75, 0.73), cover=0.9)


def capacitor(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a ceramic chip capacitor: a plain tan block with tinned ends."""
    _chip_ends(scene, pose, seat, 1.0, 0.62, 0.8)
    solid(
        scene,
        pose,
        seat,
        (0, 0, 0.62, 0.61),
        top=0.8,
        material=((0.34, 0.22, 0.12), (0.04, 0.04, 0.04)),
        rough=0.2,
        bevel=0.14,
    )


def led(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a small LED: a white frame with a clear dome over a yellow die."""
    _chip_ends(scene, pose, seat, 1.05, 0.62, 0.35)
    solid(scene, pose, seat, (0, 0, 0.72, 0.62), top=0.4, material=((0.75, 0.74, 0.68), (0.04, 0.04, 0.04)), rough=0.2)

    def dome(across: np.ndarray, down: np.ndarray) -> np.ndarray:
        return 0.55 + 0.25 * np.sqrt(np.clip(1 - across**2 - 0.5 * down**2, 0, 1))

    solid(
        scene,
        pose,
        seat,
        (0, 0, 0.46, 0.5),
        top=0,
        material=((0.62, 0.50, 0.10), (0.06, 0.06, 0.06)),
        rough=0.1,
        corner=0.3,
        profile=dome,
    )


def crystal(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a crystal in its drawn metal can."""
    _chip_ends(scene, pose, seat, 2.45, 1.1, 0.25)
    solid(scene, pose, seat, (0, 0, 2.5, 1.6), top=0.5, material=TIN, rough=0.2, corner=0.4, bevel=0.15)
    solid(
        scene,
        pose,
        seat,
        (0, 0, 2.3, 1.4),
        top=1.1,
        material=((0.04, 0.04, 0.04), (0.62, 0.61, 0.58)),
        rough=0.15,
        corner=1.0,
        bevel=0.35,
    )
    mark(scene, pose, seat, "16.000", height=0.85, tone=(0.02, 0.02, 0.02), cover=0.8)


def soic(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw an eight-lead package."""
    for side in (-1, 1):
        for j in range(4):
            _lead(
                scene,
                pose,
                Seat(*seat.spot(side * 2.0, (j - 1.5) * 1.27), seat.angle + (0 if side > 0 else np.pi)),
                1.15,
                0.2,
            )
    _package(scene, pose, seat, 1.95, 2.45, 1.5)
    mark(
        scene, pose, Seat(seat.x, seat.y, seat.angle + np.pi / 2), value, height=1.0, tone=(0.26, 0.26, 0.25), cover=0.8
    )
    _dimple(scene, pose, seat, -1.35, -1.8, 0.28)


def quad(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a thin quad package with eight leads a side."""
    for quarter in range(4):
        turned = Seat(seat.x, seat.y, seat.angle + quarter * np.pi / 2)
        for i in range(8):
            _lead(scene, pose, Seat(*turned.spot(3.5, (i - 3.5) * 0.8), turned.angle), 1.05, 0.165)
    _package(scene, pose, seat, 3.5, 3.5, 1.1)
    x, y = seat.spot(0.1, -0.7)
    mark(scene, pose, Seat(x, y, seat.angle), value, height=1.05, tone=(0.24, 0.24, 0.23), cover=0.8)
    x, y = seat.spot(0.1, 0.9)
    mark(scene, pose, Seat(x, y, seat.angle), "2438 A7", height=0.8, tone=(0.22, 0.22, 0.21), cover=0.75)
    _dimple(scene, pose, seat, -2.6, -2.6, 0.36)


def _lead(scene: Scene, pose: Pose, seat: Seat, length: float, half: float) -> None:
    """Bend one gull-wing lead outwards from the package, at +x of its seat, with solder at the toe."""

    def wing(across: np.ndarray, down: np.ndarray) -> np.ndarray:
        return 0.16 + 0.55 * ramp(across, 0.15, -0.75)

    def toe(across: np.ndarray, down: np.ndarray) -> np.ndarray:
        return 0.22 * (1 - 0.5 * down**2) * np.clip(0.5 - 0.5 * across, 0, 1)

    solid(
        scene,
        pose,
        seat,
        (length + 0.2, 0, 0.25, half * 1.15),
        top=0,
        material=TIN,
        rough=0.14,
        corner=0.05,
        profile=toe,
    )
    solid(
        scene,
        pose,
        seat,
        (length / 2, 0, length / 2, half),
        top=0,
        material=TIN,
        rough=0.16,
        bevel=0.05,
        corner=0.03,
        profile=wing,
    )


def _package(scene: Scene, pose: Pose, seat: Seat, wide: float, high: float, top: float) -> None:
    solid(scene, pose, seat, (0, 0, wide, high), top=top * 0.6, material=_EPOXY, rough=0.3)
    solid(scene, pose, seat, (0, 0, wide - 0.06, high - 0.06), top=top, material=_EPOXY, rough=0.3, bevel=0.22)


def _dimple(scene: Scene, pose: Pose, seat: Seat, x: float, y: float, radius: float) -> None:
    where = pose.window(*seat.spot(x, y), radius)
    px, py = seat.grid(pose, where)
    round_off = np.hypot(px - x, py - y) / radius
    scene.height[where] -= 0.09 * ramp(round_off, 1.0, 0.75)
    scene.paint(0.8 * ramp(round_off, 1.0, 0.8), where, rough=0.14)


def inductor(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a moulded power inductor."""
    _chip_ends(scene, pose, seat, 2.75, 1.3, 0.4)
    solid(
        scene,
        pose,
        seat,
        (0, 0, 2.65, 2.6),
        top=2.2,
        material=((0.055, 0.055, 0.06), (0.03, 0.03, 0.03)),
        rough=0.35,
        corner=0.5,
        bevel=0.25,
    )
    mark(scene, pose, seat, value, height=1.7, tone=(0.62, 0.62, 0.60), cover=0.85)


def can(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw an electrolytic capacitor: an aluminium can on a black foot, its top nearer to the camera than its foot."""
    for side in (-1, 1):
        solid(scene, pose, seat, (side * 3.3, 0, 0.55, 0.36), top=0.2, material=TIN, rough=0.16)
    solid(scene, pose, seat, (0, 0, 3.3, 3.3), top=0.6, material=_EPOXY, rough=0.3, corner=0.9)
    aluminium = ((0.05, 0.05, 0.05), (0.78, 0.79, 0.80))
    for z in np.linspace(0.8, 5.4, 9):
        leaning = nearer(seat, z)
        solid(
            scene,
            pose,
            leaning,
            (0, 0, 3.12, 3.12),
            top=z,
            material=aluminium if z > 5.3 else ((0.04, 0.04, 0.04), (0.3, 0.3, 0.3)),
            rough=0.2,
            corner=3.1,
            bevel=0.4,
        )
    seat = nearer(seat, 5.4)
    where = pose.window(seat.x, seat.y, 3.2)
    x, y = seat.grid(pose, where)
    r = np.hypot(x, y)
    scene.height[where] -= 0.16 * ramp(r, 2.75, 2.55)
    scene.paint(
        ramp(r, 2.6, 2.5) * ramp(x, -1.05, -1.15),
        where,
        diffuse=(0.02, 0.02, 0.03),
        specular=(0.03, 0.03, 0.03),
        rough=0.3,
    )
    for text, dy, size in ((value, -0.7, 1.25), ("25V", 0.9, 0.95)):
        px, py = seat.spot(0.6, dy)
        mark(scene, pose, Seat(px, py, seat.angle), text, height=size, tone=(0.01, 0.01, 0.01), cover=1.0)


def header(scene: Scene, pose: Pose, seat: Seat, value: str) -> None:
    """Draw a row of eight gilded pins in a black strip."""
    for i in range(8):
        solid(
            scene,
            pose,
            seat,
            ((i - 3.5) * 2.54, 0, 1.24, 1.24),
            top=2.3,
            material=_EPOXY,
            rough=0.25,
            corner=0.3,
            bevel=0.2,
        )
    for i in range(8):
        for z in np.linspace(2.4, 6.0, 6):
            pin = nearer(Seat(*seat.spot((i - 3.5) * 2.54, 0), seat.angle), z)
            solid(
                scene,
                pose,
                pin,
                (0, 0, 0.33, 0.33),
                top=2.6 + 0.2 * (z - 2.4),
                material=GOLD,
                rough=0.15,
                bevel=0.12,
                corner=0.05,
            )


DRAW = {
    "resistor": resistor,
    "capacitor": capacitor,
    "led": led,
    "crystal": crystal,
    "soic": soic,
    "inductor": inductor,
    "can": can,
    "header": header,
    "quad": quad,
}
