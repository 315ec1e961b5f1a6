"""A small effect service of its own process: it records every request, and fails in any way asked.

``python service.py`` prints its port and stops when its standard input closes. ``POST /_control``
with JSON changes how it behaves (``STATE``), ``GET /_log`` gives every request with what became of it,
``GET /_objects`` how many objects each key has. Behaviours come in two sorts: faults of the way
(delay, loss, duplicates, outage) that an honest service meets, and ways of being broken.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

STATE: dict[str, Any] = {
    # the way
    "delay_ms": 0,  # a request is worked on so late, whoever still waits
    "lose_requests": 0,  # so many are dropped before anything is done
    "lose_answers": 0,  # so many are done and not answered; -1 all
    "duplicate": 0,  # so many are worked on twice
    "out": "",  # "503" or "closed"
    "in_flight_ms": 800,  # an honest service drops what waited longer
    "lag_ms": 0,  # a look-up shows an object so late
    # broken
    "ignores_key": False,
    "takes_other_payload": False,
    "races": False,
    "ignores_fence": False,
    "forgets_fence": False,
    "ignores_expiry": False,
    "no_bound": False,
    "none_when_out": False,
    "wrong_digest": False,
    "empty_200": False,
    "redirect": "",
    "echo_headers": False,
    "trickle_ms": 0,
    "cut_headers": False,
    "huge": 0,
    "status": 0,
}
GUARD = threading.Lock()
OBJECTS: dict[str, list[dict[str, Any]]] = {}
FENCES: dict[str, int] = {}
LOG: list[dict[str, Any]] = []
FIRST = dict(STATE)


def now_us() -> int:
    return time.time_ns() // 1_000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def read(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: Any = None, **headers: str) -> None:
        data = json.dumps(body if body is not None else {}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def taken(self, name: str) -> bool:
        """Use up one of so many faults."""
        with GUARD:
            left = STATE[name]
            if left > 0:
                STATE[name] = left - 1
            return bool(left)

    def do_POST(self) -> None:
        body = self.read()
        if self.path == "/_control":
            with GUARD:
                said = json.loads(body)
                if said.pop("reset", False):
                    STATE.update(FIRST)
                STATE.update(said)
            return self.answer(200)
        entry = {
            "method": "POST",
            "key": self.headers.get("Idempotency-Key", ""),
            "effect_id": self.headers.get("Remit-Effect", ""),
            "fence": int(self.headers.get("Remit-Fence") or 0),
            "expires_at": int(self.headers.get("Remit-Expires-At") or 0),
            "arrived": now_us(),
            "outcome": "",
        }
        with GUARD:
            LOG.append(entry)
        if self.faulty(entry):
            return None
        arrived = time.monotonic()
        time.sleep(STATE["delay_ms"] / 1_000)
        if not STATE["no_bound"] and (time.monotonic() - arrived) * 1_000 > STATE["in_flight_ms"]:
            entry["outcome"] = "dropped as too late"
            return self.hang_up()
        status, said, headers = self.work(entry, body)
        if self.taken("duplicate"):
            self.work(entry, body)
        if self.taken("lose_answers"):
            return self.hang_up()
        return self.answer(status, said, **headers)

    def faulty(self, entry: dict[str, Any]) -> bool:
        """Answer or hang up where the way fails."""
        if self.taken("lose_requests"):
            entry["outcome"] = "lost"
            self.hang_up()
        elif STATE["out"] == "closed":
            entry["outcome"] = "out"
            self.hang_up()
        elif STATE["out"]:
            entry["outcome"] = "out"
            self.answer(int(STATE["out"]))
        elif STATE["redirect"]:
            self.answer(307, Location=STATE["redirect"])
        elif STATE["status"]:
            echo = dict(self.headers) if STATE["echo_headers"] else {}
            self.answer(STATE["status"], echo)
        elif STATE["trickle_ms"] or STATE["cut_headers"]:
            self.trickle()
        else:
            return False
        return True

    def trickle(self) -> None:
        end = time.monotonic() + STATE["trickle_ms"] / 1_000
        self.close_connection = True
        if STATE["cut_headers"]:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-S")
            return
        try:
            for byte in "HTTP/1.1 200 OK\r\nX-Slow: " + "a" * 100_000:
                if time.monotonic() > end:
                    return
                self.wfile.write(byte.encode())
                time.sleep(0.02)
        except OSError:
            return

    def work(self, entry: dict[str, Any], body: bytes) -> tuple[int, Any, dict[str, str]]:
        if STATE["races"]:
            known = bool(OBJECTS.get(entry["key"]))
            time.sleep(0.05)
            return self.make(entry, body) if not known else self.replay(entry)
        with GUARD:
            return self.judge(entry, body)

    def judge(self, entry: dict[str, Any], body: bytes) -> tuple[int, Any, dict[str, str]]:
        key = entry["key"]
        fence = FENCES.get(key, 0)
        if entry["fence"] < fence and not STATE["ignores_fence"]:
            entry["outcome"] = "stale fence"
            return 412, {}, {"Remit-Fence": str(fence)}
        if 0 < entry["expires_at"] <= now_us() and not STATE["ignores_expiry"]:
            entry["outcome"] = "expired"
            return 410, {}, {}
        FENCES[key] = max(fence, entry["fence"])
        there = OBJECTS.get(key)
        if there and not STATE["ignores_key"]:
            same = there[0]["digest"] == self.headers.get("Remit-Digest")
            if not same and not STATE["takes_other_payload"]:
                entry["outcome"] = "other payload"
                return 422, {}, {}
            return self.replay(entry)
        return self.make(entry, body)

    def replay(self, entry: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        entry["outcome"] = "replayed"
        return 200, {}, {"Idempotent-Replayed": "true", "Location": f"/records/{entry['key']}"}

    def make(self, entry: dict[str, Any], body: bytes) -> tuple[int, Any, dict[str, str]]:
        import hashlib

        digest = hashlib.sha256(body).hexdigest()
        made = {
            "effect_id": entry["effect_id"],
            "digest": "0" * 64 if STATE["wrong_digest"] else digest,
            "manifest_id": self.headers.get("Remit-Manifest", ""),
            "made": now_us(),
        }
        OBJECTS.setdefault(entry["key"], []).append(made)
        entry["outcome"] = "made"
        return 201, {}, {"Location": f"/records/{entry['key']}"}

    def do_PUT(self) -> None:
        self.read()
        if STATE["out"]:
            return self.outage()
        key = unquote(self.path.rpartition("/")[2])
        asked = int(self.headers.get("Remit-Fence") or 0)
        with GUARD:
            stands = max(asked, FENCES.get(key, 0))
            if not STATE["forgets_fence"]:
                FENCES[key] = stands
        return self.answer(200, Remit_Fence=str(stands))

    def outage(self) -> None:
        if STATE["none_when_out"]:
            return self.answer(404)
        if STATE["out"] == "closed":
            return self.hang_up()
        return self.answer(int(STATE["out"]))

    def do_GET(self) -> None:
        if self.path == "/_log":
            return self.answer(200, LOG)
        if self.path == "/_objects":
            return self.answer(200, {key: len(found) for key, found in OBJECTS.items()})
        if STATE["out"]:
            return self.outage()
        if STATE["huge"]:
            return self.answer(200, {"objects": 1, "filling": "x" * STATE["huge"]})
        if STATE["empty_200"]:
            return self.answer(200, "fine")
        key = unquote(self.path.rpartition("/")[2])
        with GUARD:
            visible = now_us() - STATE["lag_ms"] * 1_000
            found = [one for one in OBJECTS.get(key, []) if one["made"] <= visible]
            fence = str(FENCES.get(key, 0))
        if self.path.startswith("/list/"):
            return self.answer(200, found, Remit_Fence=fence)
        if not found:
            return self.answer(404, Remit_Key=key, Remit_Fence=fence)
        return self.answer(200, {"objects": len(found), **found[0]}, Remit_Fence=fence)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
