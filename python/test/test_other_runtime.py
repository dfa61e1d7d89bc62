"""A CUDA runtime of others, which refuses all, is loaded before us: as PyTorch's wheels do it."""
import os
import subprocess
import sys

CODE = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
import numpy as np
import protos
import tenon
node = protos.helper.make_node("HSwish", ["x"], ["y"])
model = protos.scale((3,))
model.graph.node[0].CopyFrom(node)
print(tenon.compile(model)(np.float32([-4, 0, 4])))
"""


def test_plugins_run_on_our_runtime(tmp_path):
    (tmp_path / "runtime.c").write_text("int cudaStreamCreate(void** s) { return 100; }")
    library = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "runtime.c"], check=True)
    folders = [os.path.dirname(__file__), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    done = subprocess.run([sys.executable, "-c", CODE, library], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[-0.", "0.", "4.]"]
