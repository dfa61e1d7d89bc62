"""Runs a program whose `import tensorrt` gives tenon.tensorrt.

    python -m tenon.as_tensorrt polygraphy run model.onnx --trt
    python -m tenon.as_tensorrt script.py …
    python -m tenon.as_tensorrt -m module …

So do the Python programs that it starts.
"""
import sys

from tenon._as_tensorrt import install_as_tensorrt
from tenon._run_program import run_program

if __name__ == "__main__":
    sys.exit(run_program(sys.argv[1:], __doc__, "tensorrt", install_as_tensorrt))
