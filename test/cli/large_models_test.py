"""Models of very many layers: built, read and run in a time that grows as they do, on an ordinary stack."""
import time
import unittest

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

from support import CliTest

COUNT = 40_000


class Weights(CliTest):
    def test_what_becomes_larger_than_a_file(self):
        """Weights of 4.5 GiB in a file of holes, and of 1 at their end, become 2.25 GiB of float16, which lie beside."""
        extents, count = (8192, 16384), 9
        model, data, halves = (self.folder / name for name in ("large.onnx", "large.data", "halves.onnx"))
        size = 4 * extents[0] * extents[1]
        nodes, tensors = [], []
        for i in range(count):
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=extents if i % 2 == 0 else extents[::-1],
                                 data_location=TensorProto.EXTERNAL)
            for key, number in ("location", data.name), ("offset", i * size), ("length", size):
                tensor.external_data.add(key=key, value=str(number))
            tensors.append(tensor)
            nodes.append(helper.make_node("MatMul", [f"t{i}" if i else "x", f"w{i}"], [f"t{i + 1}" if i + 1 < count else "y"]))
        with data.open("wb") as file:
            for i in range(count):
                file.seek((i + 1) * size - 4)
                file.write(np.float32(1).tobytes())
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", extents[axis]]) for n, axis in (("x", 0), ("y", 1))]
        save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], tensors),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
        self.succeed("onnx", "float16", model, "-o", halves)
        found = {t.name: t for t in load(halves, load_external_data=False).graph.initializer}
        for i in range(count):
            where = {e.key: e.value for e in found[f"w{i}"].external_data}
            self.assertEqual((found[f"w{i}"].data_type, where["location"], int(where["length"])), (TensorProto.FLOAT16, "halves.onnx.data", size // 2))
            last = np.memmap(self.folder / where["location"], np.float16, "r", int(where["offset"]), extents[0] * extents[1])[-3:]
            self.assertEqual(last.tolist(), [0, 0, 1])


class Networks(CliTest):
    def test_many_outputs(self):
        model, arrays, out = (self.folder / name for name in ("m.onnx", "in.npz", "out.npz"))
        names = [f"y{i}" for i in range(COUNT)]
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Split", ["x"], names, axis=0, num_outputs=COUNT)], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [COUNT, 1])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]),
            opset_imports=[helper.make_opsetid("", 18)], ir_version=8), model)
        np.savez(arrays, x=np.arange(COUNT, dtype=np.float32)[:, None])
        started = time.monotonic()
        self.succeed("run", model, "--inputs", arrays, "--outputs", out, "--builderOptimizationLevel=0")
        self.assertLess(time.monotonic() - started, 120)  # a few seconds where time is linear
        found = np.load(out)
        for i in (0, 1, COUNT - 1):
            self.assertEqual(found[f"y{i}"], [[i]])

    def run_model(self, nodes, weights=(), inputs=("x",)):
        """Output y of a model whose inputs are [[0, 1, 2]]; by a plan."""
        model, plan, arrays, out = (self.folder / name for name in ("m.onnx", "m.plan", "in.npz", "out.npz"))
        save(helper.make_model(helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in inputs],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(weights)),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        self.succeed("build", model, "-o", plan, "--builderOptimizationLevel=0")
        np.savez(arrays, **{name: np.arange(3, dtype=np.float32)[None] for name in inputs})
        self.succeed("run", plan, "--inputs", arrays, "--outputs", out)
        return np.load(out)["y"]

    def chain(self, node):
        names = ["x", *(f"t{i}" for i in range(1, COUNT)), "y"]
        return [node(i, names[i], names[i + 1]) for i in range(COUNT)]

    def test_chain(self):
        nodes = self.chain(lambda i, x, y: helper.make_node("Softmax", [x], [y]))
        self.assert_close(self.run_model(nodes), np.full((1, 3), 1 / 3))

    def test_chain_with_weights(self):
        nodes = self.chain(lambda i, x, y: helper.make_node("MatMul", [x, f"w{i}"], [y]))
        turn = np.eye(3, dtype=np.float32)[[1, 2, 0]]  # y = (x2, x0, x1)
        weights = [numpy_helper.from_array(turn, f"w{i}") for i in range(COUNT)]
        self.assert_close(self.run_model(nodes, weights), np.roll([[0, 1, 2]], COUNT % 3, axis=1))

    def test_chain_of_views(self):
        nodes = self.chain(lambda i, x, y: helper.make_node("Reshape", [x, f"shape{i % 2}"], [y]))
        shapes = [numpy_helper.from_array(np.array(s, np.int64), f"shape{i}") for i, s in enumerate(([3], [1, 3]))]
        self.assert_close(self.run_model(nodes, shapes), np.array([[0, 1, 2]]))

    def test_wide(self):
        """All of them live at once."""
        nodes = [helper.make_node("Softmax", ["x"], [f"t{i}"]) for i in range(COUNT)]
        nodes.append(helper.make_node("Concat", [f"t{i}" for i in range(COUNT)], ["y"], axis=0))
        y = self.run_model(nodes)
        self.assert_close(y, np.tile(np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum(), (COUNT, 1)))

    def test_many_outputs_of_a_layer(self):
        """A Split of COUNT outputs, a Neg of each, and a Sum of all."""
        nodes = [
            helper.make_node("Tile", ["x", "repeats"], ["tiled"]),
            helper.make_node("Split", ["tiled"], [f"part{i}" for i in range(COUNT)], axis=0),
            *(helper.make_node("Neg", [f"part{i}"], [f"t{i}"]) for i in range(COUNT)),
            helper.make_node("Sum", [f"t{i}" for i in range(COUNT)], ["y"])]
        y = self.run_model(nodes, [numpy_helper.from_array(np.array([COUNT, 1], np.int64), "repeats")])
        self.assert_close(y, np.array([[0, -COUNT, -2 * COUNT]]))

    def test_many_inputs(self):
        inputs = [f"x{i}" for i in range(COUNT // 2)]
        y = self.run_model([helper.make_node("Sum", inputs, ["y"])], inputs=inputs)
        self.assert_close(y, np.array([[0, 1, 2]]) * len(inputs))


if __name__ == "__main__":
    unittest.main()
