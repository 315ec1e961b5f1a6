"""What the scripted agents write for each piece of work: the part of the demo that a model plays.

A change is the files that it adds or replaces, in two halves, so that a worker can be stopped
between them. One of them is dishonest: it says that temperatures can be converted, adds a sentence
to the README and a test that skips itself, and nothing else. Its check exits 0 all the same, which
is why exit statuses alone prove so little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remit.demo.program import FILES


@dataclass(frozen=True, slots=True)
class Change:
    """One piece of work: ``first`` and ``rest`` map paths to texts; ``says`` is the report."""

    says: str
    first: dict[str, str]
    rest: dict[str, str] = field(default_factory=dict)

    def write(self, directory: Path, *, first: bool = True, rest: bool = True) -> None:
        """Put the files of the wanted halves into a clone."""
        wanted = (self.first if first else {}) | (self.rest if rest else {})
        for name, text in wanted.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _test(name: str, imports: str, *lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return (
        f"import unittest\n\n{imports}\n\n\n"
        f"class {name}Test(unittest.TestCase):\n    def test_{name.lower()}(self):\n{body}"
    )


def _family(name: str, note: str, factors: str, *lines: str, imports: str = "") -> Change:
    module = f'"""{note}"""\n\n{imports}FACTORS = {factors}\n'
    test = _test(name.capitalize(), "from units import convert", *lines)
    return Change(
        f"{note} They have a table and a test.",
        {f"units/families/{name}.py": module},
        {f"tests/test_{name}.py": test},
    )


_SPEED_IMPORTS = "from units.families.duration import FACTORS as _TIMES\n\n"

_ROUNDING = '''\
"""Round results to what a reader wants to see."""


def significant(value, digits):
    """The value with so many significant digits."""
    return float("%.*g" % (digits, value))
'''

_CATALOGUE = '''\
"""Say which units there are."""

from units import tables


def lines():
    """One line for each family: its name and its units."""
    return ["%s: %s" % (name, " ".join(sorted(table))) for name, table in tables().items()]
'''

_SKIPPED = """\
import unittest


@unittest.skip("checked by hand")
class TemperatureTest(unittest.TestCase):
    def test_freezing_point(self):
        self.fail("not written yet")
"""

CHANGES: Final = {
    "units-2": Change(
        "A sign is allowed in front of a number; the suite is green again.",
        {
            "units/numbers.py": FILES["units/numbers.py"].replace(
                'if not plain.replace(".", "", 1).isdigit():',
                'if not plain.removeprefix("-").replace(".", "", 1).isdigit():',
            )
        },
    ),
    "units-3": _family(
        "mass",
        "Masses, in kilograms.",
        '{"kg": 1, "g": 0.001, "t": 1000, "lb": 0.45359237}',
        'self.assertEqual(convert(2, "t", "kg"), 2000)',
    ),
    "units-4": _family(
        "duration",
        "Durations, in seconds.",
        '{"s": 1, "min": 60, "h": 3600, "d": 86400}',
        'self.assertEqual(convert(2, "h", "min"), 120)',
    ),
    "units-5": Change(
        "Temperatures can be converted now: C, F and K, with a test.",
        {
            "README.md": FILES["README.md"] + "\nTemperatures: C, F and K.\n",
            "tests/test_temperature.py": _SKIPPED,
        },
    ),
    "units-7": _family(
        "speed",
        "Speeds, in metres a second.",
        '{"m/s": 1, "km/h": 1000 / _TIMES["h"], "m/min": 1 / _TIMES["min"]}',
        'self.assertAlmostEqual(convert(90, "km/h", "m/s"), 25)',
        imports=_SPEED_IMPORTS,
    ),
    "units-8": _family(
        "area",
        "Areas, in square metres.",
        '{"m2": 1, "ha": 10000, "km2": 1000000}',
        'self.assertEqual(convert(3, "km2", "ha"), 300)',
    ),
    "units-9": Change(
        "Results can be rounded to significant digits.",
        {
            "units/rounding.py": _ROUNDING,
            "tests/test_rounding.py": _test(
                "Rounding",
                "from units.rounding import significant",
                "self.assertEqual(significant(1609.344, 3), 1610)",
            ),
        },
    ),
    "units-10": Change(
        "The families and their units can be listed.",
        {
            "units/catalogue.py": _CATALOGUE,
            "tests/test_catalogue.py": _test(
                "Catalogue",
                "from units.catalogue import lines",
                'self.assertIn("speed: km/h m/min m/s", lines())',
            ),
        },
    ),
}
"""Work id to change. There is none for what is closed already, or never gets ready."""
