"""Runs models one after the other in a process of run_cases, the program that TENON_RUN_CASES names."""
import contextlib
import os
import subprocess
import threading

RUN_CASES = os.environ["TENON_RUN_CASES"]
PATIENCE = 300  # seconds for one case


class Runner:
    """One process of run_cases, replaced when a case fails: a lost GPU stays lost to its process."""

    def __init__(self):
        self.process = None

    def run(self, model, given, made):
        """"ok", or what was refused, or "crashed"."""
        if self.process is None:
            self.process = subprocess.Popen([RUN_CASES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            stderr=subprocess.DEVNULL)
        patience = threading.Timer(PATIENCE, self.process.kill)
        patience.start()
        try:
            self.process.stdin.write(f"{model} {given} {made}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        patience.cancel()
        if answer != "ok":
            self.close()
        return answer or "crashed"

    def close(self):
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None
