"""Opening a snapshot for the operator's views, now or after any event.

It is apart so that a look at the present loads no fold: a prompt or a script may ask for the fleet often.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.ports import ReadTx, Store


@contextmanager
def glimpse(store: Store, at: int | None) -> Iterator[ReadTx]:
    """The ledger now, or just after event ``at``; raises ``NOT_FOUND`` where that is not there yet."""
    with store.read() as tx:
        if at is None:
            yield tx
            return
        from remit.service.glimpse import Glimpse

        yield Glimpse(tx, at)  # type: ignore[misc]  # of the queries that these views ask
