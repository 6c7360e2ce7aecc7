"""What a controller and a station say to each other: every signal once, with its place in the registers.

A field of `Commands` or of `Signals` is a signal; bits share the first register, in the order of the fields, the lowest
first; numbers follow, in one register or, high word first, in two. The register map of docs/LINE.md and the nodes of an
OPC UA server are made from these fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, Self, get_type_hints

WORD, DOUBLE = 1, 2
"""Registers of a number without a sign."""
COMMANDS_FROM, SIGNALS_FROM = 0, 100
"""First register of either side in Modbus; coils and discrete inputs are the bits of the same registers, 16 to each."""


class StationState(IntEnum):
    """What a station does, after OPC 40100-1."""

    OFFLINE = 0
    PREPARING = 1
    READY = 2
    TAKING = 3
    BUSY = 4
    ERROR = 5


class Code(IntEnum):
    """Why a part is not accepted, or what is wrong with the station."""

    NONE = 0
    SCORE_TO_REVIEW = 1
    SCORE_TO_REJECT = 2
    OTHER_PRODUCT = 3
    NOT_LOCATED = 4
    DIFFERS_FROM_TAUGHT = 5
    NOT_JUDGED = 10
    VIEW_MISSING = 11
    NO_RECIPE = 12
    CONTROLLER_SILENT = 13
    RECIPE_UNKNOWN = 20
    RECIPE_NOT_READY = 21
    DISK_FULL = 22
    LOG_UNUSABLE = 23
    CHALLENGE_FAILED = 24
    INTERNAL = 29


class Place(NamedTuple):
    """Where a signal lies: register from the first of its side on, bit in it (None for a number), registers."""

    name: str
    register: int
    bit: int | None
    length: int
    words: str


class _Registers:
    """A set of signals as registers of 16 bits."""

    @classmethod
    @cache
    def places(cls) -> tuple[Place, ...]:
        """Of every signal, in order."""
        hints = get_type_hints(cls, include_extras=True)
        places, bit, register = [], 0, 1
        for field in fields(cls):  # ty: ignore[invalid-argument-type]
            *length, words = hints[field.name].__metadata__
            if not length:
                places.append(Place(field.name, 0, bit, WORD, words))
                bit += 1
            else:
                places.append(Place(field.name, register, None, length[0], words))
                register += length[0]
        return tuple(places)

    @classmethod
    def count(cls) -> int:
        """Registers that the signals take."""
        return max(place.register + place.length for place in cls.places())

    def registers(self) -> list[int]:
        """The signals as registers, each 0 to 65,535; a number too large for its place stands as the largest."""
        values = [0] * self.count()
        for place in self.places():
            value = int(getattr(self, place.name))
            if place.bit is not None:
                values[0] |= value << place.bit
                continue
            value = min(max(value, 0), 2 ** (16 * place.length) - 1)
            for offset in range(place.length):
                values[place.register + offset] = value >> 16 * (place.length - 1 - offset) & 0xFFFF
        return values

    @classmethod
    def from_registers(cls, values: Sequence[int]) -> Self:
        """The inverse of `registers`."""
        read: dict[str, Any] = {}
        for place in cls.places():
            if place.bit is not None:
                read[place.name] = bool(values[0] >> place.bit & 1)
                continue
            number = 0
            for value in values[place.register : place.register + place.length]:
                number = number << 16 | value
            read[place.name] = number
        return cls(**read)


@dataclass(frozen=True)
class Commands(_Registers):
    """What the controller says; it writes these registers."""

    trigger: Annotated[bool, "a part is in place; hold until trigger_acknowledged"] = False
    acknowledge: Annotated[bool, "the result was read; hold until result_valid falls"] = False
    request_recipe: Annotated[bool, "prepare `recipe`; hold until recipe_acknowledged or recipe_error"] = False
    clear_error: Annotated[bool, "ends error and missed_trigger; a rising edge"] = False
    reset_counters: Annotated[bool, "a rising edge"] = False
    heartbeat: Annotated[int, WORD, "another number at least every second; 3 s without one and nothing is ready"] = 0
    recipe: Annotated[int, WORD, "number of the recipe that is asked for"] = 0
    part: Annotated[int, DOUBLE, "number of the part in place, read with the trigger"] = 0


@dataclass(frozen=True)
class Signals(_Registers):
    """What the station says; it writes these registers.

    0/0 in accepted and not_accepted is no verdict; a controller takes a part as bad until a result with its number says
    otherwise.
    """

    ready: Annotated[bool, "a trigger is taken now"] = False
    trigger_acknowledged: Annotated[bool, "the trigger was taken, the part number read"] = False
    busy: Annotated[bool, "a part is being taken or judged"] = False
    photo_taken: Annotated[bool, "all photos of the part are there: it may move"] = False
    result_valid: Annotated[bool, "all that follows the verdict belongs to `part`; stays until acknowledged"] = False
    result_toggle: Annotated[bool, "changes with every result"] = False
    accepted: Annotated[bool, "verdict accept, and nothing else"] = False
    not_accepted: Annotated[bool, "review, reject, not judged, not located, or any error"] = False
    recipe_acknowledged: Annotated[bool, "the recipe asked for is ready"] = False
    recipe_error: Annotated[bool, "there is no such recipe, or it cannot be used"] = False
    error: Annotated[bool, "nothing is taken until clear_error; `error_code` says why"] = False
    missed_trigger: Annotated[bool, "a trigger came while not ready; stays until clear_error"] = False
    challenge_due: Annotated[bool, "the challenge parts are to be shown again"] = False
    drift: Annotated[bool, "a signal of drift has left its limits"] = False
    state: Annotated[int, WORD, "0 offline, 1 preparing, 2 ready, 3 taking, 4 busy, 5 error"] = 0
    heartbeat: Annotated[int, WORD, "counts up four times a second"] = 0
    result_number: Annotated[int, DOUBLE, "counts results, 1 the first; goes on after a restart"] = 0
    part: Annotated[int, DOUBLE, "part number of the result, as the trigger gave it"] = 0
    code: Annotated[int, WORD, "why it is not accepted, 0 for an accepted part"] = 0
    share_of_limit: Annotated[int, WORD, "score as a share of the limit to review, in 1/10,000"] = 0
    judged_by: Annotated[int, WORD, "number of the recipe that judged"] = 0
    milliseconds: Annotated[int, WORD, "from trigger to result"] = 0
    recipe: Annotated[int, WORD, "number of the recipe in force"] = 0
    release: Annotated[int, DOUBLE, "first 32 bits of the digest of the recipe in force"] = 0
    error_code: Annotated[int, WORD, "0 without an error"] = 0
    results_waiting: Annotated[int, WORD, "results that are not acknowledged, 8 at most"] = 0
    parts: Annotated[int, DOUBLE, "since the counters were reset"] = 0
    accepted_parts: Annotated[int, DOUBLE, "of these, accepted"] = 0
    review_parts: Annotated[int, DOUBLE, "sent to review"] = 0
    rejected_parts: Annotated[int, DOUBLE, "rejected"] = 0
    not_judged_parts: Annotated[int, DOUBLE, "not judged or not located"] = 0
    missed_triggers: Annotated[int, DOUBLE, "triggers that came while not ready"] = 0
    mean_milliseconds: Annotated[int, DOUBLE, "from trigger to result"] = 0
    largest_milliseconds: Annotated[int, DOUBLE, "from trigger to result"] = 0
