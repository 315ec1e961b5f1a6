"""Signatures: what is taken agrees with ``ssh-keygen -Y verify``, and a changed byte is never taken.

INV-15 rests on it.
"""

from __future__ import annotations

import base64
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ground.people import Key, SecurityKey, agrees, make_key

from remit.ports.signing import Examined, PublicKey, SignatureFault
from remit.signatures.keys import SK_ECDSA, SK_ED25519, read_line
from remit.signatures.sshsig import armoured, examine, unarmoured

STATEMENT = b'{"act":"accept","subject":"D-1"}'
NAMESPACE = "remit-decision"
KINDS = {
    "ed25519": ("-t", "ed25519"),
    "nistp256": ("-t", "ecdsa", "-b", "256"),
    "nistp384": ("-t", "ecdsa", "-b", "384"),
    "nistp521": ("-t", "ecdsa", "-b", "521"),
    "rsa": ("-t", "rsa", "-b", "2048"),
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Key]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder, name, *kind) for name, kind in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
def test_a_signature_of_ssh_keygen_is_taken(keys: dict[str, Key], name: str) -> None:
    key = keys[name]
    signature = key.sign(STATEMENT, NAMESPACE)
    found = examine(STATEMENT, signature)
    assert isinstance(found, Examined), found
    assert found.key == read_line(key.line)
    assert (found.namespace, found.presence, found.verification) == (NAMESPACE, False, False)
    assert isinstance(examine(STATEMENT, found.text), Examined)
    assert isinstance(examine(STATEMENT + b" ", signature), SignatureFault)


@pytest.mark.parametrize("name", KINDS)
def test_the_fingerprint_is_the_one_that_people_see(keys: dict[str, Key], name: str) -> None:
    import subprocess

    line = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{keys[name].path}.pub"], capture_output=True, check=True
    ).stdout.decode()
    key = read_line(keys[name].line)
    assert isinstance(key, PublicKey)
    assert line.split()[:2] == [str(key.bits), key.fingerprint]


@pytest.mark.parametrize("kind", [SK_ED25519, SK_ECDSA])
@pytest.mark.parametrize("flags", [0x00, 0x01, 0x04, 0x05])
def test_a_security_keys_flags_are_read_and_ssh_keygen_agrees(
    tmp_path: Path, kind: str, flags: int
) -> None:
    """``ssh-keygen -Y verify`` takes all four: that nobody touched it is for us to see."""
    device = SecurityKey(kind)
    signature = device.sign(STATEMENT, NAMESPACE, flags)
    found = examine(STATEMENT, signature)
    assert isinstance(found, Examined), found
    assert (found.presence, found.verification) == (bool(flags & 1), bool(flags & 4))
    assert found.counter == 1
    assert found.key.hardware
    assert agrees(tmp_path, device.line, STATEMENT, NAMESPACE, signature)


@pytest.mark.parametrize("name", [*KINDS, SK_ED25519, SK_ECDSA])
def test_a_flipped_byte_anywhere_is_refused(keys: dict[str, Key], name: str) -> None:
    """Each byte of the blob, and each of its armour, one after the other."""
    signer = keys[name] if name in keys else SecurityKey(name)
    signature = signer.sign(STATEMENT, NAMESPACE)
    blob, rnd = unarmoured(signature), Random(name)
    for at in range(len(blob)):
        other = bytearray(blob)
        other[at] ^= rnd.randrange(1, 256)
        found = examine(STATEMENT, armoured(bytes(other)))
        assert isinstance(found, SignatureFault) or found.namespace != NAMESPACE, at
    for at in range(len(signature)):
        wrong = chr(ord(signature[at]) ^ rnd.randrange(1, 128))
        found = examine(STATEMENT, signature[:at] + wrong + signature[at + 1 :])
        assert isinstance(found, SignatureFault), (at, wrong)


@pytest.mark.parametrize("name", [*KINDS, SK_ED25519, SK_ECDSA])
def test_ssh_keygen_and_we_agree_about_what_is_broken(
    keys: dict[str, Key], tmp_path: Path, name: str
) -> None:
    """A few changed bytes of each part: whatever we take, ``ssh-keygen`` takes."""
    signer = keys[name] if name in keys else SecurityKey(name)
    blob, rnd = unarmoured(signer.sign(STATEMENT, NAMESPACE)), Random(name)
    for at in sorted(rnd.sample(range(len(blob)), 12)):
        other = bytearray(blob)
        other[at] ^= rnd.randrange(1, 256)
        text = armoured(bytes(other))
        found = examine(STATEMENT, text)
        ours = isinstance(found, Examined) and found.namespace == NAMESPACE
        assert ours <= agrees(tmp_path, signer.line, STATEMENT, NAMESPACE, text), at


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_a_fault_and_never_an_error(noise: bytes) -> None:
    framed = b"SSHSIG\x00\x00\x00\x01" + noise
    for text in (noise.decode("latin-1"), armoured(framed), base64.b64encode(framed).decode()):
        assert isinstance(examine(STATEMENT, text), SignatureFault)
    line = f"ssh-ed25519 {base64.b64encode(noise).decode()}"
    assert isinstance(read_line(line), SignatureFault)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_cut_or_spliced_signature_is_refused(data: st.DataObject) -> None:
    blob = unarmoured(SecurityKey().sign(STATEMENT, NAMESPACE))
    start = data.draw(st.integers(0, len(blob)))
    end = data.draw(st.integers(start, len(blob)))
    added = data.draw(st.binary(max_size=8))
    other = blob[:start] + added + blob[end:]
    if other != blob:
        assert isinstance(examine(STATEMENT, armoured(other)), SignatureFault)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!!",
        "ssh-dss AAAAB3NzaC1kc3MAAACBAA==",
        "ssh-rsa " + base64.b64encode(b"\x00\x00\x00\x07ssh-rsa\x00\x00\x00\x01\x03\x00\x00\x00\x01\x0f").decode(),
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIGpzAPDG8w0OXZ3lfaL0Bl6OMKFGv2gFVRrLDh5O5Hco",
        "ssh-ed25519 AAAA\nssh-ed25519 AAAA",
        "x" * 9_000,
    ],
)  # fmt: skip
def test_what_is_no_key_that_counts_is_a_fault(line: str) -> None:
    assert isinstance(read_line(line), SignatureFault)


def test_a_reserved_part_is_refused_though_nothing_signs_it() -> None:
    from remit.signatures.wire import string

    blob = unarmoured(SecurityKey().sign(STATEMENT, NAMESPACE))
    spot = blob.index(string(NAMESPACE.encode())) + len(string(NAMESPACE.encode()))
    other = blob[:spot] + string(b"x") + blob[spot + 4 :]
    assert isinstance(examine(STATEMENT, armoured(other)), SignatureFault)


def test_one_signature_has_one_text(keys: dict[str, Key]) -> None:
    """The bits that base64 leaves over say nothing, and so they may not differ."""
    for name in (*KINDS, SK_ED25519, SK_ECDSA):
        signer = keys[name] if name in keys else SecurityKey(name)
        text = base64.b64encode(unarmoured(signer.sign(STATEMENT, NAMESPACE))).decode()
        if not text.endswith("="):
            continue
        body = text.rstrip("=")
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        other = letters[letters.index(body[-1]) ^ 1]
        twin = body[:-1] + other + text[len(body) :]
        assert base64.b64decode(twin) == base64.b64decode(text)
        assert isinstance(examine(STATEMENT, text), Examined)
        assert isinstance(examine(STATEMENT, twin), SignatureFault)
        return
    raise AssertionError("no signature here has bits left over")
