"""The HTTP side of metrics and health: a small server in a thread of its own.

It begins before the database is recovered, so that whoever asks is told so. It answers GET and HEAD only,
closes after each answer, and has at most `REQUESTS_MAX` requests under way: further ones are dropped.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..storage.errors import StartupError

REQUESTS_MAX = 8
REQUEST_SECONDS_MAX = 10

_log = logging.getLogger("millpond.metrics")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page says."""

    status: int
    content_type: str
    body: bytes


Page = Callable[[str], Answer]
"""Makes the answer to a request with this Accept header."""


def json_answer(status: int, content: object) -> Answer:
    return Answer(status, "application/json", json.dumps(content).encode() + b"\n")


class HttpServer:
    """Serves `pages`, by path, from `start` to `stop`."""

    def __init__(self, host: str, port: int, pages: Mapping[str, Page]) -> None:
        self._host = host
        self.port = port
        """Once started, the port in use."""
        self._pages = pages
        self._server: _Server | None = None

    def start(self) -> None:
        """Raises StartupError when the address cannot be had."""
        try:
            family, *_, address = socket.getaddrinfo(
                self._host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            self._server = _Server(family, (str(address[0]), int(address[1])), self._pages)
        except (OSError, UnicodeError) as error:
            raise StartupError(f"cannot serve metrics on {self._host}:{self.port}: {error}") from error
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True).start()

    def stop(self) -> None:
        """Answers no more."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Not to wait for requests under way when it is closed.
    block_on_close = False

    def __init__(self, family: int, address: tuple[str, int], pages: Mapping[str, Page]) -> None:
        self.address_family = socket.AddressFamily(family)
        self.pages = pages
        self._free = threading.BoundedSemaphore(REQUESTS_MAX)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer's asks the name service who we are.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)  # pyright: ignore[reportArgumentType]
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # pyright: ignore[reportArgumentType]
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        _log.debug("a request failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_SECONDS_MAX
    server_version = "millpond"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""

    def _answer(self, with_body: bool) -> None:
        assert isinstance(self.server, _Server)
        pages = self.server.pages
        page = pages.get(self.path.partition("?")[0])
        if page is None:
            answer = Answer(404, "text/plain; charset=utf-8", f"there is {', '.join(pages)}\n".encode())
        else:
            try:
                answer = page(self.headers.get("Accept", ""))
            except Exception as error:  # a page that fails is no reason to stop serving
                _log.exception("a request for %s failed", self.path)
                answer = json_answer(500, {"error": f"{type(error).__name__}: {error}"})
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)
