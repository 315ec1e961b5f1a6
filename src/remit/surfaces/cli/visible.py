"""Foreign text made safe to show: what a terminal would obey becomes something to read.

Titles, reasons and bodies come from backlogs, agents and other machines. A control character, an
escape sequence, a bidirectional override or an invisible character is shown as its escape, so that
no text can move the cursor, hide a part of itself or pass for something else. Nothing here is ever
taken as markup.
"""

from __future__ import annotations

from typing import Any


def visible(text: str, limit: int = 0, *, lines: bool = False) -> str:
    """The text with every unprintable character as a visible escape.

    ``limit`` cuts longer text and says how much is missing (0: no cut). With ``lines`` line feeds
    and tabs stay as they are.
    """
    cut = ""
    if limit and len(text) > limit:
        cut = f"… [{len(text) - limit:,} more characters]"
        text = text[:limit]
    if text.isprintable():
        return text + cut
    return "".join(_shown(char, lines) for char in text) + cut


def _shown(char: str, lines: bool) -> str:
    if char.isprintable() or (lines and char in "\n\t"):
        return char
    number = ord(char)
    if number < 0x100:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def plain(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value) or "-"
    return str(value)
