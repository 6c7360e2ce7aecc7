"""The detectors a study can use: what each is for, how it learns from a stream of patches, and what moves live."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from inspect_core.detectors import baselines, kernel_pca, mahalanobis, quadrics
from inspect_core.detectors.feature_maps import FeatureMap, cosine_fourier_map, cosine_map, identity_map
from inspect_core.detectors.mapped_covariance import MappedCovariance
from inspect_core.detectors.pca_residual import KernelPCAMap
from inspect_core.method_costs import (
    BATCH,
    Costs,
    Parameters,
    Workload,
    covariance_costs,
    kernel_costs,
    mahalanobis_costs,
    quadric_costs,
    quadric_count,
)

STOPS = 64
WIDEST = 256


class Detector(Protocol):
    """A fitted detector: frozen arrays and a score, higher for stranger features."""

    def score(self, features: Tensor) -> Tensor: ...
    def arrays(self) -> dict[str, Tensor]: ...
    def params(self) -> dict: ...


@dataclass(frozen=True)
class Patches:
    """The good patches a detector learns from, never all in memory.

    count: photos; grid: (h, w); width: features of a patch; stream: yields (1, h, w, d) photo by photo, as often as
    it is called; sample: n -> (n, d) patches drawn with the study's seed, spread evenly over the photos; report: told
    the share done, 0 to 1, of what a fit does with its sample; raises Cancelled when the user has asked to stop.
    """

    count: int
    grid: tuple[int, int]
    width: int
    stream: Callable[[], Iterator[Tensor]]
    sample: Callable[[int], Tensor]
    report: Callable[[float], None]

    def batches(self, size: int = BATCH) -> Iterator[Tensor]:
        """(up to `size`, h, w, d), all photos once."""
        held: list[Tensor] = []
        for features in self.stream():
            held.append(features)
            if len(held) == size:
                yield torch.cat(held)
                held = []
        if held:
            yield torch.cat(held)


@dataclass(frozen=True)
class Method:
    """One row of the table.

    title and when: the words of the Teach page; reference: the paper; live: the parameter whose every smaller value
    comes from the same fit, or None; pool: side of the neighbourhood averaged before; project(d, seed, parameters):
    the columns applied to the joined channels; fit(patches, columns, seed, parameters) -> detector;
    score(detector, patches, value) and sweep(detector, patches, stops) take (1, h, w, k); top(detector): largest
    legal value of the live parameter; start(detector): the value to begin with; refits: parameters that a preview on
    a patch sample follows; costs: what a fit takes beyond the backbone.
    """

    title: str
    when: str
    reference: str
    defaults: Parameters
    live: str | None
    pool: int
    project: Callable[[int, int, Parameters], Tensor | None]
    fit: Callable[[Patches, Tensor | None, int, Parameters], Detector]
    score: Callable[[Any, Tensor, int | None], Tensor]
    sweep: Callable[[Any, Tensor, tuple[int, ...]], Tensor]
    top: Callable[[Any], int]
    start: Callable[[Any], int]
    costs: Callable[[Workload, Parameters], Costs]
    from_arrays: Callable[[Mapping[str, Tensor], Mapping], Detector]
    refits: tuple[str, ...] = ()


def stops_up_to(top: int, count: int = STOPS) -> tuple[int, ...]:
    """At most `count` whole numbers from 1 to `top`: all of the first half count, then round ones, and `top` itself."""
    if top <= count:
        return tuple(range(1, top + 1))
    dense = count // 2
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if top // step - dense // step + 1 <= count - dense)
    return tuple(sorted({*range(1, dense + 1), *range(step * (dense // step + 1), top + 1, step), top}))


def parameters_of(method: str, given: Parameters) -> dict[str, float | None]:
    """The method's defaults overlaid with what was given. Raises ValueError for a name the method does not know."""
    if method not in METHODS:
        raise ValueError(f"detector is {method!r}; choose one of {', '.join(METHODS)}")
    defaults = METHODS[method].defaults
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(f"{method} has no parameter {unknown[0]!r}; it takes {', '.join(defaults) or 'none'}")
    return {**defaults, **given}


def _semi_orthogonal(d: int, seed: int, parameters: Parameters) -> Tensor:
    return mahalanobis.semi_orthogonal(d, min(int(parameters["k"]), d), seed=seed)


def _sampled(d: int, seed: int, parameters: Parameters) -> Tensor:
    return mahalanobis.sampled(d, min(int(parameters["k"]), d), seed=seed)


def _at_most_widest(d: int, seed: int, parameters: Parameters) -> Tensor | None:
    """Pooled detectors see every channel up to WIDEST, and that many mixed ones of a wider backbone."""
    return None if d <= WIDEST else mahalanobis.semi_orthogonal(d, WIDEST, seed=seed)


def _fit_mahalanobis(
    patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters
) -> mahalanobis.Mahalanobis:
    statistics = mahalanobis.LocalGaussian(columns, grid=patches.grid)
    for batch in patches.batches():
        statistics = statistics.update_projected(batch)
    return statistics.finish(ridge=parameters["ridge"])


def _stream_covariance(patches: Patches, feature_map: FeatureMap, parameters: Parameters) -> KernelPCAMap:
    statistics = MappedCovariance(feature_map)
    for batch in patches.batches():
        statistics = statistics.update(batch)
    return statistics.finish(explained_variance=parameters["explained_variance"])


def _fit_cop(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KernelPCAMap:
    return _stream_covariance(patches, cosine_map(patches.width), parameters)


def _fit_corp(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KernelPCAMap:
    gamma, M = parameters["gamma"], int(parameters["M"])
    return _stream_covariance(patches, cosine_fourier_map(patches.width, gamma=gamma, M=M, seed=seed), parameters)


def _fit_pca(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KernelPCAMap:
    return _stream_covariance(patches, identity_map(patches.width), parameters)


def _fit_kernel_pca(
    patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters
) -> kernel_pca.KernelPCA:
    sample = patches.sample(int(parameters["patches"]))
    sigma = parameters["sigma"] or kernel_pca.suggest_sigma(sample, seed=seed)
    return kernel_pca.fit(sample, sigma=sigma, q=None if parameters["q"] is None else int(parameters["q"]))


def _fit_quadrics(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> quadrics.Quadrics:
    sample = patches.sample(int(parameters["patches"]))
    components = min(int(parameters["components"]), patches.width)
    m = quadric_count(components, parameters)
    patches.report(0.0)
    if not parameters["robust"]:
        return quadrics.fit_algebraic_hs(sample, m=m, components=components)
    return quadrics.fit(sample, m=m, components=components, seed=seed, progress=patches.report)


def _fit_nearest(
    patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters
) -> baselines.NearestNeighbour:
    return baselines.fit_nearest_neighbour(patches.sample(int(parameters["patches"])), k=int(parameters["neighbour"]))


def _sweep_once(detector: Any, patches: Tensor, stops: tuple[int, ...]) -> Tensor:
    return detector.score(patches)[None]


_MAHALANOBIS = Method(
    title="Position by position",
    when="Parts that always lie the same way in the picture: learns what is normal at every place of the part.",
    reference="Semi-orthogonal embedding for localized Mahalanobis distances (Kim et al. 2021)",
    defaults={"k": 100, "ridge": 0.01},
    live="k",
    pool=1,
    project=_semi_orthogonal,
    fit=_fit_mahalanobis,
    score=lambda detector, patches, k: detector.score_projected(patches, k=k),
    sweep=lambda detector, patches, stops: detector.sweep_projected(patches, stops),
    top=lambda detector: int(detector.projection.shape[1]),
    start=lambda detector: int(detector.projection.shape[1]),
    costs=mahalanobis_costs,
    from_arrays=mahalanobis.Mahalanobis.from_arrays,
)
_CORP = Method(
    title="Surface, flexible",
    when="Textures and parts that lie any way round: learns the normal look of small patches, wherever they are.",
    reference="CoRP, kernel PCA with a cosine and a random-Fourier map (Fang et al. 2024)",
    defaults={"gamma": 1.0, "M": 1024, "explained_variance": 0.9},
    live="q",
    pool=3,
    project=_at_most_widest,
    fit=_fit_corp,
    score=lambda detector, patches, q: detector.score(patches, q=q),
    sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
    top=lambda detector: int(detector.components.shape[1]),
    start=lambda detector: detector.components_for(detector.explained_variance),
    costs=covariance_costs,
    from_arrays=KernelPCAMap.from_arrays,
    refits=("gamma", "M"),
)
_KERNEL_PCA = Method(
    title="Surface, exact kernel",
    when="Textures with few photos: compares every patch with a sample of good patches, in full precision.",
    reference="Kernel PCA for novelty detection (Hoffmann 2007)",
    defaults={"sigma": None, "q": None, "patches": 1000},
    live="q",
    pool=3,
    project=_at_most_widest,
    fit=_fit_kernel_pca,
    score=lambda detector, patches, q: detector.score(patches, q=q),
    sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
    top=lambda detector: detector.rank,
    start=lambda detector: min(detector.q, detector.rank),
    costs=kernel_costs,
    from_arrays=kernel_pca.KernelPCA.from_arrays,
    refits=("sigma",),
)

METHODS: dict[str, Method] = {
    "mahalanobis": _MAHALANOBIS,
    "cop": replace(
        _CORP,
        title="Surface, quick",
        when="The quickest for textures: the direction of a patch's features matters, not their strength.",
        reference="CoP, kernel PCA with a cosine map (Fang et al. 2024)",
        defaults={"explained_variance": 0.9},
        fit=_fit_cop,
        refits=(),
    ),
    "corp": _CORP,
    "kernel_pca": _KERNEL_PCA,
    "quadrics": replace(
        _KERNEL_PCA,
        title="Surface, curved",
        when="Textures whose look bends and varies: learns curved surfaces that the good patches lie on.",
        reference="Quadric hypersurface intersection (Pavutnitskiy et al. 2022)",
        defaults={"m": None, "components": 48, "robust": 0, "patches": 16_384},
        live="m",
        fit=_fit_quadrics,
        score=lambda detector, patches, m: detector.score(patches, m=m),
        sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
        top=lambda detector: len(detector.c),
        start=lambda detector: len(detector.c),
        costs=quadric_costs,
        from_arrays=quadrics.Quadrics.from_arrays,
        refits=(),
    ),
    "sampled": replace(
        _MAHALANOBIS,
        title="Position by position, sampled channels",
        when="For comparison: the same with randomly chosen channels instead of mixed ones.",
        reference="PaDiM-style channel sampling (Defard et al. 2021)",
        project=_sampled,
    ),
    "pca": replace(
        _CORP,
        title="Plain principal components",
        when="For comparison: the distance to the plane that holds most good patches.",
        reference="Reconstruction error of principal component analysis",
        defaults={"explained_variance": 0.9},
        fit=_fit_pca,
        refits=(),
    ),
    "nearest": replace(
        _KERNEL_PCA,
        title="Nearest good patch",
        when="For comparison: the distance to the most similar good patch of a bank.",
        reference="Nearest neighbour (PatchCore-style, without its subset selection)",
        defaults={"patches": 6000, "neighbour": 1},
        live=None,
        fit=_fit_nearest,
        score=lambda detector, patches, value: detector.score(patches),
        sweep=_sweep_once,
        top=lambda detector: 0,
        start=lambda detector: 0,
        from_arrays=baselines.NearestNeighbour.from_arrays,
        refits=(),
    ),
}
OFFERED = ("mahalanobis", "corp", "cop", "kernel_pca", "quadrics")
"""What the Teach page offers; the others are there to be compared with."""
