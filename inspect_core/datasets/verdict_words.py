"""Words that say, in the name of a folder or file or in a label, that a part is good or defective.

A name says so as a whole ("OK", "01 Gutteile", "n.i.O.") or with a part of it ("OK front", "cam1_NG_003"). Accents,
case and the width of letters do not matter; a word for defective outweighs one for good. A word that is turned around,
qualified or part of a longer one ("not so good", "OK=0", "비합격") is unclear. The words stand in `verdict_words.toml`,
what surrounds them in `label_words.toml`; a person may give further ones a meaning (`Vocabulary`).
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from inspect_core.datasets.dataset import GOOD
from inspect_core.runtime.wording import escape_line

Condition = Literal["good", "defective", "type", "unclear"]
"""Of "type" is a word that names a defect: it is the label by itself."""
EXCLUDED, TEST_ONLY = "leave out", "test only"
"""Labels that a person may give beside good and a defect type: not used, and good but never taught."""
UNNAMED = "defect"
"""The label of a defect whose type is not said."""


class UnclearWord(str):
    """A label of which nobody said whether it means good or defective. It counts as a defect's: never taught."""

    __slots__ = ()


def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))


LABEL_WORDS = _table("label_words.toml")
"""How names, tables and files beside photos are read."""
_WORDS: dict[str, dict[Condition, str]] = _table("verdict_words.toml")
_NEGATIONS = words_of(LABEL_WORDS["negations"])
_PLAIN_NEGATIONS = words_of(LABEL_WORDS["plain_negations"])
_NOUN = re.compile(rf"(?:{'|'.join(sorted(words_of(LABEL_WORDS['nouns']), key=len, reverse=True))})$")
_MARKS = words_of(LABEL_WORDS["marks"])
_TAGS = words_of(LABEL_WORDS["tags"])
_PLACES = frozenset().union(
    *map(words_of, (LABEL_WORDS["places"], LABEL_WORDS["folders"]["view"], LABEL_WORDS["folders"]["lot"]))
)
_LEAST_NAME = 3
_LONGEST_PHRASE = 3  # words that mean one thing only together, as in "nicht in Ordnung" and "n.i.O."
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])")
_CAPITALS = re.compile(r"([A-Z]{2,})([a-z].*)")
_WITHOUT_SPACES = re.compile(r"[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+")
_DIGEST = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_QUALIFIED = re.compile(r"[=?¿≠]|!=")
_COUNTER = re.compile(r"^\d+[ _.-]+|[ _.-]+\d+$")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
LONGEST_LABEL = 80


class ConditionSign(NamedTuple):
    """What a name says: its condition, the word that says it, whether the name says nothing else, and the label that a
    person gave the word, "" where none did.
    """

    condition: Condition
    word: str
    is_whole: bool
    label: str = ""


def _folded(text: str) -> str:
    """Text without case, accents and the width of letters."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("ł", "l"))
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()


_BY_WORD: dict[str, Condition] = {
    _folded(word): condition
    for table in _WORDS.values()
    for condition, words in table.items()
    for word in words.split()
}
_UNSPACED = sorted((word for word in _BY_WORD if _WITHOUT_SPACES.match(word)), key=len, reverse=True)
_PREFIXES = tuple(sorted(map(_folded, _NEGATIONS), key=len, reverse=True))


@dataclass(frozen=True)
class Vocabulary:
    """What words mean: those of the table, and those that a person gave a meaning.

    meanings: (word, `GOOD`, `EXCLUDED`, `TEST_ONLY` or a defect type).
    """

    meanings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _by_word(self) -> dict[str, str]:
        return {_folded(word).strip(): meaning for word, meaning in self.meanings}

    @cached_property
    def _by_tokens(self) -> list[tuple[list[str], str]]:
        return [(_tokens(unicodedata.normalize("NFKC", word)), meaning) for word, meaning in self.meanings]

    def meaning(self, text: str) -> str | None:
        """What a person said of a word, None where nobody did."""
        return self._by_word.get(_folded(text).strip()) if self.meanings else None

    def is_defect(self, label: str) -> bool:
        """Whether a label is known to be a defect's."""
        if isinstance(label, UnclearWord) or label == GOOD:
            return False
        return label == UNNAMED or self.gives(label) or condition_sign(label) is not None

    def gives(self, label: str) -> bool:
        """Whether a person gave this label to some word."""
        return any(meaning == label for _, meaning in self.meanings)

    def meaning_in(self, stem: str) -> str | None:
        """What a person said of a word in the name of a file, of its end ("_0"), or of the name."""
        if (meaning := self.meaning(stem)) is not None or not self.meanings:
            return meaning
        ends = (meaning for word, meaning in self.meanings if not word[0].isalnum() and stem.endswith(word))
        if (meaning := next(ends, None)) is not None:
            return meaning
        tokens = _tokens(unicodedata.normalize("NFKC", stem))
        for words, meaning in self._by_tokens:
            runs = (tokens[at : at + len(words)] for at in range(len(tokens)))
            if words and not all(map(str.isdigit, words)) and words in runs:
                return meaning
        return None

    def sign(self, name: str, *, in_parts: bool = False) -> ConditionSign | None:
        """What the name of a folder, or of a file without its ending (in_parts), says of its parts."""
        meaning = self.meaning_in(name) if in_parts else self.meaning(name)
        if meaning is None:
            return condition_sign(name)
        return ConditionSign("good" if meaning == GOOD else "type", name, True, meaning)

    def label(self, text: object) -> str | None:
        """`GOOD`, a defect type or an `UnclearWord` for a label; None for an empty one."""
        label = _cleaned(text)
        if not label:
            return None
        sign = self.sign(label)
        if sign is not None and sign.label:
            return sign.label
        if sign is None:
            return UnclearWord(label) if _NUMBER.fullmatch(label) else label
        if sign.condition in ("defective", "type"):
            return label
        return GOOD if sign.condition == "good" and sign.is_whole else UnclearWord(label)

    def unclear(self, text: str) -> str:
        """The label that a person gave these words, else the words as unclear."""
        label = _cleaned(text)
        return UnclearWord(label) if (meaning := self.meaning(label)) is None else meaning

    def mark(self, text: object) -> str:
        """The label of a marked shape of a class: unclear where neither it nor a person says that it is a defect's."""
        word = _cleaned(text)
        label = self.label(word)
        if label is None:
            return UNNAMED
        if label == GOOD or isinstance(label, UnclearWord) or self.meaning(word) is not None:
            return label
        is_defect = condition_sign(word) is not None or not _MARKS.isdisjoint(_tokens(word))
        return label if is_defect else UnclearWord(label)

    def tag(self, text: object) -> str | None:
        """The label of a tag or flag that a photo has: unclear for a word that says nothing known; None for one that is
        usual and says nothing of the part.
        """
        word = _cleaned(text)
        return None if word.casefold() in _TAGS and self.meaning(word) is None else self.mark(word)


PLAIN = Vocabulary()
"""The words of the table alone."""


@lru_cache(maxsize=1 << 14)
def condition_sign(name: str) -> ConditionSign | None:
    """What the name of a folder, or of a file without its ending, says of the condition of its parts."""
    tokens = _tokens(unicodedata.normalize("NFKC", name))
    findings: list[tuple[Condition, str]] = []
    is_turned = _QUALIFIED.search(name) is not None
    others = position = 0
    while position < len(tokens):
        for length in range(min(_LONGEST_PHRASE, len(tokens) - position), 0, -1):
            words = tokens[position : position + length]
            if (condition := _condition(words)) is not None:
                findings.append((condition, "".join(words)))
                position += length
                break
        else:
            token = tokens[position]
            findings += (matches := _within(token))
            is_number_sign = "".join(tokens[position + 1 : position + 2]).isdigit()  # "no 12"
            is_turned |= token in _NEGATIONS and not is_number_sign
            others += not (token.isdigit() or matches or _NOUN.fullmatch(token))
            position += 1
    if not findings:
        return None
    condition, word = max(findings, key=lambda finding: ("good", "type", "defective", "unclear").index(finding[0]))
    if is_turned or condition == "unclear":
        return ConditionSign("unclear", _COUNTER.sub("", name) or name, False)
    return ConditionSign(condition, word, others == 0)


def is_good_word(name: str) -> bool:
    """Whether a name says as a whole that parts are good: "good", "OK", "01 good parts", "i.O."."""
    sign = condition_sign(name)
    return sign is not None and sign.is_whole and sign.condition == "good"


def name_words(name: str) -> tuple[str, ...]:
    """The words of a file's name that may tell what its photo shows: no numbers, places or counters of cameras, and no
    letters that stand alone, as in "a.png".
    """
    words: list[str] = []
    if len(name) < _LEAST_NAME:
        return ()
    for run in _WORD.findall(unicodedata.normalize("NFKC", name)):
        is_number = any(map(str.isdigit, run))
        letters = [] if is_number and _DIGEST.fullmatch(run) else _RUN.findall(run)
        words += [word for part in letters if len(part) >= (3 if is_number else 1) for word in _tokens(part)]
    return tuple(word for word in words if not (word.isdigit() or word in _PLACES or _NOUN.fullmatch(word)))


def _cleaned(text: object) -> str:
    return " ".join(escape_line(str("" if text is None else text)).split())[:LONGEST_LABEL]


def _tokens(name: str) -> list[str]:
    """The words and numbers of a name, folded; a word of the table is not divided where its case changes."""
    tokens = []
    for run in _RUN.findall(name):
        parts = [run]
        if not _condition([_folded(run)]):
            capitals = _CAPITALS.fullmatch(run)
            is_word = capitals is not None and _folded(capitals[1]) in _BY_WORD
            parts = list(capitals.groups()) if capitals and is_word else _CAMEL.split(run)
        tokens += map(_folded, parts)
    return tokens


def _condition(words: list[str]) -> Condition | None:
    """What words mean together, with or without "not" in front or a noun such as "parts" at the end."""
    if any(word.isdigit() for word in words):
        return None
    phrase = "".join(words)
    condition = _BY_WORD.get(phrase) or _BY_WORD.get(_NOUN.sub("", phrase) if len(words) == 1 else "")
    if condition is None and len(words) > 1 and words[0] in _PLAIN_NEGATIONS:
        return "defective" if _condition(words[1:]) == "good" else None
    return condition


def _within(token: str) -> list[tuple[Condition, str]]:
    """The words found in a longer one: of a script that puts no spaces between them, or behind "un", "non", "nicht".

    They are unclear where one is good, or where the longer word turns them around.
    """
    if not _WITHOUT_SPACES.search(token):
        rests = (token.removeprefix(prefix) for prefix in _PREFIXES if token.startswith(prefix))
        return [("unclear", token)] if any(len(rest) > 1 and _BY_WORD.get(rest) == "good" for rest in rests) else []
    matches: list[tuple[Condition, str]] = []
    rest = token
    for word in _UNSPACED:
        if len(word) > 1 and word in rest:
            matches.append((_BY_WORD[word], word))
            rest = rest.replace(word, " ")
    is_turned = any(prefix in rest for prefix in _PREFIXES if _WITHOUT_SPACES.search(prefix))
    is_unclear = is_turned or any(condition == "good" for condition, _ in matches)
    return [("unclear", token)] if matches and is_unclear else matches
