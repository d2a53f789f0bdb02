"""A headless Chromium for tests, driven over its debugging pipe: no port, no driver, no further package."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --remote-debugging-pipe"


class Browser:
    """One page. `errors` collects exceptions, console errors and blocked content since the last `open`."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._count = write, os.fdopen(read, "rb", 0), b"", 0
        self.errors: list[str] = []
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, width: int = 1440, height: int = 1000, dark: bool = False) -> None:
        """Load a file and wait until it has loaded and drawn."""
        self.errors.clear()
        self.look(width, height, dark)
        self._call("Page.navigate", {"url": "about:blank"})
        self._call("Page.navigate", {"url": path.absolute().as_uri()})
        self.run("new Promise(r => document.readyState === 'complete' ? r() : addEventListener('load', r))")
        self.settle()

    def look(self, width: int, height: int, dark: bool) -> None:
        """Another size of the window, another color scheme, and two frames to draw them."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._call("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.settle()

    def settle(self) -> None:
        """Wait for two frames."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, awaited; an exception in it is an AssertionError."""
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
        found = self._call("Runtime.evaluate", asked)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def shot(self, path: Path) -> None:
        """A picture of the whole page."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", asked)["data"]))

    def _call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params or {}}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = self._read.read(1 << 20)
            assert part, "Chromium went away"
            self._rest += part
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(params["entry"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"]))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A Chromium with an empty profile; it ends with the block."""
    its_read, our_write = os.pipe()
    our_read, its_write = os.pipe()
    command = f"exec {CHROMIUM} {FLAGS} --user-data-dir='{profile}' about:blank 3<&{its_read} 4>&{its_write}"
    process = subprocess.Popen(
        ["bash", "-c", command], pass_fds=(its_read, its_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(its_read)
    os.close(its_write)
    try:
        yield Browser(our_write, our_read)
    finally:
        process.kill()
        process.wait()
        os.close(our_write)
