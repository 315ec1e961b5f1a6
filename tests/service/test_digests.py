"""A message is known by the digest that the core would take of its envelope, however that is made."""

from __future__ import annotations

from dataclasses import asdict, fields

from hypothesis import given
from hypothesis import strategies as st

from remit.core.canonical import digest_of
from remit.core.effect_facts import Comparison, Envelope
from remit.service.submitting import intent_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FIGURE = st.none() | st.integers(-(1 << 80), 1 << 80)
"""Also what no ledger holds: a digest is taken before anything is refused."""


@given(TEXT, TEXT, FIGURE, FIGURE)
def test_the_digest_of_a_message_is_that_of_the_core(
    name: str, text: str, size: int | None, deadline: int | None
) -> None:
    test = (
        Comparison(name, "object_count", "count", "1"),
        Comparison(text, "digest", "equals", name),
    )
    said = Envelope(
        work_id=name,
        completion_test=test,
        payload_digest=text,
        payload_bytes=size,
        deadline=deadline,
        depends_on=(name, text),
    )
    parts = {field.name: getattr(said, field.name) for field in fields(Envelope)}
    parts["completion_test"] = [asdict(one) for one in test]
    assert intent_of(said).digest == digest_of(parts)
