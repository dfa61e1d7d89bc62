"""Shows how far a build is."""
import sys

from tenon import tensorrt as trt


class Progress(trt.IProgressMonitor):
    """One line on standard error; or a function that is told."""

    def __init__(self, told):
        super().__init__()
        self.told = told
        self.totals = {}

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.totals[phase_name] = num_steps
        self.show(phase_name, 0)

    def step_complete(self, phase_name, step):
        self.show(phase_name, step + 1)
        return True

    def phase_finish(self, phase_name):
        self.show(phase_name, self.totals.pop(phase_name, 0))
        if self.told is None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, phase, done):
        total = self.totals.get(phase, done)
        if self.told is not None:
            self.told(phase, done, total)
        else:
            print(f"\r\x1b[K{phase}: {done}/{total}", end="", file=sys.stderr, flush=True)
