"""Words that say, in the name of a folder or file, that a part is good or defective.

A name says so as a whole ("OK", "01 Gutteile", "n.i.O.") or with a part of it ("OK front", "cam1_NG_003"). Accents,
case and the width of letters do not matter; a word for defective outweighs one for good.
"""

import re
import unicodedata
from typing import Literal, NamedTuple

Condition = Literal["good", "defective", "type"]
"""Of "type" is a word that names a defect: it is the label by itself."""


def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_WORDS: dict[str, dict[Condition, str]] = {
    "English": {
        "good": "good ok okay okey pass passed passing normal fine reference golden accept accepted acceptable "
        "conforming conform flawless undamaged intact free defectfree faultfree nodefect nodefects withoutdefect "
        "withoutdefects",
        "defective": "bad ng nok notok nogood notgood def defect defects defective faulty fault faults fail failed "
        "failure failures anomaly anomalies anomalous abnormal reject rejected rejects scrap nonconforming "
        "unacceptable error errors flaw flaws flawed damaged damage damages defekt",
        "type": "scratch scratches scratched crack cracks cracked dent dents dented broken contamination contaminated "
        "corrosion rust misplaced blowhole blowholes fray chipped bent",
    },
    "German": {
        "good": "gut gute guter gutes io iok inordnung fehlerfrei fehlerlos einwandfrei bestanden freigegeben "
        "brauchbar ohnefehler keinfehler keinefehler ohnedefekt",
        "defective": "schlecht schlechte schlechter nio nichtio nichtinordnung nichtok fehler fehlerhaft fehlerhafte "
        "defekte defekten ausschuss mangel mangelhaft nacharbeit gesperrt durchgefallen beschadigt unbrauchbar",
        "type": "kratzer riss risse delle dellen beule beulen verschmutzung verschmutzt ausbruch rost grat",
    },
    "French": {
        "good": "bon bons bonne bonnes conforme conformes accepte acceptes sansdefaut sansdefauts",
        "defective": "mauvais mauvaise mauvaises nonconforme nonconformes defaut defauts defectueux defectueuse "
        "defectueuses rebut rebuts refuse refuses ko",
        "type": "rayure rayures fissure fissures",
    },
    "Spanish": {
        "good": "bueno buenos buena buenas correcto correctos correcta aceptado aceptados aprobado aprobados "
        "sindefecto sindefectos",
        "defective": "malo malos mala malas defecto defectos defectuoso defectuosos defectuosa defectuosas rechazado "
        "rechazados rechazo noconforme noconformes fallo fallos falla fallas danado danados",
        "type": "rayado rayados aranazo aranazos grieta grietas",
    },
    "Italian": {
        "good": "buono buoni buona buone conformi accettato accettati senzadifetto senzadifetti",
        "defective": "cattivo cattivi difetto difetti difettoso difettosi difettosa difettose scarto scarti scartato "
        "scartati nonconformi guasto guasti anomalia anomalie",
        "type": "graffio graffi crepa crepe ammaccatura",
    },
    "Polish": {
        "good": "dobry dobre dobra dobrych zgodny zgodne zgodna zgodnych poprawny poprawne prawidlowe bezwad bezwady",
        "defective": "zly zle zla zlych wadliwy wadliwe wadliwa wadliwych wada wady niezgodny niezgodne niezgodna "
        "niezgodnych niepoprawne nieprawidlowe brak braki odrzut odrzuty odrzucone uszkodzony uszkodzone bledne",
        "type": "rysa rysy pekniecie pekniecia wgniecenie",
    },
    "Chinese": {
        "good": "良品 良 好 好品 正常 合格 合格品 通过 通過 优良 優良 无缺陷 無缺陷 无异常 無異常",
        "defective": "不良 不良品 非良品 不正常 不合格 不合格品 次品 废品 廢品 缺陷 异常 異常 "
        "瑕疵 坏 壞 坏件 报废 不通过 未通过",
        "type": "划痕 劃痕 裂纹 裂紋 凹痕 破损 破損",
    },
    "Japanese": {
        "good": "良好 可 正常品 異常なし 欠陥なし 不良なし 欠点なし",
        "defective": "異常品 欠陥 欠陥品 不具合 欠点 否 不可",
        "type": "キズ 傷 割れ 打痕 汚れ ひび 欠け",
    },
    "Czech, Hungarian, Turkish": {
        "good": "vyhovujici jo megfelelo saglam uygun",
        "defective": "vadny vadne vadna vadnych zmetek zmetky nevyhovujici hibas selejt hatalı kusurlu bozuk hurda",
        "type": "skrabanec karcolas cizik",
    },
    "others": {
        "good": "goed goedgekeurd bra godkand aprovado bom boa iyi годен годные норма 양품 정상 합격",
        "defective": "slecht afkeur afgekeurd dalig underkand reprovado ruim hatali брак дефект 불량 불량품 불합격",
        "type": "",
    },
}
_NEGATIONS = words_of("not no non nicht kein keine nie ne niet nao n")
_NOUNS = (
    "parts part pieces piece images image imgs img samples sample photos photo pics pictures items units teile teilen "
    "teil stucke stuck stuecke bilder bild bildern fotos foto proben muster pieces pezzi pezzo piezas pieza sztuki "
    "czesci detale"
)
_NOUN = re.compile(rf"(?:{'|'.join(sorted(_NOUNS.split(), key=len, reverse=True))})$")
_LONGEST_PHRASE = 3  # words that mean one thing only together, as in "nicht in Ordnung" and "n.i.O."
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])")
_CAPITALS = re.compile(r"([A-Z]{2,})([a-z].*)")
_WITHOUT_SPACES = re.compile(r"[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff]")


class ConditionSign(NamedTuple):
    """What a name says: its condition, the word that says it, and whether the name says nothing else."""

    condition: Condition
    word: str
    is_whole: bool


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


def condition_sign(name: str) -> ConditionSign | None:
    """What the name of a folder, or of a file without its ending, says of the condition of its parts."""
    tokens = _tokens(unicodedata.normalize("NFKC", name))
    findings, others, position = [], 0, 0
    while position < len(tokens):
        for length in range(min(_LONGEST_PHRASE, len(tokens) - position), 0, -1):
            words = tokens[position : position + length]
            if (condition := _condition(words)) is not None:
                findings.append((condition, "".join(words)))
                position += length
                break
        else:
            token = tokens[position]
            matches = _within(token)
            findings += matches
            others += not (token.isdigit() or matches or _NOUN.fullmatch(token))
            position += 1
    if not findings:
        return None
    condition, word = max(findings, key=lambda matches: ("good", "type", "defective").index(matches[0]))
    return ConditionSign(condition, word, others == 0)


def is_good_word(name: str) -> bool:
    """Whether a name says as a whole that parts are good: "good", "OK", "01 good parts", "i.O."."""
    sign = condition_sign(name)
    return sign is not None and sign.is_whole and sign.condition == "good"


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
    if condition is None and len(words) > 1 and words[0] in _NEGATIONS:
        return "defective" if _condition(words[1:]) == "good" else None
    return condition


def _within(token: str) -> list[tuple[Condition, str]]:
    """The words found in one of a script that puts no spaces between them."""
    matches = []
    for word in _UNSPACED if _WITHOUT_SPACES.search(token) else ():
        if len(word) > 1 and word in token:
            matches.append((_BY_WORD[word], word))
            token = token.replace(word, " ")
    return matches
