"""Writes docs/REPRODUCTION.md, docs/ERRATA.md and docs/FEW_PHOTOS.md, and the linked figures of other documents, from
the stored results.

python -m benchmarks.studies.reproduction

Every claim of a paper is one row: the paper's figure, ours, and one word that follows from the two by an inequality
written beside them.
"""

import argparse
from itertools import chain

from benchmarks import linked_figures
from benchmarks.studies.data_sets import ROOT
from benchmarks.studies.reproduced import cop_corp, errata, few_photos, hoffmann, kdf_kdn, quadrics, semi_orthogonal

DOCUMENT = ROOT / "docs/REPRODUCTION.md"
FEW_PHOTOS = ROOT / "docs/FEW_PHOTOS.md"
ERRATA = ROOT / "docs/ERRATA.md"
INTRODUCTION = """# What was reproduced

Every claim, table and figure of the five papers with the paper's figure, ours, and one word: holds, fails or untested.
Written by `python -m benchmarks.studies.reproduction` from
[benchmarks/results/studies](../benchmarks/results/studies), which `make studies` fills: do not edit it. A word is an
inequality between stored figures: of the means where the paper claims a mean, else on every set that the row names. A
cell "a and b; flange .9, .8" holds the two means, then both figures of each set in the row's order; "a/b" is a detector
and its parent.

Of MVTec AD transistor and screw are measured in their published splits, of MNIST Hoffmann's digit, of the faces what
the quadrics' authors publish; `benchmarks/studies/data.toml` says how each set is come by. KolektorSDD2, mSTC,
ImageNet, CIFAR, the faces learned from and OpenML are not here. Where others stand in, an order of methods is compared,
not a figure. One [notebook](notebooks) a paper recomputes its central claim in a minute."""
PAPERS = (semi_orthogonal, cop_corp, quadrics, hoffmann, kdf_kdn)
STUDIES = (*(paper.__name__.rpartition(".")[2] for paper in PAPERS), "kolektor", "engineers")
NOT_DRAWN = ("propositions", "published_faces")
"""Studies without a picture."""


def document() -> str:
    """The text of docs/REPRODUCTION.md."""
    texts = [INTRODUCTION, *chain.from_iterable(paper.section() for paper in PAPERS)]
    return "\n\n".join(filter(None, texts)) + "\n"


def write() -> None:
    DOCUMENT.write_text(document(), encoding="utf-8")
    FEW_PHOTOS.write_text(few_photos.page(), encoding="utf-8")
    ERRATA.write_text(errata.page(), encoding="utf-8")
    linked_figures.write()


def main() -> None:
    argparse.ArgumentParser("benchmarks.studies.reproduction", description=__doc__).parse_args()
    write()


if __name__ == "__main__":
    main()
