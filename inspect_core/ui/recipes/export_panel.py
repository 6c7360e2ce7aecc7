"""For the line: the export of a recipe with its proof, made in the background and kept until the recipe changes."""

import contextlib
import csv
import io
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog
from inspect_core.datasets.photo_tree import resolve_allowed_path
from inspect_core.recipe import Recipe
from inspect_core.recipe_format import calibration_table, golden_images, recipe_package
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io.onnx_export import export, export_blocker
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.ui import shell
from inspect_core.ui.photo_source import folder_at
from inspect_core.verdict import Limits


def section(recipe: Recipe, source: Path) -> None:
    """Export, proof and download of one recipe, saved at `source`."""
    if reason := export_blocker(recipe):
        st.info(f"{shell.escape(reason)}.")
        return
    key = source.name
    path = workspace.export_of(str(recipe.digest))
    if path.is_file():
        _proof(path, recipe, key)
    st.markdown(
        "A single data-only file that runs on a PC without this app. It is written only if all verdicts match on "
        "this recipe's calibration and test photos."
    )
    if recipe.known_cases is not None:
        st.caption("Known cases (“Seen before?”) are not exported.")
    help_text = "Photos are found by name, or by content anywhere in the folder."
    folder = folder_at(
        "Folder with these photos", recipe.provenance.photo_root or "", key=f"photos-{key}", help=help_text
    )
    if folder is not None:
        label = "Export again" if path.is_file() else "Export and verify"
        begin = partial(_begin, recipe, source, folder, path)
        shell.start_job_button(label, "", begin, subject=path, key=f"export-{key}")


def next_step(recipe: Recipe, source: Path, *, is_approved: bool) -> None:
    """After the approval, in the recipe's row of buttons: the export, or its download once it is there."""
    path = workspace.export_of(str(recipe.digest))
    root = recipe.provenance.photo_root
    folder = None
    with contextlib.suppress(ValueError, OSError):  # the tab asks for another folder
        folder = resolve_allowed_path(root, workspace.allowed_roots()) if root else None
    if not is_approved or export_blocker(recipe):
        return
    if path.is_file():
        _download(path, recipe, f"next-{source.name}")
        return
    if folder is None:
        return
    busy = shell.jobs().find_by_subject(path) is not None
    words = "Exported, and proved on the recipe's photos, for a PC without this app."
    if st.button("Export", type="primary", icon=":material/output:", disabled=busy, key=f"next-export-{source.name}",
                 help=words):  # fmt: skip
        shell.begin(partial(_begin, recipe, source, folder, path))


def _download(path: Path, recipe: Recipe, key: str) -> None:
    label = f"Download for the line ({path.stat().st_size / 2**20:.0f} MB)"
    name = f"{workspace.file_name(recipe.product)}-{str(recipe.digest)[:8]}.zip"
    icon = ":material/download:"
    st.download_button(label, path.read_bytes, name, key=f"take-{key}", icon=icon, on_click="ignore")


def _begin(recipe: Recipe, source: Path, folder: Path, path: Path) -> None:
    log_context = {"recipe": str(recipe.digest), "product": recipe.product, "user": shell.current_user()}

    def work(job: Job) -> None:
        job.report(0.0, "searching for the photos")
        photos = find_photos(recipe, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        parity = export(recipe, path, check_images=photos.paths, source=source, report=job.report)
        with AuditLog.open() as log:
            life_cycle.released(log, parity.release, **log_context)

    shell.start(f"Exporting {recipe.product}", work, subject=path)


def _proof(path: Path, recipe: Recipe, key: str) -> None:
    proof = None
    with shell.errors_shown(RecipeError, OSError, icon=":material/broken_image:"), AuditLog.open() as log:
        recorded = life_cycle.releases(log, str(recipe.digest))
        proof = _read(str(path), path.stat().st_mtime_ns, str(recipe.digest))
    if proof is None:
        return
    if proof["release"] not in recorded:
        words = f"The audit log has no record of this export (release {shell.escape(proof['release'])}). Export again."
        st.error(words, icon=":material/broken_image:")
        return
    known = len(recipe.calibration_photos) + len(recipe.test_photos)
    st.success(
        f"Verified on {proof['photos']} of {known} photos: all verdicts match, and scores differ by at most "
        f"{proof['largest']:.2g} ({proof['allowed']:.2g} allowed). {proof['golden']} golden images are included; "
        "the line PC checks them at every start.",
        icon=":material/verified:",
    )
    st.caption(
        "Digest of all files in this export. On the line, `--release` with this digest refuses any other export.",
        help="Recorded in the audit log and in approvals.",
    )
    st.code(proof["release"], language=None)
    _download(path, recipe, key)


@st.cache_data(max_entries=16, show_spinner="Reading the verification record…")
def _read(path: str, written: int, digest: str) -> dict[str, Any]:
    package = recipe_package.check(Path(path))
    document = recipe_package.read_document(package, None)
    if package.digest != digest:
        raise RecipeError(f"{path} belongs to another recipe ({package.digest[:12]}); export this recipe again")
    rows = csv.DictReader(io.StringIO(package.read(recipe_package.PARITY).decode()))
    differences = [float(row["difference"]) for row in rows]
    calibration, _ = calibration_table.read_table(package, document)
    scores = np.array([part.score for part in calibration])
    return {
        "release": package.release,
        "photos": len(differences),
        "largest": max(differences),
        "allowed": golden_images.tolerance(scores, Limits(**document["limits"])),
        "golden": len(golden_images.read_table(package)),
    }
