"""Programs that import onnx_graphsurgeon run on Tenon."""
import subprocess
import sys

SCRIPT = """
import subprocess, sys
import numpy as np
import onnx_graphsurgeon as gs
import onnx_graphsurgeon.ir.graph
from onnx_graphsurgeon.importers.onnx_importer import OnnxImporter
from onnx_graphsurgeon.ir.tensor import LazyValues
from onnx_graphsurgeon.logger import G_LOGGER
from onnx_graphsurgeon.util import misc
import tenon.graphsurgeon
assert gs is tenon.graphsurgeon and gs.ir.graph.Graph is gs.Graph and gs.logger.G_LOGGER is G_LOGGER
assert misc.volume((2, 3)) == 6 and gs.GraphPattern is gs.graph_pattern.GraphPattern
G_LOGGER.severity = G_LOGGER.ULTRA_VERBOSE
code = "import onnx_graphsurgeon, tenon.graphsurgeon; assert onnx_graphsurgeon is tenon.graphsurgeon"
subprocess.run([sys.executable, "-c", code], check=True)
print(sys.argv[1:], __name__)
"""


def run(folder, *arguments):
    done = subprocess.run([sys.executable, "-m", "tenon.as_onnx_graphsurgeon", *arguments], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def test_scripts_and_modules(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    for arguments in (("program.py", "a", "-b"), ("-m", "program", "a", "-b")):
        status, text = run(tmp_path, *arguments)
        assert status == 0 and "['a', '-b'] __main__" in text, text


def test_mistakes(tmp_path):
    status, text = run(tmp_path, "none.py")
    assert status == 2 and "'none.py' is no file" in text
    (tmp_path / "onnx_graphsurgeon.py").write_text("")
    code = "import onnx_graphsurgeon, tenon; tenon.install_as_onnx_graphsurgeon()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "was imported already" in done.stderr
    code = "import sys; sys.modules['onnx'] = None; import tenon; import tenon.graphsurgeon"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "pip install 'tenon[onnx]'" in done.stderr
