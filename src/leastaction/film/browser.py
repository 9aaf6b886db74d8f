"""A headless Chromium with the network cut, driven over its DevTools protocol: what films, tests of pages and screenshots need."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
_PATIENCE = 60.0  # s; two cores are shared with compiling tests


def missing() -> str:
    """Why there is no browser to draw with; empty if there is one."""
    if not any(shutil.which(name) for name in NAMES):
        return "no Chromium is installed: apt-get install chromium"
    try:
        import websockets.sync.client  # noqa: F401
    except ImportError:
        return "websockets is not installed: pip install leastaction[video]"
    return ""


def _sandbox() -> list[str]:
    """Chromium refuses to be started by root with its sandbox, which is what containers do."""
    return ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []


class Browser:
    """One tab.  `problems` collects what the console complains about, `requests` what the page asks the network for."""

    def __init__(self, width: int = 1280, height: int = 900, dark: bool = False, ratio: float = 1.0):
        from websockets.sync.client import connect

        program = next(path for name in NAMES if (path := shutil.which(name)))
        self._folder = tempfile.TemporaryDirectory(prefix="leastaction-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [program, *FLAGS, *_sandbox(), f"--window-size={width},{height}", f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._count = 0
        self._open = ExitStack()
        try:
            port, path = self._address()
            self._socket = self._open.enter_context(connect(f"ws://127.0.0.1:{port}{path}", max_size=None, proxy=None))
            self._session = ""
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.resize(width, height, ratio)
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        except BaseException:
            self.close()
            raise

    def _address(self) -> list[str]:
        told = Path(self._folder.name) / "DevToolsActivePort"
        for _ in range(int(_PATIENCE / 0.1)):
            if told.exists() and len(lines := told.read_text().split()) == 2:
                return lines
            if self._process.poll() is not None:
                raise RuntimeError(f"Chromium ended with code {self._process.returncode}")
            time.sleep(0.1)
        raise TimeoutError("Chromium did not say where it listens")

    def call(self, method: str, **parameters: Any) -> Any:
        """A command of the protocol and its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer = json.loads(self._socket.recv(timeout=_PATIENCE))
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.problems.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def open(self, path: Path) -> None:
        """A page of ours, until it says that it is ready."""
        self.visit(Path(path).resolve().as_uri())

    def visit(self, address: str, online: bool = False) -> None:
        """The same by its address; online: of a server on this machine, which is all that can be reached then."""
        self.call("Network.emulateNetworkConditions", offline=not online, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        self.call("Page.navigate", url=address)
        self.wait_for("window.leastaction && (leastaction.ready && leastaction.frames > 0 || !document.getElementById('message').hidden)")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait_for(self, condition: str, patience: float = _PATIENCE) -> None:
        end = time.monotonic() + patience
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} did not come true within {patience:g} s; the console says {self.problems}")
            time.sleep(0.05)

    def resize(self, width: int, height: int, ratio: float = 1.0) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=width < 600)

    def drag(self, start: tuple[float, float], end: tuple[float, float], **modifiers: Any) -> None:
        """With the left mouse button, in pixels of the page."""
        for kind, (x, y), buttons in (("mousePressed", start, 1), ("mouseMoved", end, 1), ("mouseReleased", end, 0)):
            button = "left" if kind != "mouseMoved" else "none"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1, **modifiers)

    def settle(self) -> None:
        """Draw the scene, and wait until it can be seen."""
        self.run("new Promise((done) => requestAnimationFrame(() => { leastaction.draw(); requestAnimationFrame(() => done(1)); }))")

    def screenshot(self, path: Path | None = None, whole: bool = False, **options: Any) -> bytes:
        """As PNG, or format="jpeg", quality=90."""
        data = base64.b64decode(self.call("Page.captureScreenshot", **{"format": "png", **options}, captureBeyondViewport=whole)["data"])
        if path is not None:
            Path(path).write_bytes(data)
        return data

    def processor_time(self) -> float:
        """Seconds that all processes of the browser have used so far."""
        tab, self._session = self._session, ""  # the browser answers, not its tab
        try:
            return float(sum(process["cpuTime"] for process in self.call("SystemInfo.getProcessInfo")["processInfo"]))
        finally:
            self._session = tab

    def close(self) -> None:
        self._open.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
