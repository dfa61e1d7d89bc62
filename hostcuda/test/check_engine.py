"""Runs a model with a plugin library that tenon-nvcc compiles, on the CPU, and compares with NumPy.

    check_engine.py NVCC TENON

The plugin lies between layers of Tenon's own and works on their tensors: plain, in three orders of threads, and under
both sanitizers. Needs NumPy and onnx.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from onnx import TensorProto, helper, numpy_helper, save

TEST = pathlib.Path(__file__).resolve().parent
ROOT = TEST.parents[1]
RUNS = [("", "forward"), ("", "reverse"), ("", "random:5"), ("address", "reverse"), ("thread", "random:5")]


def write_model(path, weights):
    nodes = [helper.make_node("MatMul", ["x", "weights"], ["product"]),
             helper.make_node("RowShare", ["product"], ["shares"], domain="mmdeploy", scale=100.0),
             helper.make_node("Relu", ["shares"], ["positive"]),
             helper.make_node("RowShare", ["positive"], ["y"], domain="mmdeploy")]
    graph = helper.make_graph(
        nodes, "shares", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 17, weights.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 17, weights.shape[1]])],
        [numpy_helper.from_array(weights, "weights")])
    save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                               helper.make_opsetid("mmdeploy", 1)]), path)


def share(x, scale=1.0):
    return scale * x / numpy.abs(x).sum(-1, keepdims=True)


def main():
    nvcc, tenon = sys.argv[1:]
    random = numpy.random.default_rng(0)
    x = random.standard_normal((3, 17, 40), numpy.float32)
    weights = random.standard_normal((40, 130), numpy.float32)
    expected = share(numpy.maximum(share(x.astype(float) @ weights, 100), 0))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        write_model(f"{folder}/model.onnx", weights)
        numpy.savez(f"{folder}/x.npz", x=x)
        for sanitizer, order in RUNS:
            library = pathlib.Path(folder) / f"lib{sanitizer}.so"
            options = [f"-fsanitize={sanitizer}"] if sanitizer else []
            if not library.exists():
                subprocess.run([nvcc, "-std=c++17", "-O1", "-g", "-w", "-shared", "-Xcompiler", "-fPIC", *options,
                                f"-I{ROOT / 'include'}", f"-I{ROOT / 'kit/tenon/authoring/mmdeploy'}",
                                TEST / "engine" / "row_share.cu", "-o", library], check=True)
            name = {"address": "libasan.so", "thread": "libtsan.so"}.get(sanitizer)
            preload = name and subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True,
                                              check=True).stdout.strip()
            environment = os.environ | {"TENON_CUDA_ORDER": order, "ASAN_OPTIONS": "detect_leaks=0"}
            run = subprocess.run(
                [tenon, "run", f"{folder}/model.onnx", "--target=cpu", "--shapes=x:3x17x40", f"--plugins={library}",
                 f"--inputs={folder}/x.npz", f"--outputs={folder}/y.npz"], capture_output=True, text=True,
                env=environment | ({"LD_PRELOAD": preload} if preload else {}))
            if run.returncode == 0:
                error = numpy.abs(numpy.load(f"{folder}/y.npz")["y"] - expected).max()
            is_right = run.returncode == 0 and error < 1e-6
            print(f"{sanitizer or 'plain'}, {order}: {f'{error:.1e} from NumPy' if run.returncode == 0 else run.stderr}")
            failures += not is_right
    sys.exit(failures)


if __name__ == "__main__":
    main()
