"""TensorRT's Python API over Tenon's engine: `import tenon.tensorrt as trt`."""
from tenon._native import *  # noqa: F403
