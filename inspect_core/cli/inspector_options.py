"""What judges photos for `inspect` and `watch`, chosen in one place so that neither has to load torch."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from inspect_core.cli.console import path_argument
from inspect_core.line.inspector import Inspector
from inspect_core.recipe_format import recipe_package
from inspect_core.runner import Runner

if TYPE_CHECKING:
    from inspect_core.recipe import LoadedRecipe


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=path_argument)
    parser.add_argument("--device", default="auto")
    release = "accept only the export with this full digest, as shown by export and in approvals"
    parser.add_argument("--release", metavar="DIGEST", help=release)
    parser.add_argument("--download", action="store_true", help="download the backbone's weights if they are missing")


def add_strict(parser: argparse.ArgumentParser) -> None:
    """For the commands whose verdicts count."""
    words = (
        "send photos that are noisier, darker, blurrier, ... than the training photos to review instead of "
        "accepting them"
    )
    parser.add_argument("--strict", action="store_true", help=words)


def add_trial(parser: argparse.ArgumentParser) -> None:
    """For the commands that record verdicts."""
    words = "record these verdicts as a trial, which History does not count as production"
    parser.add_argument("--trial", action="store_true", help=words)


def open_inspector(options: argparse.Namespace) -> Inspector:
    """The recipe of the options, checked and ready: an exported one without torch, unless a device is asked for.

    Raises ValueError and OSError, naming it, when it cannot be used.
    """
    if options.device == "auto" and recipe_package.is_exported(options.recipe):
        # Several photos are judged at a time, each on a core of its own.
        return Runner(options.recipe, threads=1, release=options.release)
    if options.release is not None:
        raise ValueError(
            f"--release needs the export of {options.recipe.name}, but --device runs the recipe without it; omit "
            "--device"
        )
    in_process = getattr(options, "workers", None) is None and getattr(options, "cluster", None) is None
    return load_recipe(options.recipe, device=options.device, download=options.download, fused=in_process)


def load_recipe(path: Path, *, device: str = "auto", download: bool = False, fused: bool = False) -> "LoadedRecipe":
    """The recipe at `path`, with its backbone; `fused`: as one graph. Raises as `open_inspector`."""
    # Imported where they are used: an exported recipe needs none of them.
    from inspect_core.features.backbone_catalogue import spec_of
    from inspect_core.features.weights_download import download_weights
    from inspect_core.recipe import LoadedRecipe, loaded_backbone
    from inspect_core.recipe_io.fused_recipe import FusedRecipe
    from inspect_core.recipe_io.recipe_file import load
    from inspect_core.runtime.threads import limit_to_one_core

    # Several photos are inspected at a time: threads within each would take a sixth more of the cores' time.
    limit_to_one_core()
    recipe = load(path)
    if download:
        download_weights(spec_of(recipe.backbone.name, has_weights=False))
    backbone = loaded_backbone(recipe.backbone, device)
    return FusedRecipe(recipe, backbone, path) if fused else LoadedRecipe(recipe, backbone)
