"""A type checker knows the package: it accepts the examples, and finds mistakes in programs."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"

# Each line with a comment is wrong, and the comment is in what the checker says.
MISTAKES = """
import numpy as np
import tenon
import tenon.graphsurgeon as gs
import tenon.tensorrt as trt
from tenon import cudart

graph = gs.Graph([gs.Node("Relu", inputs=[gs.Variable("x", np.float32, (1, "N"))])], opset=13)
names_of_nodes: list[str] = [node.op for node in graph.cleanup().toposort().nodes]
graph.nodes[0].inputz  # "Node" has no attribute "inputz"
gs.Graph(nodes=[gs.Variable("x")])  # List item 0 has incompatible type "Variable"; expected "Node"
gs.Variable("x").to_constant(np.ones(3)).values.sum()
found: str = gs.GraphPattern().match_all(graph)  # expression has type "list[PatternMapping]"

engine = tenon.compile("model.onnx", shapes={"x": (1, 3)})
tenon.compile("model.onnx", precison="fp16")  # Unexpected keyword argument "precison"
engine.inputs[0].name.upper()
checked: bool = tenon.check_plugins("a.so").failures[0]  # expression has type "Finding"
engine.inputs[0].nme  # "Tensor" has no attribute "nme"
size: str = engine.serialize()  # expression has type "bytes", variable has type "str"

logger = trt.Logger(trt.Logger.Severity.WARNING)
builder = trt.Builder(logger)
network = builder.create_network(0)
x = network.add_input("x", trt.float32, (2, 3))
network.add_inputs("x")  # "INetworkDefinition" has no attribute "add_inputs"
network.add_input("mask", trt.bool, [2, 3])
network.add_input("x", "float32", (2, 3))  # incompatible type "str"; expected "DataType"
network.add_activation(x, trt.ActivationType.RELU).get_output(0).name = "y"
trt.ActivationType.RELUX  # has no attribute "RELUX"
layers: list[str] = [layer.name for layer in network]
extents: tuple[int, ...] = tuple(x.shape)
extent: str = x.shape[0]  # expression has type "int", variable has type "str"
parsed: str = trt.OnnxParser(network, logger).parse(b"")  # expression has type "bool"
plan = builder.build_serialized_network(network, builder.create_builder_config())
memoryview(plan)
cuda_engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
cuda_engine.nothing  # "ICudaEngine" has no attribute "nothing"
trt.Runtime(logger).deserialize_cuda_engine(3)  # No overload variant
names: list[str] = list(cuda_engine)
field = trt.PluginField("size", np.zeros(1, np.int32), trt.PluginFieldType.INT32)
field.nothing  # "PluginField" has no attribute "nothing"
creator = trt.get_plugin_registry().get_creator("Resize", "1")
creator.create_plugin("resize", trt.PluginFieldCollection([field]), trt.TensorRTPhase.BUILD)
cudart.cudaMalloc(16)
cudart.cudaMallok(16)  # Module has no attribute "cudaMallok"


class Plugin(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    pass
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """{file: {number of a line: what mypy says of it}}, of the examples and the mistakes."""
    folder = tmp_path_factory.mktemp("checked")
    # Under another path, as the checker refuses folders that the interpreter has anyway.
    (folder / "tenon").symlink_to(PACKAGE)
    (folder / "mistakes.py").write_text(MISTAKES)
    environment = {**os.environ, "MYPYPATH": str(folder), "LD_PRELOAD": ""}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--check-untyped-defs", "--ignore-missing-imports",
         "--follow-imports=silent", "--no-error-summary", "--hide-error-codes", "--cache-dir",
         folder / "cache", "mistakes.py", *EXAMPLES.glob("*.py")],
        cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    errors = {}
    # Stubs are checked as well here, and override some members otherwise than Liskov would.
    for path, line, text in re.findall(r"^(.*?\.py):(\d+): error: (.*)$", done.stdout, re.M):
        errors.setdefault(pathlib.Path(path).name, {})[int(line)] = text
    return errors


def test_mistakes_are_found(found):
    expected = {number: line.split("  # ")[1] for number, line in enumerate(MISTAKES.split("\n"), 1)
                if "  # " in line}
    errors = found.pop("mistakes.py")
    assert errors.keys() == expected.keys(), errors
    for number, text in expected.items():
        assert text in errors[number]


def test_examples_have_no_mistakes(found):
    assert not {name: errors for name, errors in found.items() if name != "mistakes.py"}
