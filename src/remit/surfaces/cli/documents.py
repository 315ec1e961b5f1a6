"""The argument that names a document, for every command that takes one.

It is a file or standard input; how it is read stands in ``inputs``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FileName = Annotated[
    Path, typer.Argument(metavar="FILE", help="YAML or JSON; - reads standard input.")
]
