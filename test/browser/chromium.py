"""A page in a headless Chromium, driven through its DevTools protocol over a pipe."""
import base64
import json
import os
import select
import subprocess
import time

SECONDS = 60


class Page:
    """One page of a browser of its own. `errors` are those that scripts and the console gave, `requests` what was asked for."""

    def __init__(self, program, profile, width=1280, height=900):
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()

        def to_three_and_four():
            low = os.dup(answers)  # 3 and 4 may be in use as the other one
            os.dup2(commands, 3)
            os.dup2(low, 4)

        # As root, which CI is, there is no sandbox; the pages are ours.
        self._browser = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=to_three_and_four, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._buffer, self._last, self._session = b"", 0, None
        self._events, self.errors, self.requests = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._browser.kill()
        self._browser.wait()
        os.close(self._write)
        os.close(self._read)

    def _message(self):
        until = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"the browser says nothing for {SECONDS} s")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError(f"the browser ended, with status {self._browser.wait()}")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        method, given = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert"):
            self.errors.append(str(given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        self._events.append(method)

    def call(self, method, **parameters):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if "method" in answer:
                self._note(answer)
            elif answer["id"] == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address):
        self._events.clear()
        failed = self.call("Page.navigate", url=address).get("errorText")
        if failed:
            raise RuntimeError(f"{address}: {failed}")
        while "Page.loadEventFired" not in self._events:
            self._note(self._message())

    def value(self, script):
        """Of an expression, as JSON has it; a promise's, once it is there."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, path, whole=True):
        """Of the whole page, or of what is in sight."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))
