"""Runs programs that import tensorrt."""
import os
import subprocess
import sys


def run(*arguments, folder, **environment):
    """The program's status, and what it writes to both outputs."""
    done = subprocess.run([sys.executable, "-m", "tenon.as_tensorrt", *map(str, arguments)],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": "", **environment})
    return done.returncode, done.stdout
