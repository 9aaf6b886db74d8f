"""Shows a session to browsers on this machine, and to nobody else.

One thread makes the steps and another one serves.  The server listens on 127.0.0.1, answers two addresses, both with a token that only the
one who started it knows, and takes WebSockets only from its own page.
"""

from __future__ import annotations

import json
import queue
import secrets
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..checks import number, shown, time_step, whole_number, yes_or_no
from ..errors import LeastActionError, StateError
from ..integrators import Integrator
from ..mechanism import Mechanism
from ..model import Coordinates, Model
from ..page import make
from ..state import State
from ..trajectory import Trajectory
from .session import Control, Session

HOST = "127.0.0.1"  # never 0.0.0.0: whoever reaches the port moves the mechanism
RATE = 60.0  # frames per second
_MOST_BYTES = 4096  # of a command
_MOST_PORT = 65535
_LONGEST = 0.1  # s of the clock that are made up for at once
_PREVIEW = 2.0  # s that are simulated to see how much room the motion needs


def view(
    model: Model | Mechanism,
    state: State | None = None,
    *,
    q: Coordinates = None,
    v: Coordinates = None,
    dt: float = 2e-3,
    integrator: Integrator | None = None,
    control: Control | None = None,
    limits: str = "stop",
    port: int = 0,
    browser: bool = True,
    seconds: float | None = None,
) -> Trajectory:
    """Let a mechanism move in a browser: pull at bodies, move joints, change integrator, step and speed, reset.

    control    tau = control(t, state), as in `la.simulate`; hands pull in addition
    port       0: any free one
    browser    open one?  The address is printed anyway
    seconds    of the clock after which it ends; by default Ctrl-C ends it

    Returns what was recorded, the forces of hands in `run.tau`.  Needs `pip install leastaction[view]`.

    >>> import leastaction as la
    >>> run = la.view(la.examples.chain(5), q={"link1": 0.9})  # doctest: +SKIP
    """
    compiled = model.compile() if isinstance(model, Mechanism) else model
    if not isinstance(compiled, Model):
        raise StateError(f"view got a {type(model).__name__}; give a Model or a Mechanism")
    if state is not None and (q is not None or v is not None):
        raise StateError("give a state, or q and v, not both")
    wanted = yes_or_no(browser, "browser")
    if whole_number(port, 0, "port") > _MOST_PORT:
        raise StateError(f"port = {shown(port)}; ports are numbers up to {_MOST_PORT}, and 0 is any free one")
    start = compiled.state(q, v) if state is None else state
    session = Session(compiled, start, time_step(dt), integrator, limits=limits, control=control)
    if seconds is not None and number(seconds, "seconds", StateError) <= 0.0:
        raise StateError(f"seconds = {shown(seconds)}; it needs a number > 0")
    with Server(session, int(port)) as server:
        print(f"{compiled.name}: {server.address}   (Ctrl-C ends it)", flush=True)
        if wanted:
            import webbrowser  # it looks for browsers when it is imported

            webbrowser.open(server.address)
        with suppress(KeyboardInterrupt):
            server.run(seconds)
    return session.record


class Server:
    """`run` makes the steps in the thread that calls it, until `stop`."""

    def __init__(self, session: Session, port: int = 0):
        try:
            from websockets.sync.server import serve
        except ImportError:
            raise ImportError("la.view needs websockets: pip install 'leastaction[view]'") from None
        self.session = session
        self.token = secrets.token_urlsafe(16)
        self._commands: queue.Queue[Any] = queue.Queue(1000)
        self._news = threading.Condition()
        self._frame, self._number, self._open = b"", 0, True
        self._server = serve(
            self._talk, HOST, port, process_request=self._answer, max_size=_MOST_BYTES, compression=None, server_header=None,
            logger=_silent(),
        )  # fmt: skip
        self.port = int(self._server.socket.getsockname()[1])
        self._page = self._write_page().encode()
        self._thread = threading.Thread(target=self._server.serve_forever, name="leastaction view", daemon=True)

    @property
    def frames(self) -> int:
        """How many were made so far."""
        return self._number

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.origin}/?token={self.token}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._server.shutdown()
        self._thread.join(5.0)

    def stop(self) -> None:
        self._open = False
        with self._news:
            self._news.notify_all()

    # ------------------------------------------------------------------------------------------------ steps

    def run(self, seconds: float | None = None) -> None:
        """In time with the clock, until `stop`, or for some seconds."""
        began = last = due = time.perf_counter()
        while self._open and (seconds is None or last - began < seconds):
            self._obey()
            now = time.perf_counter()
            self.session.advance(min(now - last, _LONGEST))  # a machine that slept does not make up for it
            self.session.behind |= now - last > _LONGEST
            last = now
            self._tell(self.session.frame())
            due = max(due + 1.0 / RATE, now)  # a frame that came late is followed by an early one: the rate is kept
            time.sleep(max(0.0, due - time.perf_counter()))

    def _obey(self) -> None:
        while True:
            try:
                given = self._commands.get_nowait()
            except queue.Empty:
                return
            try:
                self.session.command(given)
            except LeastActionError as error:
                self.session.message = str(error)

    def _tell(self, frame: bytes) -> None:
        with self._news:
            self._frame, self._number = frame, self._number + 1
            self._news.notify_all()

    # ------------------------------------------------------------------------------------------------ browsers

    def _answer(self, connection: Any, request: Any) -> Any:
        """To a request: the page, or None where a WebSocket may be opened."""
        asked = urlsplit(request.path)
        if request.headers.get("Host") != f"{HOST}:{self.port}":  # another name that leads here: a trick
            return connection.respond(403, "this address is for 127.0.0.1 only\n")
        if not secrets.compare_digest(parse_qs(asked.query).get("token", [""])[0].encode(), self.token.encode()):
            return connection.respond(403, "the token is missing or wrong; use the address that was printed\n")
        if asked.path == "/live":
            if request.headers.get("Origin") != self.origin:
                return connection.respond(403, "another page asked\n")
            return None
        if asked.path != "/":
            return connection.respond(404, "there is nothing here\n")
        response = connection.respond(200, "")
        response.body = self._page
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(self._page))), ("Cache-Control", "no-store"),
            ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ):  # fmt: skip
            if name in response.headers:
                del response.headers[name]
            response.headers[name] = value
        return response

    def _talk(self, connection: Any) -> None:
        """With one browser, until it goes away."""
        from websockets.exceptions import ConnectionClosed

        listener = threading.Thread(target=self._listen, args=(connection,), daemon=True)
        listener.start()
        told: dict[str, Any] = {}
        number = -1
        with suppress(ConnectionClosed):
            while self._open:
                with self._news:
                    if self._number == number and self._open:
                        self._news.wait(timeout=1.0)
                    frame, number = self._frame, self._number
                status = self.session.status()
                if status != told:
                    connection.send(json.dumps(status))
                    told = status
                if frame:
                    connection.send(frame)

    def _listen(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            for message in connection:
                try:
                    self._commands.put_nowait(json.loads(message))
                except (ValueError, RecursionError, queue.Full):
                    continue  # not a command, or more of them than anybody can give
        self._commands.put({"do": "release"})  # a hand that went away does not pull

    def _write_page(self) -> str:
        """The page of `la.show`, in the room that the motion is going to need, which then follows the session."""
        session = self.session
        ahead = Session(session.model, session.start, session.dt, session.integrators["as started"], limits=session.limits)
        ahead.advance(_PREVIEW)
        return make(ahead.record, title=session.model.name, live=f"ws://{HOST}:{self.port}/live?token={self.token}").text


def _silent() -> Any:
    import logging

    logger = logging.getLogger("leastaction.view")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


