"""Kernel PCA novelty detection on a seeded sample of the good patches (Hoffmann 2007)."""

import numpy as np
from torch import Tensor, nn

from inspect_core.detectors.kernel_pca import KernelPCA, fit, suggest_sigma
from inspect_core.detectors.kernels import GaussianKernel
from inspect_core.methods.graphs import Graph, as_rows, constant
from inspect_core.methods.method import Control, Costs, Option, Parameters, Patches, Tell, Workload
from inspect_core.methods.patch_sampling import PatchSampleMethod, PatchSampler
from inspect_core.methods.subspace import Q, on_alike
from inspect_core.recipe_format.arrays import ROW_BYTES


class KernelPCAMethod(PatchSampleMethod):
    title = "Exact texture"
    use_case = "For textures with few photos: compares every patch with a sample of good patches, in full precision."
    reference = "Kernel PCA for novelty detection (Hoffmann 2007)"
    published_words = (
        "Kernel and score are Hoffmann's, who has no photos: patches, layers and grid are those of Kim et "
        "al.; the sample of 1,000 patches, σ and q are Loupe's."
    )
    rank = 4
    defaults = {"sigma": None, "q": None, "patches": 1000}
    detector_class = KernelPCA
    ensemble_rank = 4
    comparison_detectors = ("mahalanobis+kernel_pca", "kernel_pca")
    options = {"sigma": Option("width of the Gaussian kernel", float), "q": Option("components kept")}
    live_parameter = "q"
    refit_parameters = ("sigma",)
    controls = {
        "q": Q,
        "sigma": Control(
            "Width (σ)",
            "units of the features",
            "lower resolves finer changes but is noisier on good parts",
            "How similar a good patch must be to count. Lower resolves finer changes but is noisier on good parts. "
            "Kernel exp(-d² / 2σ²) between patches (Hoffmann 2007).",
        ),
    }
    space = (
        "Coordinates on the q principal components in kernel space; patches unlike any good one fall together there."
    )

    def finish(self, statistics: PatchSampler, seed: int, parameters: Parameters, report: Tell) -> KernelPCA:
        sample = statistics.rows()
        sigma = parameters["sigma"] or suggest_sigma(sample, seed=seed)
        return fit(sample, sigma=sigma, q=None if parameters["q"] is None else int(parameters["q"]))

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """Eigenvectors of the kernel matrix of a sample, and kernel values of every patch shown."""
        n = int(parameters["patches"])
        memory = 48 * n * n + 48 * n * work.width + 64 * work.width**2 + 2 * ROW_BYTES * max(n, work.width)
        return Costs(3e-10 * n**3 + 5e-8 * work.places * work.shown * n, memory)

    def score(self, detector: KernelPCA, patches: Tensor, value: int | None) -> Tensor:
        if value is not None and value > detector.rank:
            raise ValueError(f"q is {value}, above the rank {detector.rank} of the fit; keep fewer components")
        return super().score(detector, patches, value)

    def max_value(self, detector: KernelPCA) -> int:
        return detector.rank

    def start(self, detector: KernelPCA) -> int:
        return min(detector.q, detector.rank)

    def ceiling(self, detector: KernelPCA, value: int) -> float:
        return detector.ceiling(value)

    def variances(self, detector: KernelPCA) -> Tensor:
        return detector.eigenvalues

    def to_space(self, detector: KernelPCA, features: Tensor, places: np.ndarray, value: int | None) -> Tensor:
        """f_l(z), l <= q: coordinates along the principal components in kernel space (Hoffmann 2007, eq. 9)."""
        z = features.to(detector.x.device).double()
        values = detector.kernel(z, detector.x)
        centred = values - values.mean(dim=-1, keepdim=True) - detector.row_mean + detector.row_mean.mean()
        return (centred @ detector.alpha[:, : detector.q if value is None else value]).float()

    def fit_warning(self, detector: KernelPCA, patches: Patches, parameters: Parameters, value: int) -> str | None:
        if 0 < detector.rank < (asked := parameters["q"] or 0):
            return (
                f"q = {asked:g} was requested, but the good photos support only {detector.rank}; {detector.rank} is "
                "used."
            )
        return on_alike(detector.rank, patches)

    def graph(self, detector: KernelPCA, columns: Tensor | None, value: int) -> Graph:
        return columns, KernelSpaceErrors(detector, value)


class KernelSpaceErrors(nn.Module):
    """`KernelPCA.score` with a Gaussian kernel and q components, in float64."""

    origin: Tensor
    samples: Tensor
    squares: Tensor
    offset: Tensor
    alpha: Tensor
    grand_mean: Tensor

    def __init__(self, detector: KernelPCA, q: int) -> None:
        super().__init__()
        assert isinstance(detector.kernel, GaussianKernel)  # the only kernel that recipes hold
        self.rate = -0.5 / detector.kernel.sigma**2
        origin = detector.x.mean(0)
        samples = detector.x - origin
        grand_mean = detector.row_mean.mean()
        constant(self, origin=origin, samples=samples.T, squares=samples.square().sum(-1), grand_mean=grand_mean,
                 offset=detector.row_mean - grand_mean, alpha=detector.alpha[:, :q])  # fmt: skip

    def forward(self, features: Tensor) -> Tensor:
        z = as_rows(features).double() - self.origin
        squared = (z.square().sum(-1, keepdim=True) + self.squares - 2.0 * (z @ self.samples)).clamp(min=0.0)
        # exp(-d2 / 2 sigma2) - 1, like the detector's kernel: the constant cancels below.
        values = (squared * self.rate).exp() - 1.0
        mean = values.mean(-1, keepdim=True)
        projected = ((values - self.offset - mean) @ self.alpha).square().sum(-1)
        return (self.grand_mean - 2.0 * mean[..., 0] - projected).float().unflatten(1, features.shape[2:])


METHOD = KernelPCAMethod()
