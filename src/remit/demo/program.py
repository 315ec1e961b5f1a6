"""The program that the demo's work is about: a unit converter as its origin holds it at first.

It is small and whole: a package, a command, tests, and a tool that writes a JUnit report. One test
is red, because the backlog says so: negative numbers cannot be read yet. It needs nothing but
Python, so that its checks run anywhere. These files are data here; nothing of remit imports them.
"""

from __future__ import annotations

from typing import Final

_README = """\
# units

Converts numbers between units: `python3 -m units 3 km m`.

A family of units is a module in `units/families` with a table of factors; a new module is found by
itself. Tests: `python3 -m unittest discover -s tests -t .`
"""

_PACKAGE = '''\
"""Convert a number from one unit to another."""

import importlib
import pkgutil

from units import families


def tables():
    """Factors to the base unit, for each family that there is."""
    names = sorted(part.name for part in pkgutil.iter_modules(families.__path__))
    return {name: importlib.import_module("units.families." + name).FACTORS for name in names}


def convert(value, source, target):
    """The value in another unit of the same family."""
    for factors in tables().values():
        if source in factors and target in factors:
            return value * factors[source] / factors[target]
    raise LookupError("no family has both " + source + " and " + target)
'''

_COMMAND = '''\
"""python3 -m units VALUE FROM TO"""

import sys

from units import convert
from units.numbers import parse


def main(arguments):
    try:
        value, source, target = arguments
        print("%g %s" % (convert(parse(value), source, target), target))
    except (ValueError, LookupError) as error:
        print("units: " + str(error), file=sys.stderr)
        return 1
    return 0


sys.exit(main(sys.argv[1:]))
'''

_NUMBERS = '''\
"""Read numbers as people type them."""


def parse(text):
    """A number such as 3, 2.5 or 1_000."""
    plain = text.replace("_", "")
    if not plain.replace(".", "", 1).isdigit():
        raise ValueError(repr(text) + " is not a number")
    return float(plain)
'''

_LENGTH = '''\
"""Lengths, in metres."""

FACTORS = {"m": 1, "km": 1000, "cm": 0.01, "mi": 1609.344, "ft": 0.3048}
'''

_TEST_LENGTH = """\
import unittest

from units import convert


class LengthTest(unittest.TestCase):
    def test_kilometres(self):
        self.assertEqual(convert(3, "km", "m"), 3000)

    def test_unknown(self):
        with self.assertRaises(LookupError):
            convert(3, "km", "furlong")
"""

_TEST_NUMBERS = """\
import unittest

from units.numbers import parse


class NumbersTest(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(parse("1_000.5"), 1000.5)

    def test_negative(self):
        self.assertEqual(parse("-40"), -40)
"""

_JUNIT = '''\
"""python3 tools/junit.py REPORT TEST...: run tests and write what each of them did as JUnit XML."""

import os
import sys
import unittest
from xml.sax.saxutils import quoteattr


class Recorder(unittest.TextTestResult):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.cases = []

    def note(self, test, inner):
        self.cases.append("<testcase name=%s>%s</testcase>" % (quoteattr(test.id()), inner))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, "<failure/>")

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, "<error/>")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "<skipped/>")


sys.path.insert(0, os.getcwd())
suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:])
result = unittest.TextTestRunner(resultclass=Recorder).run(suite)
with open(sys.argv[1], "w") as report:
    report.write("<testsuite>" + "".join(result.cases) + "</testsuite>")
sys.exit(0 if result.wasSuccessful() else 1)
'''

FILES: Final = {
    ".gitignore": "__pycache__/\n/report.xml\n",
    "README.md": _README,
    "tests/__init__.py": "",
    "tests/test_length.py": _TEST_LENGTH,
    "tests/test_numbers.py": _TEST_NUMBERS,
    "tools/junit.py": _JUNIT,
    "units/__init__.py": _PACKAGE,
    "units/__main__.py": _COMMAND,
    "units/families/__init__.py": '"""One module for each family of units."""\n',
    "units/families/length.py": _LENGTH,
    "units/numbers.py": _NUMBERS,
}
"""Path to text, as the origin's first commit holds them."""
