"""What of a backlog may be worked on, worked out from the file alone.

It shares no code with the product: plain dictionaries, and recursion over the rules of Beads' edges.
It expects a file whose parents form no circle.
"""

from __future__ import annotations

from typing import Any


class Oracle:
    """Answers about one backlog."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.rows = {one["id"]: one for one in entries}
        self.children: dict[str, list[str]] = {}
        for one in entries:
            for target, kind in self._edges(one["id"]):
                if kind == "parent-child":
                    self.children.setdefault(target, []).append(one["id"])

    def _edges(self, name: str) -> list[tuple[str, str]]:
        found = self.rows[name].get("dependencies") or []
        return [(one["depends_on_id"], one["type"]) for one in found]

    def _done(self, name: str) -> bool:
        return name in self.rows and self.rows[name]["status"] == "closed"

    def _failed(self, name: str) -> bool:
        return self._done(name) and "failed" in self.rows[name].get("close_reason", "")

    def _ended(self, name: str) -> bool:
        return name in self.rows and self.rows[name]["status"] in ("closed", "tombstone")

    def _descends(self, name: str, ancestor: str) -> bool:
        parts = self.children.get(ancestor, [])
        return any(part == name or self._descends(name, part) for part in parts)

    def _met(self, target: str, kind: str) -> bool:
        if kind == "blocks":
            return self._done(target)
        if kind == "conditional-blocks":
            return self._failed(target)
        if kind == "waits-for":
            parts = self.children.get(target, []) if target in self.rows else []
            return (bool(parts) or self._done(target)) and all(map(self._done, parts))
        if kind == "parent-child":
            return self._passes_nothing_down(target)
        return True

    def _inner(self, name: str, target: str, kind: str) -> bool:
        """Whether a wait is for its own parts only, which do not inherit it."""
        if kind == "waits-for":
            open_parts = [p for p in self.children.get(target, []) if not self._done(p)]
            reached = bool(self.children.get(target)) or self._done(target)
            return (reached or self._descends(target, name)) and all(
                self._descends(part, name) for part in open_parts
            )
        return kind != "parent-child" and self._descends(target, name)

    def _passes_nothing_down(self, parent: str) -> bool:
        if parent not in self.rows:
            return False
        if self._ended(parent):
            return True
        return all(
            self._met(target, kind) or self._inner(parent, target, kind)
            for target, kind in self._edges(parent)
        )

    def ready(self) -> set[str]:
        """Rows that are open, and whose every wait is over."""
        return {
            name
            for name, row in self.rows.items()
            if row["status"] in ("open", "blocked")
            and all(self._met(target, kind) for target, kind in self._edges(name))
        }
