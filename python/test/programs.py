"""Runs programs that import tensorrt."""
import os
import subprocess
import sys


def run(*arguments, folder):
    """What the program writes to both outputs."""
    done = subprocess.run([sys.executable, "-m", "tenon.as_tensorrt", *map(str, arguments)],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": ""})
    return done.returncode, done.stdout
