"""Finding an app by the name that a command line gives: ``MODULE:APP``.

A module is somebody's code, so whatever it raises while it is imported is told in one line, with the
place in it, and never as a traceback. The current folder is looked in first, as for any program that
is started there.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from remit.core.refusals import Code
from remit.ports import RemitError
from remit.workers.app import App
from remit.workers.endings import said


def app_named(name: str, folder: Path) -> App:
    """The app of ``MODULE:APP`` (``app`` where no name follows the module).

    Raises ``BAD_INPUT`` for a module that cannot be imported, for a name that it does not have, and
    for one that is no app or has no handlers.
    """
    module_name, _, attribute = name.partition(":")
    attribute = attribute or "app"
    if not all(part.isidentifier() for part in (*module_name.split("."), *attribute.split("."))):
        raise _bad(name, "expected MODULE:APP", "write it as in 'remit worker exports:app'")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise _broken(name, module_name, error) from error
        raise _bad(
            name,
            f"there is no module {error.name!r} in {folder} or among what is installed",
            "start it in the module's folder, or install it",
        ) from error
    except Exception as error:
        raise _broken(name, module_name, error) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise _bad(name, f"{module_name} has no {attribute!r}", f"write '{attribute} = remit.App()' there")  # fmt: skip
        found = getattr(found, part)
    if not isinstance(found, App):
        kind = type(found).__name__
        raise _bad(name, f"{attribute} is {kind}, expected remit.App", "make it with remit.App()")
    if not found.handlers:
        raise _bad(name, f"{attribute} has no handlers", 'write one: @app.handler("export")')
    return found


def _broken(name: str, module_name: str, error: Exception) -> RemitError:
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return _bad(name, f"importing {module_name} raised {said(error)}{at}", "mend the module")


def _bad(name: str, found: str, hint: str) -> RemitError:
    message = f"cannot work for {name!r}: {found}"
    return RemitError(message, hint, {"app": name}, code=Code.BAD_INPUT)
