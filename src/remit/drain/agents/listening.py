"""Listening: what a declaration says is to be taken from an agent's output, and nothing else.

Each object is JSON, decoded within bounds. What does not decode, is too long or has the wrong kind is
counted and left; nothing of it can stop the run. Money is read exactly, as a decimal, and rounded up
to whole micro-units; a figure that is no sensible amount is no figure.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from remit.drain.output import Line
from remit.ports.agent import Agent, Prices, Reading, Speaks

MICROS: Final = 1_000_000
MOST_USD: Final = Decimal(1_000_000)
MOST_TOKENS: Final = 1 << 40
TEXT_CHARS: Final = 4_000

_DECODER: Final = msgspec.json.Decoder(Any, float_hook=Decimal)


class Listener:
    """Takes an agent's standard output line by line, and holds what was found last."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._tokens: dict[str, int] = {}
        self._whole = bytearray()
        self.text = ""
        self.session = ""
        self.failed: str | None = None
        self.usd: Decimal | None = None
        self.unread = 0

    def take(self, line: Line) -> None:
        """One line of standard output."""
        match self._agent.output:
            case Speaks.TEXT:
                self.text = (self.text + "\n" + _text(line.data))[-TEXT_CHARS:]
            case Speaks.JSON_LINES:
                if line.data.strip():
                    self._object(line.data, line.cut)
            case Speaks.JSON:
                self._whole += line.data + b"\n"
                del self._whole[(1 << 20) + 1 :]

    def end(self) -> None:
        """The output is at its end."""
        if self._agent.output is Speaks.JSON and self._whole.strip():
            self._object(bytes(self._whole), len(self._whole) > 1 << 20)
        self.text = self.text.strip()

    @property
    def cost_micros(self) -> int | None:
        """What the agent itself told that it cost: its figure, else its tokens at declared prices."""
        if self.usd is not None:
            return int((self.usd * MICROS).to_integral_value(ROUND_CEILING))
        if self._agent.prices is None or "input_tokens" not in self._tokens:
            return None
        return priced(self._agent.prices, self._tokens)

    def _object(self, data: bytes, cut: bool) -> None:
        try:
            value = None if cut else _DECODER.decode(data)
        except (msgspec.MsgspecError, RecursionError, InvalidOperation, ValueError):
            value = None
        if not isinstance(value, dict):
            self.unread += 1
            return
        for reading in self._agent.read:
            if all(_same(at(value, place), wanted) for place, wanted in reading.when):
                self._read(value, reading)

    def _read(self, value: dict[str, Any], reading: Reading) -> None:
        for name in ("text", "session"):
            found = at(value, getattr(reading, name))
            if isinstance(found, str):
                setattr(self, name, found[:TEXT_CHARS])
        if reading.failed:
            found = at(value, reading.failed)
            self.failed = found[:TEXT_CHARS] if isinstance(found, str) else "it says no reason"
        usd = at(value, reading.cost_usd)
        if isinstance(usd, int | Decimal) and not isinstance(usd, bool):
            amount = Decimal(usd)
            if amount.is_finite() and 0 <= amount <= MOST_USD:
                self.usd = amount
        for name in ("input_tokens", "cached_tokens", "output_tokens"):
            count = at(value, getattr(reading, name))
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < MOST_TOKENS:
                self._tokens[name] = count


def at(value: dict[str, Any], place: str) -> Any:
    """What stands at a place; None for an empty place and where nothing does."""
    found: Any = value
    for name in place.split(".") if place else ():
        found = found.get(name) if isinstance(found, dict) else None
    return found if place else None


def priced(prices: Prices, tokens: dict[str, int]) -> int:
    """What tokens cost in micro-units, rounded up; cached ones are part of the input."""
    given, output = tokens.get("input_tokens", 0), tokens.get("output_tokens", 0)
    cached = min(tokens.get("cached_tokens", 0), given)
    per_cached = prices.input if prices.cached is None else prices.cached
    total = (given - cached) * prices.input + cached * per_cached + output * prices.output
    return -(-total // MICROS)


def _same(found: Any, wanted: str | int | bool) -> bool:
    return type(found) is type(wanted) and bool(found == wanted)


def _text(data: bytes) -> str:
    return data[-TEXT_CHARS * 4 :].decode("utf-8", "replace")
