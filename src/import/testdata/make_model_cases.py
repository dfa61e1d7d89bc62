"""Writes models/: small models of several nodes (model_cases.py says what lies there).

Run: python src/import/testdata/make_model_cases.py   (needs numpy, onnx, onnxruntime)
"""
import shutil

import numpy as np
from control_model_cases import branch_cases, control_flow_cases, optional_cases, sequence_cases
from model_cases import FOLDER, case, floats, random
from number_model_cases import float64_cases, narrow_border_cases, narrow_integer_cases


def shape_cases():
    case("squeeze_without_axes", "g (float[1, N, 1, 3] x) => (float[N, 3] y) { y = Squeeze (x) }",
         floats(1, 2, 1, 3))
    case("int4_moves", """
        g (float[2, 6] x) => (float[3, 4] a, float[6, 2] b, float[1, 12] c, float[1, 2, 6] d) {
          q = Cast <to = 22> (x)
          shape = Constant <value = int64[2] {3, 4}> ()
          r = Reshape (q, shape) a = Cast <to = 1> (r)
          t = Transpose <perm = [1, 0]> (q) b = Cast <to = 1> (t)
          f = Flatten <axis = 0> (q) c = Cast <to = 1> (f)
          zero = Constant <value = int64[1] {0}> ()
          u = Unsqueeze (q, zero) v = Identity (u) d = Cast <to = 1> (v)
        }""", random.integers(-8, 7, (2, 6)).astype(np.float32), reference=True)


def resize_cases():
    """Integers, which ONNX Runtime cuts off towards zero (so the weights are such that no sum is rounded), and
    scales that only running tells."""
    kinds = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-10**5, 10**5)}
    for kind, (low, high) in kinds.items():
        data = random.integers(low, high, (1, 2, 5, 6), endpoint=True).astype(kind)
        for mode, coordinates in (("linear", "half_pixel"), ("linear", "asymmetric"), ("nearest", "half_pixel")):
            case(f"resize_{kind}_{mode}_{coordinates}", f"""
                g ({kind}[1, 2, 5, 6] x) => ({kind}[1, 2, H, W] y) {{
                  scales = Constant <value = float[4] {{1, 1, 2, 0.5}}> ()
                  y = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (x, "", scales)
                }}""", data)
    for mode in ("linear", "nearest", "cubic"):
        for name, axes, scales in (("all_axes", "", [1, 1, 1.7, 0.6]), ("some_axes", "axes = [3, 2], ", [0.6, 1.7])):
            case(f"resize_{mode}_runtime_scales_{name}", f"""
                g (float[1, 2, H, W] x, float[{len(scales)}] s) => (float[1, 2, U, V] y) {{
                  y = Resize <{axes}mode = "{mode}"> (x, "", s)
                }}""", 2 + floats(1, 2, 6, 9) / 4, np.float32(scales))


# In this order: they share a generator of random numbers.
for old in FOLDER.glob("*"):
    shutil.rmtree(old)
sequence_cases()
control_flow_cases()
shape_cases()
narrow_integer_cases()
branch_cases()
resize_cases()
optional_cases()
narrow_border_cases()
float64_cases()
