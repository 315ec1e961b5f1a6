"""Nobody pays for a destination that he does not use."""

from __future__ import annotations

import subprocess
import sys


def loaded(program: str) -> str:
    code = (
        f"import sys\n{program}\nprint(*sorted(set(sys.modules) & {{'boto3', 'urllib3', 'ssl'}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_libraries_load_with_the_destination_that_needs_them() -> None:
    folder = {"root": "/srv", "path": "{key}"}
    build = "from remit.wiring import destination\ndestination({document})"
    document = {"name": "x", "kind": "filesystem", "record": "r", "settings": folder}
    assert loaded("import remit.wiring, remit.ports.destination") == ""
    assert loaded(build.format(document=document)) == ""
    s3 = {**document, "kind": "s3", "settings": {"bucket": "b", "key": "{key}"}}
    assert loaded(build.format(document=s3)) == ""
