"""The text of a file whose encoding nobody states: as UTF-8 where it is, else in every encoding that it may have."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

ALPHABETS = ("cp1252", "cp1250", "cp1251")
USUAL = (*ALPHABETS, "gb18030", "cp932", "cp949", "big5")
"""Encodings in which office programs save tables."""
SAMPLE_BYTES = 1 << 16
"""From which an encoding is guessed."""
_PAIR = re.compile(rb"[\x80-\xff]{2}")
_DECLARED = re.compile(rb"<\?xml[^>]{0,80}encoding=[\"\']([\w.-]{2,20})[\"\']")


def encodings_of(content: bytes) -> tuple[str, ...]:
    """The encodings that a text may have, the most probable first; one that is certain, none for what is no text."""
    if content.startswith(BOM_UTF8):
        return ("utf-8-sig",)
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return ("utf-16",) if _decodes(content, "utf-16") else ()
    if b"\0" in content:
        halves = content[::2].count(0), content[1::2].count(0)
        encoding = "utf-16-be" if halves[0] > halves[1] else "utf-16-le"
        is_text = min(halves) * 10 < max(halves) and 2 * max(halves) > len(content) // 2
        return (encoding,) if is_text and _decodes(content, encoding) else ()
    if _decodes(content, "utf-8", with_controls=True):
        return ("utf-8",)
    if (declared := _DECLARED.match(content)) and _decodes(content, declared[1].decode()):
        return (declared[1].decode(),)
    if not _PAIR.search(content):  # letters with accents stand among plain ones
        return tuple(encoding for encoding in ALPHABETS if _decodes(content, encoding))
    from charset_normalizer import from_bytes  # most folders hold UTF-8 alone

    guessed = [match.encoding for match in from_bytes(content[:SAMPLE_BYTES], cp_isolation=[*USUAL])]
    return tuple(encoding for encoding in dict.fromkeys((*guessed, *USUAL)) if _decodes(content, encoding))


def _decodes(content: bytes, encoding: str, *, with_controls: bool = False) -> bool:
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return with_controls or not any(sign < " " and sign not in "\t\r\n\f\x1a" for sign in set(text))
