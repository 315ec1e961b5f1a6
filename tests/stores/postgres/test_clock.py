"""The clock of a ledger that several machines write to (INV-24)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.contract.builders import T0, Hands

from remit.stores.clock import JUMP_US, Anchor, jump
from remit.stores.postgres.clock import NOISE_US, ServerClock

SECOND = 1_000_000


class Two:
    """Two machines with boot clocks of their own, and one server's wall clock."""

    def __init__(self) -> None:
        self.hands = (Hands(), Hands())
        self.hands[1].boot, self.hands[1].up = "boot-2", 77 * SECOND
        self.clocks = tuple(ServerClock(hands) for hands in self.hands)
        self.anchor = Anchor(self.hands[0].boot, self.hands[0].up, T0, 0)

    def pass_us(self, duration: int) -> None:
        for hands in self.hands:
            hands.pass_us(duration)

    def step(self, difference: int) -> None:
        """Somebody sets the server's clock."""
        for hands in self.hands:
            hands.wall += difference

    def now(self, machine: int) -> int:
        return self.clocks[machine].moment(self.anchor, 0, lambda: 0).ledger_us

    def commit(self, machine: int, *, record: bool = True) -> int:
        """One write, which records a jump where there is one."""
        moment = self.clocks[machine].moment(self.anchor, 0, lambda: 0)
        jumped = record and jump(self.anchor, moment) is not None
        offset = moment.offset_us if jumped else self.anchor.offset_us
        self.anchor = Anchor(moment.boot_id, moment.boot_us, moment.ledger_us, offset)
        return moment.ledger_us


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(0, 100 * SECOND)),
        st.tuples(st.just("step"), st.integers(-5000 * SECOND, 5000 * SECOND)),
        st.tuples(st.sampled_from(["commit", "look"]), st.integers(0, 1)),
    ),
    max_size=40,
)


@given(STEPS)
def test_time_goes_forward_whatever_two_machines_see(steps: list[tuple[str, int]]) -> None:
    two = Two()
    last = T0
    for what, value in steps:
        if what == "pass":
            two.pass_us(value)
        elif what == "step":
            two.step(value)
        else:
            found = two.commit(value) if what == "commit" else two.now(value)
            assert found >= two.anchor.ledger_us
            if what == "commit":
                assert found >= last
                last = found


@given(st.integers(-5000 * SECOND, 5000 * SECOND), st.integers(1, 50 * SECOND))
def test_a_step_between_two_writes_moves_no_duration(step: int, duration: int) -> None:
    """Both machines have seen the ledger before; then the server's clock is set."""
    two = Two()
    two.commit(0)
    two.commit(1)
    before = two.commit(0)
    two.step(step)
    two.pass_us(duration)
    after = two.commit(1)
    most = duration + (JUMP_US if abs(step) <= JUMP_US else 0)
    assert duration - NOISE_US <= after - before <= most
    two.pass_us(NOISE_US + 7)
    assert two.commit(0) - after >= 7


def test_a_process_that_stood_still_between_answer_and_reading_sees_no_jump() -> None:
    """The server said its time, then this process was stopped for a minute."""
    hands = Hands()
    clock = ServerClock(hands)
    clock._told = False
    hands.pass_us(60 * SECOND)
    anchor = Anchor(hands.boot, 1_000_000, T0, 0)
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        return T0 + 60 * SECOND

    assert clock.moment(anchor, T0, ask).offset_us == 0
    assert asked == [1]
