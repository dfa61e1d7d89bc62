"""Makes the pictures of docs/guide/edit-models.md: a model before and after its edits, as `tenon onnx show=html` draws it.

    .venv/bin/python docs/images/make_onnx_pictures.py [--tenon build/release/tools/tenon/tenon] [--chromium chromium]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/browser"))
from chromium import Page  # noqa: E402

EDITS = ["set-batch=batch", "fold", "clean", "swap=hswish:HSwish,alpha=0.5"]


def exported():
    """As an exporter writes it: shapes that are computed, a Dropout and an Identity without effect, a batch of 1."""
    random = np.random.default_rng(1)
    tensor = lambda name, *shape: numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
    integers = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)
    nodes = [helper.make_node("Conv", ["images", "w"], ["c"], "conv1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("HardSwish", ["c"], ["h"], "hswish"), helper.make_node("Dropout", ["h"], ["d"], "dropout"),
             helper.make_node("GlobalAveragePool", ["d"], ["g"], "pool"), helper.make_node("Identity", ["g"], ["i"], "identity"),
             helper.make_node("Shape", ["i"], ["s"], "shape"), helper.make_node("Gather", ["s", "one"], ["n"], "gather"),
             helper.make_node("Concat", ["minus", "n"], ["target"], "concat", axis=0),
             helper.make_node("Reshape", ["i", "target"], ["f"], "flatten"),
             helper.make_node("Transpose", ["m"], ["mt"], "transpose", perm=[1, 0]),
             helper.make_node("MatMul", ["f", "mt"], ["heads"], "classify")]
    value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "detector", [value("images", 1, 3, 32, 32)], [value("heads", 1, 10)],
                              [tensor("w", 8, 3, 3, 3), tensor("m", 10, 8), integers("one", 1), integers("minus", -1)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        before, after = folder / "before.onnx", folder / "after.onnx"
        onnx.save(exported(), before)
        subprocess.run([options.tenon, "onnx", *EDITS, before, "-o", after], check=True)
        with Page(options.chromium, folder / "profile", width=1150, height=720) as page:
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
            for model in before, after:
                html = folder / f"{model.stem}.html"
                html.write_bytes(subprocess.run([options.tenon, "onnx", "show=html", model], check=True, capture_output=True).stdout)
                page.open(html.as_uri())
                page.value("[...document.querySelectorAll('rect.node')].find(r => r.textContent === 'flatten').onclick()")
                page.picture(ROOT / f"docs/images/onnx_{model.stem}.png")


if __name__ == "__main__":
    main()
