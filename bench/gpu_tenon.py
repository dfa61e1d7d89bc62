"""Tenon's programs on a machine with a GPU, for bench/gpu.py and bench/gpu_operators.py."""
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
from run import Worker

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from gpu.pack import LIBRARIES  # noqa: E402
from gpu.run import gpu_names, nvidia_libraries, unpack  # noqa: E402, F401


class Tenon:
    """The programs of a build, and where they find their libraries."""

    def __init__(self, build, options):
        self.build = build
        self.options = options  # of `tenon build`
        folders = [str(ROOT / LIBRARIES), *nvidia_libraries()]
        self.environment = dict(os.environ, TENON_TARGET="cuda", LD_LIBRARY_PATH=":".join(folders))

    def command(self, *words):
        """What a command of `tenon` prints."""
        done = subprocess.run([self.build / "tools/tenon/tenon", *words], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise RuntimeError(f"tenon {' '.join(map(str, words))}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def compile(self, model, folder):
        """Seconds that `tenon build` takes, the process's start included."""
        plan = folder / f"{model.stem}.plan"
        start = time.perf_counter()
        self.command("build", model, "-o", plan, *self.options, f"--timingCacheFile={folder / 'timing.cache'}")
        return plan, time.perf_counter() - start

    def compute(self, model, target, inputs, outputs):
        """What a target computes of a file of inputs."""
        self.command("run", model, f"--target={target}", f"--inputs={inputs}", f"--outputs={outputs}")
        return dict(np.load(outputs))

    def profile(self, plan):
        """What each layer of a plan takes."""
        return self.command("bench", plan, "--dumpProfile", "--duration", "0.2", "--iterations", "10")

    def start(self, plan, inputs, outputs):
        """A process that has captured the plan's work in a CUDA graph."""
        command = ["env", *(f"{name}={self.environment[name]}" for name in ("TENON_TARGET", "LD_LIBRARY_PATH")),
                   self.build / "bench/tenon_bench_worker", plan, inputs, outputs, "16", "graph"]
        try:
            return Worker(command)
        except RuntimeError:
            raise RuntimeError("Tenon cannot run it") from None  # it has said why
