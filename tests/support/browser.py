"""Headless Chromium, driven over its DevTools pipe: a page as readers see it.

https://chromedevtools.github.io/devtools-protocol/ lists its commands.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CHROMIUM = os.environ.get("CHROMIUM", "")
PHONE, DESK = 360, 1200  # widths of windows
# Chromium reads commands on file descriptor 3 and answers on 4: two pipe ends become these.
_START = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])"""
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip

_KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39,
}  # fmt: skip


class Page:
    """An open page, its console's messages, and the addresses that it requested."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        """Open an empty page of a running browser."""
        self._commands, self._answers = commands, answers
        self._count, self._session = 0, ""
        self._events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: object) -> dict[str, Any]:
        """The browser's answer to a command."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (answer := self._read()).get("id") != self._count:
            self._events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def show(
        self, place: Path | str, *, width: int, is_dark: bool = False, media: str = ""
    ) -> None:
        """Open a file or an address at a width, and wait until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.send("Emulation.setTouchEmulationEnabled", enabled=width < 600)
        self._events.clear()
        self.send("Page.navigate", url=place if isinstance(place, str) else place.as_uri())
        while not self.events("Page.loadEventFired"):
            self._events.append(self._read())

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def events(self, method: str) -> list[dict[str, Any]]:
        """The events of a kind since the page was opened."""
        return [event["params"] for event in self._events if event.get("method") == method]

    def press(self, *keys: str) -> None:
        """Press keys, one after the other; a text of several letters is typed."""
        for key in keys:
            if len(key) > 1 and key not in _KEYS:
                self.send("Input.insertText", text=key)
                continue
            code = {"key": key, "windowsVirtualKeyCode": _KEYS.get(key, 0)}
            text = (
                {"text": {"Enter": "\r"}.get(key, key)}
                if key not in _KEYS or key == "Enter"
                else {}
            )
            self.send("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def mouse(self, x: float, y: float, *, to: float | None = None) -> None:
        """Click at a place of the window, or drag the mouse from there to another `to` of x."""
        button = {"button": "left", "buttons": 1, "clickCount": 1}
        self.hover(x, y)
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        end = x if to is None else to
        if to is not None:
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=end, y=y, **button)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=end, y=y, **button)

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def tap(self, x: float, y: float, *, to: float | None = None) -> None:
        """Touch a place of the window with a finger, which may move to another `to` of x."""
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        if to is not None:
            self.send("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": to, "y": y}])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def wait(self) -> None:
        """Wait until the page that a key requested is loaded."""
        while not self.events("Page.loadEventFired"):
            self._events.append(self._read())

    def forget(self) -> None:
        """Forget the events so far."""
        self._events.clear()

    def complaints(self) -> list[dict[str, Any]]:
        """The console's messages: errors, warnings and output of scripts."""
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        self.evaluate("0")  # earlier messages have been read with the answer
        return [event for kind in kinds for event in self.events(kind)]

    def requests(self) -> list[str]:
        """The requested addresses."""
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def names(self, role: str) -> list[str]:
        """The names of the elements of a role for screen readers."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        shown = (node for node in nodes if not node["ignored"])
        return [node["name"]["value"] for node in shown if node["role"]["value"] == role]

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {**size, "height": min(size["height"], 8000), "scale": 1}
        done = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(done["data"])

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "chromium ended"
            text += byte
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def open_browser(profile: Path) -> Iterator[Page]:
    """A page of a fresh Chromium, which ends with the block."""
    command_end, command_start = os.pipe()
    answer_end, answer_start = os.pipe()
    start = (sys.executable, "-c", _START, str(command_end), str(answer_start))
    browser = subprocess.Popen(
        [*start, CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(command_end, answer_start),
        stderr=subprocess.DEVNULL,
    )
    os.close(command_end)
    os.close(answer_start)
    with (
        browser,
        os.fdopen(command_start, "wb") as commands,
        os.fdopen(answer_end, "rb") as answers,
    ):
        page = Page(commands, answers)
        try:
            yield page
        finally:
            page.send("Browser.close")
