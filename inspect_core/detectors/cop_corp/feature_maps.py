"""The maps Φ that make plain PCA a kernel method: the cosine map and random Fourier features."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import require_positive

_NORM_OFFSET = 1e-10
_SQUARES_MAY_OVERFLOW = 1e18


def precision_of(features: Tensor | np.ndarray) -> torch.dtype:
    """The precision a fit keeps: float64 for float64 features, float32 for everything else."""
    return torch.float64 if features.dtype in (torch.float64, np.float64) else torch.float32


def cosine(z: Tensor) -> Tensor:
    """Rows divided by their length: z / (‖z‖ + 1e-10), so that inner products become cosines.

    z: (..., m) float -> the same shape and dtype. The zero vector stays the zero vector. Rows whose squares could
    overflow float32 are scaled by their largest entry first; a norm that underflows is far below the offset anyway.
    Source: Fang et al., "Kernel PCA for out-of-distribution detection", the map of CoP.
    """
    largest = z.abs().amax(dim=-1, keepdim=True)
    scale = torch.where(largest > _SQUARES_MAY_OVERFLOW, largest, torch.ones_like(largest))
    scaled = z / scale
    return scaled / (scaled.norm(dim=-1, keepdim=True) + _NORM_OFFSET / scale)


def draw(m: int, M: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """One draw of random frequencies and phases, good for every γ and every smaller M.

    Returns w0 (M, m), standard normal, and u (M,), uniform on [0, 2π), both float64. The two come from child streams
    of the seed and w0 is drawn row by row, so a larger M extends a smaller one: common random numbers for a slider.
    Raises ValueError when m < 1 or M < 2.
    """
    _require_dimensions(m, M)
    frequencies, phases = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    w0 = frequencies.standard_normal((M, m))
    u = phases.uniform(0.0, 2.0 * np.pi, M)
    return torch.from_numpy(w0), torch.from_numpy(u)


def draw_orthogonal(m: int, M: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """As `draw`, with a smaller error: where the kernel is .3 or more, 512 are worth 1,024 independent ones.

    Frequencies come in blocks of up to m, at right angles to each other, with lengths as those of normal vectors (Yu et
    al. 2016, "Orthogonal random features"). Each is used twice, with phases a quarter turn apart: the two together
    estimate a kernel value without the noise of the phase. Raises ValueError for an odd M, which would leave one alone.
    """
    _require_dimensions(m, M)
    if M % 2:
        raise ValueError(f"M is {M}; orthogonal features come in pairs, so give an even number")
    frequencies, phases = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    pairs = M // 2
    rows = []
    for _ in range(-(-pairs // m)):
        normal, lengths = frequencies.standard_normal((m, m)), frequencies.standard_normal((m, m))
        directions, triangle = np.linalg.qr(normal)
        # Without the signs the directions are not uniform.
        rows.append(np.linalg.norm(lengths, axis=1)[:, None] * directions * np.sign(np.diag(triangle)))
    w0 = np.concatenate(rows)[:pairs].repeat(2, axis=0)
    u = np.add.outer(phases.uniform(0.0, 2.0 * np.pi, pairs), [0.0, np.pi / 2]).ravel() % (2.0 * np.pi)
    return torch.from_numpy(w0), torch.from_numpy(u)


def random_fourier(z: Tensor, w0: Tensor, u: Tensor, *, gamma: float) -> Tensor:
    """Random Fourier features sqrt(2/M) cos(sqrt(2γ) w0 z + u) of the kernel exp(-γ ‖a - b‖²).

    z: (..., m); w0: (M, m) standard normal, or half of it for two phases of each; u: (M,) phases -> (..., M) in z's
    dtype. √(2γ) is the standard deviation of the frequencies: Fang et al. print N(0, √(2γ) I), which holds only with
    √(2γ) read as a deviation.
    """
    frequencies = w0.to(z.dtype) * math.sqrt(2.0 * gamma)
    angles = z @ frequencies.T
    if len(w0) < len(u):
        angles = torch.stack([angles, angles], dim=-1).flatten(-2)[..., : len(u)]
    return (angles + u.to(z.dtype)).cos_().mul_(math.sqrt(2.0 / len(u)))


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Φ: (..., m) -> (..., D). The cosine map when `cosine` is set, then random Fourier features when drawn.

    m: width of the features. w0 (M, m), u (M,) and gamma come together; without them D = m.
    With neither, Φ is the identity and the detector plain PCA.
    """

    m: int
    cosine: bool
    w0: Tensor | None = None
    u: Tensor | None = None
    gamma: float | None = None
    _frequencies: Tensor | None = field(init=False, repr=False)  # each once where the draw has it twice

    def __post_init__(self) -> None:
        w0 = self.w0
        is_paired = w0 is not None and torch.equal(w0[: len(w0) // 2 * 2 : 2], w0[1::2])
        object.__setattr__(self, "_frequencies", w0[::2] if w0 is not None and is_paired else w0)

    @property
    def D(self) -> int:
        """Width of the mapped features."""
        return self.m if self.u is None else len(self.u)

    def __call__(self, z: Tensor) -> Tensor:
        mapped = cosine(z) if self.cosine else z
        if self._frequencies is None or self.u is None or self.gamma is None:
            return mapped
        return random_fourier(mapped, self._frequencies, self.u, gamma=self.gamma)

    def matches(self, other: "FeatureMap") -> bool:
        """Whether `other` maps every feature to the same numbers: one width, one γ, one draw."""
        if (self.m, self.D, self.cosine, self.gamma) != (other.m, other.D, other.cosine, other.gamma):
            return False
        if self.w0 is None or self.u is None or other.w0 is None or other.u is None:
            return self.u is other.u
        device = self.u.device
        return torch.equal(self.u, other.u.to(device)) and torch.equal(self.w0, other.w0.to(device))

    def to(self, device: torch.device) -> "FeatureMap":
        """The same map with its draw on `device`."""
        if self.w0 is None or self.u is None:
            return self
        return replace(self, w0=self.w0.to(device), u=self.u.to(device))


def identity_map(m: int) -> FeatureMap:
    """Φ(z) = z: plain PCA."""
    return FeatureMap(m, cosine=False)


def cosine_map(m: int) -> FeatureMap:
    """Φ of CoP: the cosine map alone."""
    return FeatureMap(m, cosine=True)


def cosine_fourier_map(m: int, *, gamma: float, M: int, seed: int = 0, orthogonal: bool = False) -> FeatureMap:
    """Φ of CoRP: random Fourier features of the cosine map, drawn from `seed` as published, or `orthogonal`.

    The draw is kept as float32 numbers, so that a model read from a file and the one just fitted use the same
    frequencies. Raises ValueError when gamma is not positive or M < 2.
    """
    require_positive(gamma, name="gamma", cure="give a kernel width parameter above 0, such as 1")
    w0, u = (draw_orthogonal if orthogonal else draw)(m, M, seed=seed)
    return FeatureMap(m, True, w0.float(), u.float(), float(gamma))


def _require_dimensions(m: int, M: int) -> None:
    if m < 1:
        raise ValueError(f"m is {m}; give the width of the features, at least 1")
    if M < 2:
        raise ValueError(f"M is {M}; use at least 2 random Fourier features, 256 or more to be useful")
