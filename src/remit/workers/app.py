"""Apps: which function does which work, and through which destination.

``App`` is what a user writes down; it holds no ledger and starts nothing, so that a module with one
can be imported anywhere. A handler is found by the operation of an intent (a shell pattern) and its
work class; an exact operation goes before patterns, and patterns go in the order in which they were
written. A handler without a destination serves PURE work, or sends by itself and says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

from remit.core.effect_facts import Envelope
from remit.core.refusals import Code
from remit.ports import RemitError
from remit.ports.destination import Destination

F = TypeVar("F", bound=Callable[..., Any])

_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Handler:
    """One function, and the work that it takes; ``timeout_ms`` bounds one send."""

    function: Callable[..., Any]
    operation: str
    work_class: str
    destination: str
    timeout_ms: int

    @property
    def name(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__qualname__", type(self.function).__qualname__)

    @property
    def is_async(self) -> bool:
        """Whether it runs on the event loop."""
        call = getattr(self.function, "__call__", None)  # noqa: B004  # what it is, not whether
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def takes(self, envelope: Envelope, work_class: str) -> bool:
        """Whether it does this work."""
        if self.work_class and self.work_class != work_class:
            return False
        return fnmatchcase(envelope.operation_id, self.operation)


Make = Callable[[Envelope, bytes | None], bytes]
"""Makes a payload of an envelope and of the message as it was submitted, None where it was not kept."""

P = TypeVar("P", bound=Make)


@dataclass(frozen=True, slots=True)
class Payload:
    """What makes the payload of an operation again."""

    make: Make
    operation: str


class App:
    """Handlers and destinations of a worker, and what makes payloads again."""

    def __init__(self) -> None:
        self.handlers: list[Handler] = []
        self.payloads: list[Payload] = []
        self.destinations: dict[str, Destination | Mapping[str, Any]] = {}

    def handler(
        self,
        operation: str = "*",
        *,
        work_class: str = "",
        destination: str = "",
        timeout_ms: int = 30_000,
    ) -> Callable[[F], F]:
        """Let a function, plain or ``async``, do the work of an operation.

        ``operation`` is compared with the intent's ``operation_id`` as a shell pattern.
        ``destination`` names the one that ``job.send`` goes to; ``timeout_ms`` bounds that call.
        Raises ``BAD_INPUT`` for a second handler of the same work.
        """

        def take(function: F) -> F:
            made = Handler(function, operation, work_class, destination, timeout_ms)
            self._demand(made)
            self.handlers.append(made)
            return function

        return take

    def payload(self, operation: str = "*") -> Callable[[P], P]:
        """Let a function make the payload of an operation, the same bytes each time it is asked.

        With it, where a destination enforces an idempotency key and has no look-up, a worker that
        reconciles repeats the identical request instead, while the key is kept. What it makes is
        compared with the digest that was intended, and sent only if it is the same.
        Raises ``BAD_INPUT`` for a second one of the same operation.
        """

        def take(make: P) -> P:
            if not operation or any(known.operation == operation for known in self.payloads):
                raise RemitError(
                    f"cannot take a payload of the operation {operation!r}: "
                    + ("another makes it already" if operation else "it names none"),
                    "give each operation one",
                    {"operation": operation},
                    code=Code.BAD_INPUT,
                )
            self.payloads.append(Payload(make, operation))
            return make

        return take

    def payload_of(self, operation: str) -> Payload | None:
        """What makes the payload of an operation, None where nothing does."""
        fit = [one for one in self.payloads if fnmatchcase(operation, one.operation)]
        exact = [one for one in fit if not _WILD & set(one.operation)]
        return next(iter(exact or fit), None)

    def destination(self, name: str, there: Destination | Mapping[str, Any]) -> None:
        """Say how a destination is reached: an adapter of one's own, or a document.

        Without this the document that was registered on the ledger is used.
        """
        self.destinations[name] = there

    def handler_of(self, envelope: Envelope, work_class: str) -> Handler | None:
        """The handler of this work, None where there is none."""
        fit = [handler for handler in self.handlers if handler.takes(envelope, work_class)]
        exact = [handler for handler in fit if not _WILD & set(handler.operation)]
        return next(iter(exact or fit), None)

    def _demand(self, made: Handler) -> None:
        def wrong(found: str, hint: str) -> RemitError:
            message = f"cannot take {made.name} as a handler of {made.operation!r}: {found}"
            return RemitError(message, hint, {"handler": made.name}, code=Code.BAD_INPUT)

        if not callable(made.function):
            raise wrong("it is no function", "decorate a function")
        if not made.operation:
            raise wrong("it names no operation", 'name one: @app.handler("export")')
        if made.timeout_ms <= 0:
            raise wrong(f"timeout_ms is {made.timeout_ms}", "give the milliseconds of one send")
        for known in self.handlers:
            if (known.operation, known.work_class) == (made.operation, made.work_class):
                raise wrong(f"{known.name} does this already", "take another pattern or class")
