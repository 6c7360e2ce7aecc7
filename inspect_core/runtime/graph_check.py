"""What a graph may hold before ONNX Runtime sees it: plain operators of the standard, nothing that repeats or branches.

Read from the protobuf bytes themselves, as a PC at the line has no onnx package. Field numbers are those of onnx.proto;
a message that occurs in several pieces is checked piece by piece. Graphs within attributes are refused, so nothing is
nested.
"""

from collections.abc import Iterator

DOMAINS = (b"", b"ai.onnx")
_MODEL_GRAPH, _MODEL_TRAINING, _MODEL_FUNCTIONS = 7, 20, 25
_GRAPH_NODE = 1
_NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_GRAPHS = (6, 11)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10
MOST_FIELDS = 1_000_000
"""Most fields that are looked at, a second's work; an export has some ten thousand."""


class GraphError(ValueError):
    """A graph that is refused; the message says what it holds."""


def check_graph(content: bytes) -> None:
    """Raise GraphError unless it is an ONNX model of plain operators of the standard domain.

    Refused are operators of other domains, functions, training steps, and every attribute that holds a graph, which all
    of Loop, If, Scan and SequenceMap need.
    """
    graphs = 0
    remaining = iter(range(MOST_FIELDS))
    for number, value in _fields(memoryview(content), remaining):
        if number in (_MODEL_FUNCTIONS, _MODEL_TRAINING):
            raise GraphError("it contains functions or training steps, which Loupe never exports")
        if number == _MODEL_GRAPH:
            graphs += 1
            for inner, node in _fields(_message(value), remaining):
                if inner == _GRAPH_NODE:
                    _check_node(_message(node), remaining)
    if not graphs:
        raise GraphError("it contains no graph")


def _check_node(node: memoryview, remaining: Iterator[int]) -> None:
    operator = b""
    for number, value in _fields(node, remaining):
        if number == _NODE_OPERATOR:
            operator = bytes(_message(value))
        elif number == _NODE_DOMAIN and (domain := bytes(_message(value))) not in DOMAINS:
            raise GraphError(f"it holds an operator of the domain {_shown(domain)}, which Loupe never exports")
        elif number == _NODE_ATTRIBUTE and any(
            field_number in _ATTRIBUTE_GRAPHS for field_number, _ in _fields(_message(value), remaining)
        ):
            raise GraphError(f"its operator {_shown(operator)} contains a subgraph, which could loop forever")


def _fields(message: memoryview, remaining: Iterator[int]) -> Iterator[tuple[int, memoryview | None]]:
    """Yield (number, bytes) of every field, None for numbers. remaining: one for each field that may still be read.

    Raises GraphError for what is no protobuf message, and for too many fields.
    """
    place = 0
    while place < len(message):
        if next(remaining, None) is None:
            raise GraphError(f"it has more than {MOST_FIELDS:,} fields")
        key, place = _varint(message, place)
        number = key >> 3
        kind = key & 7
        value = None
        if kind == _VARINT:
            _, place = _varint(message, place)
        elif kind == _BYTES:
            length, place = _varint(message, place)
            value = message[place : place + length]
            place += length
        else:
            place += _SIZES.get(kind, len(message) + 1)
        if number == 0 or place > len(message):
            raise GraphError("it is not an ONNX model")
        yield number, value


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for step, byte in enumerate(message[place : place + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value, place + step + 1
    raise GraphError("it is not an ONNX model")


def _message(value: memoryview | None) -> memoryview:
    if value is None:
        raise GraphError("it is not an ONNX model")
    return value


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("utf-8", "replace"))
