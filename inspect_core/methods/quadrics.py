"""Quadric hypersurface intersection on a seeded sample of the good patches (Pavutnitskiy et al. 2022)."""

import math

import torch
from torch import Tensor, nn

from inspect_core.detectors.quadrics import Quadrics, fit, fit_algebraic_hs
from inspect_core.detectors.quadrics.algebraic import monomial_count
from inspect_core.detectors.quadrics.distances import hilbert_schmidt_norm, monomial_coefficients
from inspect_core.detectors.quadrics.fitting import PENALTY_WARNING
from inspect_core.detectors.quadrics.forecast import forecast_seconds
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import PUBLISHED, Control, Costs, Option, Parameters, Patches, Tell, Workload
from inspect_core.methods.patch_sampling import PatchSampleMethod, PatchSampler

MOST = 100
_MOST_ON_TEACH = 300
_RATE = 4e10
"""Operations per second on two cores, from `benchmarks.methods.quadrics_costs`."""


def count(components: int, parameters: Parameters) -> int:
    """The m requested, else MOST or as many as that number of components allows."""
    return min(MOST, monomial_count(components)) if parameters["m"] is None else int(parameters["m"])


class QuadricsMethod(PatchSampleMethod):
    title = "Curved texture"
    use_case = "For textures with large variation: learns curved surfaces that the good patches lie on."
    reference = "Quadric hypersurface intersection (Pavutnitskiy et al. 2022)"
    published_words = (
        "100 quadrics and the robust fit are those of Pavutnitskiy et al., who score whole images: patches, "
        "layers and grid are those of Kim et al.; 48 components and the sample of patches are Loupe's."
    )
    rank = 5
    defaults = {"m": None, "components": 48, "robust": 0, "patches": 16_384}
    detector_class = Quadrics
    taps = "expansions"
    ensemble_rank = 2
    candidates = ("quadrics", "mahalanobis+quadrics")
    published = PUBLISHED | {"robust": 1}
    options = {
        "components": Option(
            "principal components that quadrics are fitted in",
            label="Components",
            help="Main directions in which the good patches vary; the surfaces are fitted in these. More components "
            "capture finer changes; training time grows at least with their square.",
            values=range(16, 89, 8),
        ),
        "m": Option(
            "number of quadrics",
            label="m, at most",
            help="Curved surfaces fitted to the good patches. Every smaller m can be tried live afterwards. Training "
            "time grows with m.",
        ),
        "robust": Option(
            "quadrics: 1 refines the closed form robustly",
            bool,
            label="Robust fit",
            help=(
                "Off (recommended): closed-form fit, takes seconds; has detected more defects on real parts. On: "
                "robust refinement that tolerates a few bad patches among the good ones (the published method); "
                "takes minutes."
            ),
        ),
    }
    live_parameter = "m"
    controls = {
        "m": Control(
            "Surfaces (m)",
            "curved surfaces, best first",
            "more give a more stable heatmap",
            "More surfaces check a patch from more sides; with few, defects can slip through. "
            "The score is the mean distance to the first m of the fitted quadrics (Pavutnitskiy et al. 2022), which is "
            "not quite a fit with m of them.",
        )
    }

    def finish(self, statistics: PatchSampler, seed: int, parameters: Parameters, report: Tell) -> Quadrics:
        sample = statistics.rows()
        components = min(int(parameters["components"]), sample.shape[1])
        m = count(components, parameters)
        report(0.0)
        if not parameters["robust"]:
            return fit_algebraic_hs(sample, m=m, components=components)
        return fit(sample, m=m, components=components, seed=seed, progress=report)

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """The closed form, the refinement when it is robust, and the distances of every patch shown."""
        n = int(parameters["patches"])
        d = min(int(parameters["components"]), work.width)
        m = count(d, parameters)
        scoring = 1.7 * work.places * work.shown * m * d * d
        fitting = forecast_seconds(n, d, m, operations_per_second=_RATE, refined=bool(parameters["robust"]))
        return Costs(fitting + scoring / _RATE, 8 * n * work.width + 32 * d**4)

    def max_value(self, detector: Quadrics) -> int:
        return len(detector.c)

    def slider_values(self, name: str, chosen: Parameters, tiles: TilePlan | None) -> tuple[range, int]:
        if name != "m":
            return super().slider_values(name, chosen, tiles)
        return range(10, min(_MOST_ON_TEACH, monomial_count(int(chosen["components"]))) + 1, 10), MOST

    def spectrum(self, detector: Quadrics) -> str:
        return (
            f"{len(detector.c)} curved surfaces were fitted in {detector.A.shape[1]} components, which hold "
            f"{detector.kept_variance:.1%} of the variance of the good patches."
        )

    def fit_warning(self, detector: Quadrics, patches: Patches, parameters: Parameters, value: int) -> str | None:
        r = detector.A.shape[1]
        if min(int(parameters["patches"]), patches.photos * math.prod(patches.grid)) < monomial_count(r) + r + 1:
            return "Too few good photos: the surfaces overfit and say little about new parts. Add good photos."
        if detector.start == "random":
            return (
                f"The fit started from random values because {r} components are too many for the closed form; fewer "
                "components give more stable results."
            )
        if detector.penalty_value > PENALTY_WARNING:
            return f"Some of the m = {len(detector.c)} surfaces partly duplicate others. Teach with a smaller m."
        return None

    def graph(self, detector: Quadrics, columns: Tensor | None, value: int) -> Graph:
        """The reduction to the fit's coordinates, which is linear, as columns for the channels."""
        basis = torch.eye(len(detector.shift)) if columns is None else columns
        return _coordinates(basis.double(), detector).float(), QuadricDistances(detector, value)


class QuadricDistances(nn.Module):
    """`Quadrics.score` with the first m, for points in the coordinates of the fit, not yet shifted."""

    first: Tensor
    second: Tensor
    quadratic: Tensor
    linear: Tensor
    offset: Tensor
    norm: Tensor
    shift: Tensor

    def __init__(self, detector: Quadrics, m: int) -> None:
        super().__init__()
        A, b, c = (part[:m].double().cpu() for part in (detector.A, detector.b, detector.c))
        first, second = torch.triu_indices(A.shape[1], A.shape[1])
        quadratic, linear, offset = monomial_coefficients(A, b, c).float().split([len(first), A.shape[1], 1], dim=1)
        norm = hilbert_schmidt_norm(A).float()[:, None]
        shift = _coordinates(detector.shift[None], detector).float().T
        constant(self, first=first, second=second, quadratic=quadratic, linear=linear, offset=offset, norm=norm,
                 shift=shift)  # fmt: skip
        self.unit = float(detector.scale)
        self.m = m

    def forward(self, features: Tensor) -> Tensor:
        x = features.flatten(2) - self.shift
        pairs = x.index_select(1, self.first) * x.index_select(1, self.second)
        forms = self.quadratic @ pairs + self.linear @ x + self.offset
        size = forms[:, : self.m].abs()
        square = forms[:, self.m :].clamp(min=0.0)
        root = (square + size * self.norm).sqrt() + square.sqrt()
        distances = torch.where(size == 0, size, size / root)
        return (distances.mean(1) * self.unit).unflatten(1, features.shape[2:])


def _coordinates(rows: Tensor, detector: Quadrics) -> Tensor:
    """(n, d) -> (n, r) float64: in the coordinates of the fit, but not centred."""
    rows = rows.double().cpu()
    reduced = rows if detector.basis is None else rows @ detector.basis.cpu()
    return reduced / detector.scale.cpu()


METHOD = QuadricsMethod()
