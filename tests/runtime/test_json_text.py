import json

import pytest

from inspect_core.runtime.json_text import DEEPEST, from_json
from inspect_core.runtime.serialisation import unpack

DEEP = b"[" * 100_000 + b"]" * 100_000


def test_what_is_nested_beyond_reading_is_damage_like_any_other():
    assert from_json('{"a": [1]}') == {"a": [1]}
    for damaged in (DEEP, b"{", b"\xff"):
        with pytest.raises(ValueError, match=r"nested too deep|Expecting|decode"):
            from_json(damaged)
    with pytest.raises(ValueError, match="nested too deep"):
        unpack(len(DEEP).to_bytes(8, "little") + DEEP, ())


def test_deep_nesting_that_parses_is_refused_as_damage():
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert json.dumps(from_json(deepest)) == deepest
    for damaged in (f"[{deepest}]", '{"a":' * 900 + "1" + "}" * 900):
        with pytest.raises(ValueError, match="nested too deep"):
            from_json(damaged)


def test_constants_are_the_callers():
    with pytest.raises(ZeroDivisionError):
        from_json("NaN", constant=lambda word: 1 / 0)
    assert json.dumps(from_json("NaN")) == "NaN"
