"""The handshake: what any order of signals may do, and what it may never do."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.station.handshake import QUEUE, WATCHDOG_SECONDS, Handshake, PartResult, PrepareRecipe, TakePart
from inspect_core.station.signals import Code, Commands, Signals, StationState
from inspect_core.verdict import ALL_VERDICTS


class Bench:
    """A handshake that is ready, its controller, and a clock."""

    def __init__(self, **options):
        self.handshake, self.now, self.commands = Handshake(**options), 0.0, Commands()
        self.say()
        self.handshake.prepared(1, "abcdef0123")
        self.say()

    @property
    def signals(self) -> Signals:
        return self.handshake.signals

    def say(self, **changed):
        self.now += 0.01
        beat = self.commands.heartbeat % 0xFFFF + 1
        self.commands = replace(self.commands, heartbeat=beat, **changed)
        return self.handshake.read(self.commands, self.now)

    def judge(self, part: int, verdict: str = "accept") -> None:
        code = Code.NONE if verdict == "accept" else Code.SCORE_TO_REJECT
        self.handshake.photographed()
        self.handshake.add_result(PartResult(self.handshake.next_number, part, verdict, code, 1, 5000, 40))

    def run(self, part: int, verdict: str = "accept") -> None:
        assert self.say(trigger=True, part=part) == [TakePart(part, self.now)]
        self.say(trigger=False)
        self.judge(part, verdict)


def test_a_part_from_trigger_to_acknowledged_result():
    bench = Bench(result_number=41)
    assert (bench.signals.ready, bench.signals.state, bench.signals.release) == (True, StationState.READY, 0xABCDEF01)
    bench.say(trigger=True, part=7)
    taking = bench.signals
    assert (taking.ready, taking.trigger_acknowledged, taking.busy, taking.photo_taken) == (False, True, True, False)
    bench.handshake.photographed()
    assert bench.signals.photo_taken
    bench.judge(7)
    shown = bench.signals
    assert (shown.result_valid, shown.accepted, shown.not_accepted) == (True, True, False)
    assert (shown.part, shown.result_number, shown.judged_by, shown.share_of_limit) == (7, 42, 1, 5000)
    assert not shown.ready, "the trigger is still held"
    bench.say(trigger=False)
    assert bench.signals.ready
    bench.say(acknowledge=True)
    cleared = bench.signals
    assert (cleared.result_valid, cleared.accepted, cleared.not_accepted, cleared.part) == (False, False, False, 0)
    assert cleared.result_toggle == shown.result_toggle
    assert (cleared.parts, cleared.accepted_parts, cleared.mean_milliseconds) == (1, 1, 40)


@pytest.mark.parametrize("verdict", [word for word in ALL_VERDICTS if word != "accept"])
def test_whatever_is_not_accepted_is_not_accepted(verdict):
    bench = Bench()
    bench.run(3, verdict)
    assert (bench.signals.accepted, bench.signals.not_accepted) == (False, True)
    assert bench.signals.code


def test_results_wait_in_order_until_each_is_acknowledged():
    bench = Bench()
    for part in range(1, QUEUE + 1):
        bench.run(part)
    assert (bench.signals.results_waiting, bench.signals.ready) == (QUEUE, False)
    assert bench.say(trigger=True, part=99) == []
    assert bench.signals.missed_trigger
    bench.say(trigger=False)
    read = []
    toggles = []
    for _ in range(QUEUE):
        read.append((bench.signals.part, bench.signals.result_number))
        toggles.append(bench.signals.result_toggle)
        bench.say(acknowledge=True)
        assert not bench.signals.result_valid, "the next one waits until acknowledge falls"
        bench.say(acknowledge=False)
    assert read == [(number, number) for number in range(1, QUEUE + 1)]
    assert all(first != second for first, second in itertools.pairwise(toggles))
    assert bench.signals.ready


def test_a_trigger_that_comes_while_busy_is_missed_and_counted():
    bench = Bench()
    bench.say(trigger=True, part=1)
    bench.say(trigger=False)
    assert bench.say(trigger=True, part=2) == []
    assert (bench.signals.missed_trigger, bench.signals.missed_triggers) == (True, 1)
    bench.judge(1)
    assert bench.say() == [], "a trigger that is held is no new edge"
    bench.say(trigger=False, clear_error=True)
    assert not bench.signals.missed_trigger


def test_a_silent_controller_gets_no_acceptance_later():
    bench = Bench()
    bench.run(1)
    assert bench.signals.accepted
    bench.handshake.tick(bench.now + WATCHDOG_SECONDS + 0.1)
    silent = bench.signals
    assert (silent.ready, silent.accepted, silent.not_accepted) == (False, False, True)
    bench.now += WATCHDOG_SECONDS + 0.2
    bench.say()
    later = bench.signals
    assert (later.result_valid, later.accepted, later.not_accepted, later.code) == (
        True,
        False,
        True,
        Code.CONTROLLER_SILENT,
    )


def test_a_controller_that_was_never_heard_finds_nothing_ready():
    handshake = Handshake()
    handshake.prepared(1, "ab")
    handshake.tick(10.0)
    assert (handshake.signals.ready, handshake.signals.not_accepted) == (False, True)
    assert handshake.read(Commands(trigger=True), 10.0) == []


def test_what_was_held_before_the_start_is_no_command():
    handshake = Handshake()
    handshake.prepared(1, "ab")
    assert handshake.read(Commands(trigger=True, request_recipe=True, heartbeat=1), 1.0) == []
    assert handshake.read(Commands(heartbeat=2), 1.1) == []
    assert handshake.read(Commands(trigger=True, heartbeat=3, part=5), 1.2) == [TakePart(5, 1.2)]


def test_a_recipe_is_ready_only_once_it_is_prepared():
    bench = Bench()
    assert bench.say(request_recipe=True, recipe=2) == [PrepareRecipe(2)]
    assert (bench.signals.ready, bench.signals.state, bench.signals.recipe_acknowledged) == (
        False,
        StationState.PREPARING,
        False,
    )
    bench.handshake.prepared(2, "12")
    assert (bench.signals.ready, bench.signals.recipe, bench.signals.recipe_acknowledged) == (True, 2, True)
    bench.say(request_recipe=False)
    assert not bench.signals.recipe_acknowledged
    bench.say(request_recipe=True, recipe=9)
    bench.handshake.refused()
    assert (bench.signals.recipe_error, bench.signals.recipe, bench.signals.ready) == (True, 2, True)
    bench.handshake.failed(Code.DISK_FULL)
    bench.handshake.refused()
    assert (bench.signals.error, bench.signals.ready) == (True, False), "an error ends by command alone"


def test_an_error_ends_by_command_alone():
    bench = Bench()
    bench.handshake.failed(Code.DISK_FULL)
    assert (bench.signals.error, bench.signals.error_code, bench.signals.ready) == (True, Code.DISK_FULL, False)
    bench.say(reset_counters=True)
    assert bench.signals.error
    bench.say(clear_error=True)
    assert (bench.signals.error, bench.signals.ready) == (False, True)


STEPS = st.one_of(
    st.tuples(st.just("say"), st.fixed_dictionaries({}, optional={
        "trigger": st.booleans(), "acknowledge": st.booleans(), "clear_error": st.booleans(),
        "request_recipe": st.booleans(), "part": st.integers(0, 5),
    })),
    st.tuples(st.just("judge"), st.sampled_from(ALL_VERDICTS)),
    st.tuples(st.just("silence"), st.floats(0.1, 8.0)),
    st.tuples(st.just("fail"), st.none()),
    st.tuples(st.just("prepare"), st.booleans()),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=60))
def test_in_any_order_only_an_accepted_part_is_accepted(steps):
    bench, open_part, verdicts, shown, numbers = Bench(), None, {}, [], []
    for step, detail in steps:
        if step == "say":
            for work in bench.say(**detail):
                if isinstance(work, TakePart):
                    assert open_part is None, "one part at a time"
                    open_part = work.part
        elif step == "judge" and open_part is not None:
            verdicts[bench.handshake.next_number] = open_part, detail
            bench.judge(open_part, detail)
            open_part = None
        elif step == "silence":
            bench.now += detail
            bench.handshake.tick(bench.now)
        elif step == "fail" and open_part is None:
            bench.handshake.failed(Code.INTERNAL)
        elif step == "prepare" and bench.signals.state == StationState.PREPARING:
            bench.handshake.prepared(1, "12") if detail else bench.handshake.refused()
        signals = bench.signals
        assert not (signals.accepted and signals.not_accepted)
        assert signals.results_waiting <= QUEUE
        assert Signals.from_registers(signals.registers()) == signals
        if signals.accepted:
            assert verdicts[signals.result_number] == (signals.part, "accept")
        if signals.result_valid and (not numbers or numbers[-1] != signals.result_number):
            numbers.append(signals.result_number)
            shown.append(signals.part)
    assert numbers == sorted(set(numbers)), "in order, each once"
    assert shown == [verdicts[number][0] for number in numbers]


@given(st.builds(Commands, part=st.integers(0, 2**32 - 1), heartbeat=st.integers(0, 65_535), trigger=st.booleans()))
def test_commands_survive_their_registers(commands):
    assert Commands.from_registers(commands.registers()) == commands


def test_signals_have_places_of_their_own():
    for side in (Commands, Signals):
        bits = [place.bit for place in side.places() if place.bit is not None]
        assert bits == list(range(len(bits)))
        assert len(bits) <= 16
        words = [
            register
            for place in side.places()
            if place.bit is None
            for register in range(place.register, place.register + place.length)
        ]
        assert words == list(range(1, side.count()))
