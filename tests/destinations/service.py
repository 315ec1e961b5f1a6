"""A small effect service of its own process: it records every request, and fails in any way asked.

``python service.py [RECORD]`` prints its port and stops when its standard input closes. ``POST
/_control`` with JSON changes how it behaves (``STATE``), ``GET /_log`` gives every request with what
became of it, ``GET /_objects`` how many objects each key has. Behaviours come in two sorts: faults of
the way (delay, loss, duplicates, outage) that an honest service meets, and ways of being broken.

``RECORD`` is a file that gets one line of JSON for each request as it arrives, and one for each thing
that becomes of it, before anybody is answered. A line is one write, so it outlives the service. With
``chaos`` the way draws what befalls each request; a twin that the way itself makes is recorded as one.
"""

from __future__ import annotations

import json
import os
import random
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
    "in_flight_ms": 1_500,  # an honest service drops what waited longer
    "lag_ms": 0,  # a look-up shows an object so late
    "unreadable": "",  # look-ups and fences fail: "503" or "closed"
    "chaos": {},  # chances of lost, unanswered, delayed and twin, delay_ms, and a seed
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
RECORD = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if sys.argv[1:] else -1


def now_us() -> int:
    return time.time_ns() // 1_000


def record(what: str, **said: Any) -> None:
    """Keep what happened, at once."""
    if RECORD >= 0:
        line = json.dumps({"what": what, "at": now_us(), **said})
        os.write(RECORD, line.encode() + b"\n")


def befalls(number: int) -> str:
    """What the way does to one request, drawn from the seed."""
    chaos = STATE["chaos"]
    if not chaos:
        return ""
    draw = random.Random(f"{chaos['seed']} {number}").random()
    for what in ("lost", "unanswered", "delayed", "twin"):
        draw -= chaos.get(what, 0)
        if draw < 0:
            return what
    return ""


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
            entry["number"] = number = len(LOG)
            entry["way"] = way = befalls(number)
        send = self.headers.get("X-Send", "")
        digest = self.headers.get("Remit-Digest", "")
        record("arrived", send=send, digest=digest, **entry)
        if self.faulty(entry):
            return None
        arrived = time.monotonic()
        late = random.Random(number).uniform(0.3, 1) if way == "delayed" else 0
        time.sleep((STATE["delay_ms"] + late * STATE["chaos"].get("delay_ms", 0)) / 1_000)
        # The sender's own stamp, where it gives one: what the way keeps begins where a send does.
        since = int(self.headers.get("X-Sent-At") or 0)
        waited = (now_us() - since) / 1_000 if since else (time.monotonic() - arrived) * 1_000
        if not STATE["no_bound"] and waited > STATE["in_flight_ms"]:
            self.ends(entry, "dropped as too late")
            return self.hang_up()
        # A twin comes later where a key is enforced, and else at once: of two requests that nobody
        # tells apart, a look-up in between sees one, and no sender could know of the other.
        later = way == "twin" and not STATE["ignores_key"]
        status, said, headers = self.work(entry, body, 2 if way == "twin" and not later else 1)
        if self.taken("duplicate"):
            self.work(entry, body)
        if self.taken("lose_answers") or way == "unanswered":
            return self.hang_up()
        self.answer(status, said, **headers)
        if later:
            time.sleep(0.3)
            self.work(entry, body, first=False)
        return None

    def ends(self, entry: dict[str, Any], outcome: str, *, twin: bool = False) -> None:
        """Note what became of a request."""
        entry["outcome"] = outcome
        record("outcome", number=entry["number"], outcome=outcome, twin=twin)

    def faulty(self, entry: dict[str, Any]) -> bool:
        """Answer or hang up where the way fails."""
        if self.taken("lose_requests") or entry["way"] == "lost":
            self.ends(entry, "lost")
            self.hang_up()
        elif STATE["out"] == "closed":
            self.ends(entry, "out")
            self.hang_up()
        elif STATE["out"]:
            self.ends(entry, "out")
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

    def work(
        self, entry: dict[str, Any], body: bytes, times: int = 1, *, first: bool = True
    ) -> tuple[int, Any, dict[str, str]]:
        if STATE["races"]:
            known = bool(OBJECTS.get(entry["key"]))
            time.sleep(0.05)
            return self.make(entry, body) if not known else self.replay(entry)
        with GUARD:
            answers = []
            for turn in range(times):
                answers.append(self.judge(entry, body))
                self.ends(entry, entry["outcome"], twin=turn > 0 or not first)
            return answers[0]

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
        if STATE["out"] or STATE["unreadable"]:
            return self.outage()
        key = unquote(self.path.rpartition("/")[2])
        asked = int(self.headers.get("Remit-Fence") or 0)
        with GUARD:
            stands = max(asked, FENCES.get(key, 0))
            if not STATE["forgets_fence"]:
                FENCES[key] = stands
        return self.answer(200, Remit_Fence=str(stands))

    def outage(self) -> None:
        record("unreadable", path=self.path)
        if STATE["none_when_out"]:
            return self.answer(404)
        how = STATE["unreadable"] or STATE["out"]
        return self.hang_up() if how == "closed" else self.answer(int(how))

    def do_GET(self) -> None:
        if self.path == "/_log":
            return self.answer(200, LOG)
        if self.path == "/_objects":
            return self.answer(200, {key: len(found) for key, found in OBJECTS.items()})
        if STATE["out"] or STATE["unreadable"]:
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
            record("looked up", key=key, objects=len(found), fence=FENCES.get(key, 0))
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
