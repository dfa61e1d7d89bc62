"""Runs a program whose `import onnx_graphsurgeon` gives tenon.graphsurgeon.

    python -m tenon.as_onnx_graphsurgeon script.py …
    python -m tenon.as_onnx_graphsurgeon -m module …
    python -m tenon.as_onnx_graphsurgeon polygraphy surgeon sanitize model.onnx …

So do the Python programs that it starts.
"""
import sys

from tenon._as_onnx_graphsurgeon import install_as_onnx_graphsurgeon
from tenon._run_program import run_program

if __name__ == "__main__":
    sys.exit(run_program(sys.argv[1:], __doc__, "onnx_graphsurgeon", install_as_onnx_graphsurgeon))
