"""A part: its views, its number, and its one verdict, the worst of theirs."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inspect_core.inspection import Inspection
from inspect_core.station.signals import Code
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, Reason

FROM_BEST = ("accept", "review", NOT_LOCATED, NOT_JUDGED, "reject")
"""Verdicts in the order in which a worse one of a view is that of the part."""
CODES = {
    Reason.OTHER_PRODUCT: Code.OTHER_PRODUCT,
    Reason.NOT_LOCATED: Code.NOT_LOCATED,
    Reason.PARTLY_OUT: Code.DIFFERS_FROM_TAUGHT,
    Reason.EMPTY: Code.DIFFERS_FROM_TAUGHT,
    Reason.SHADED: Code.DIFFERS_FROM_TAUGHT,
    Reason.STRICT_MODE: Code.DIFFERS_FROM_TAUGHT,
    Reason.NOT_JUDGED: Code.NOT_JUDGED,
}
OF_SCORE = {"accept": Code.NONE, "review": Code.SCORE_TO_REVIEW, "reject": Code.SCORE_TO_REJECT}
SHARES = 10_000


@dataclass(frozen=True)
class JudgedPart:
    """A part with the rows of its views. number: of its result; recipe: number of the one that judged, 0 for none;
    code: why it is not accepted where no view says it.
    """

    station: str
    number: int
    part: str
    lot: str
    recipe: int
    views: Mapping[str, Inspection]
    code: Code = Code.NONE
    milliseconds: int = 0

    @property
    def worst(self) -> tuple[str, Inspection]:
        """The view that decides, and its row: of two with one verdict, that with the higher share of its limit."""
        return max(self.views.items(), key=lambda item: (FROM_BEST.index(item[1].verdict), share_of_limit(item[1])))

    @property
    def verdict(self) -> str:
        """One of `verdict.ALL_VERDICTS`."""
        return self.worst[1].verdict

    @property
    def reason_code(self) -> Code:
        """Why it is not accepted."""
        _, row = self.worst
        if row.verdict == "accept" or not self.code:
            return CODES.get(row.decided_by, OF_SCORE.get(row.verdict, Code.NOT_JUDGED))
        return self.code

    @property
    def share_of_limit(self) -> int:
        """The highest score of a view as a share of its limit to review, in 1/SHARES."""
        return max(map(share_of_limit, self.views.values()), default=0)

    def facts(self) -> dict[str, Any]:
        """What the audit log has of the part; its views have entries of their own."""
        view, row = self.worst
        return {
            "station": self.station,
            "number": self.number,
            "part": self.part,
            "lot": self.lot,
            "verdict": row.verdict,
            "view": view,
            "reason": row.reason,
            "code": int(self.reason_code),
            "recipe": self.recipe,
            "share": self.share_of_limit,
            "milliseconds": self.milliseconds,
            "path": row.path,
        }


def share_of_limit(row: Inspection) -> int:
    """Its score as a share of the limit to review, in 1/SHARES; 0 without a score."""
    if row.score is None or not math.isfinite(row.review) or not row.review:
        return 0
    return int(min(max(row.score / row.review, 0.0), 1e6) * SHARES)


def code_on(pixels: np.ndarray) -> str:
    """The text of the one code on a photo, (H, W, 3) uint8 RGB: bar code, DataMatrix or QR; "" for none or several."""
    import zxingcpp  # which only stations need that read codes

    texts = {barcode.text for barcode in zxingcpp.read_barcodes(pixels)}
    return texts.pop() if len(texts) == 1 else ""


def number_of(pattern: str, name: str) -> str:
    """The part number in the name of a file, the pattern's first group; "" where it does not fit."""
    match = re.search(pattern, name)
    return (match[1] or "") if match else ""


def number_in(text: str) -> int:
    """The part number as the controller has it: the last digits in a text, as far as they fit 32 bits; 0 for none."""
    digits = re.findall(r"[0-9]+", text)
    return int(digits[-1]) % 2**32 if digits else 0
