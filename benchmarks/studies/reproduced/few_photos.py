"""The page on few photos, and on defects among them."""

from benchmarks.studies.reproduced.claims import figures, grid, picture, ran

INTRODUCTION = """# Few photos, and defects among them

How detectors do with 5 good photos and more, and with defects that were taken for good. Written by
`python -m benchmarks.studies.reproduction` from
[engineers.json](../benchmarks/results/studies/engineers.json). Means over so many seeds on the same test photos.
Taught as the app does: all are learned from with a copy each, and folds set the limits. *default* is the detector that
the app begins with on these photos. The review limit is to be exceeded by 5 of 100 good parts."""


def page() -> str:
    """The text of docs/FEW_PHOTOS.md."""
    results = figures("engineers")
    parts = [INTRODUCTION, ran("engineers")]
    columns = ("default", "mahalanobis", "corp", "nearest")
    shown = (("image_auroc", "Image AUROC"), ("image_auroc_range", "Image AUROC, range over the seeds"),
             ("aupro", "AUPRO"), ("missed_percent", "Escapes, %"),
             ("above_5_percent", "Above the review limit, % of good parts"))  # fmt: skip
    for part, words in (("by_count", "good photos"), ("by_share", "share of hidden defects")):
        parts.append(f"## By {words}")
        for key, title in shown:
            rows = {f"{name}, {size} (seeds: {case['seeds']})": {d: case["detectors"][d][key] for d in columns}
                    for name, sizes in results[part].items() for size, case in sizes.items()
                    if case["seeds"] > 1 or key != "image_auroc_range"}  # fmt: skip
            parts += [f"{title}:", grid("photos", rows, digits=1 if "%" in title else 3)] if rows else []
    return "\n\n".join([*parts, picture("engineers", "quality against photos and hidden defects")]) + "\n"
