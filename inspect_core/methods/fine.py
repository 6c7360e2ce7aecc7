"""Distance to the nearest good patch as it is, not averaged with its neighbours: for defects no larger than a patch."""

from inspect_core.methods.nearest import NearestPatchMethod


class FinePatchMethod(NearestPatchMethod):
    title = "Fine patch"
    use_case = "For defects no larger than a patch: as Nearest patch, without averaging a patch with its neighbours."
    reference = "Nearest patch (PatchCore, Roth et al. 2022) without averaging 3 x 3 neighbours"
    published_words = (
        "Layers 2 and 3 and the grid are PatchCore's, which averages 3 × 3 neighbours; the bank of 6,000 patches, the "
        "sketch by which it is searched and scores without reweighting are Loupe's."
    )
    rank = 11
    pool = 1
    ensemble_rank = 8
    candidates = ("fine", "corp+nearest+fine")


METHOD = FinePatchMethod()
