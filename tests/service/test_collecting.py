"""The collector is held back while much is made, and left as it was found."""

from __future__ import annotations

import gc

import pytest

from remit.service.collecting import held_back


def test_the_collector_is_off_within_and_on_again_after_a_fault() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), held_back():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with held_back():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
