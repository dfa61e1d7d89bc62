"""Networks of the plugins that come along: what one gives is what the next is made for."""
import itertools
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from support import CliTest

GRID = (6, 17, 20)


def convolved(dense, kernel, stride):
    """A grid (D, H, W, C) by a kernel (K, 3, 3, 3, C), with zeros around it."""
    padded = np.pad(dense, ((1, 1), (1, 1), (1, 1), (0, 0)))
    y = 0
    for tap in itertools.product(range(3), repeat=3):
        part = padded[tuple(slice(first, first + extent, stride) for first, extent in zip(tap, dense.shape))]
        y = y + part @ kernel[(slice(None), *tap)].T
    return y


class PluginNetworks(CliTest):
    def run_model(self, nodes, inputs, outputs, weights, *options):
        """inputs: name -> array whose first extent is open; outputs: name -> type."""
        model, arrays, out = (self.folder / name for name in ("m.onnx", "in.npz", "out.npz"))
        declared = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), ["n", *x.shape[1:]])
                    for name, x in inputs.items()]
        results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
        save(helper.make_model(helper.make_graph(nodes, "g", declared, results,
                                                 [numpy_helper.from_array(w, name) for name, w in weights.items()]),
                               opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("plugins", 1)], ir_version=9), model)
        np.savez(arrays, **inputs)
        self.succeed("run", model, "--inputs", arrays, "--outputs", out, *options)
        return np.load(out)

    def sparse(self, count):
        """A submanifold convolution with a bias and ReLU, then one of stride 2."""
        random = np.random.RandomState(0)
        cells = np.stack(np.unravel_index(random.permutation(np.prod(GRID))[:count], GRID), 1)
        indices = np.concatenate([np.zeros((count, 1)), cells], 1).astype(np.int32)
        features = random.randn(count, 5).astype(np.float32)
        weights = {"w1": random.randn(8, 3, 3, 3, 5) / 8, "b1": random.randn(8), "w2": random.randn(20, 3, 3, 3, 8) / 8}
        weights = {name: w.astype(np.float32) for name, w in weights.items()}
        common = {"domain": "plugins", "is_train": 0}

        def pairs(sites, to, stride, subm):
            lists = {"ksize": [3] * 3, "stride": [stride] * 3, "padding": [1] * 3, "dilation": [1] * 3, "out_padding": [0] * 3,
                     "spatial_shape": list(GRID)}
            return helper.make_node("GetIndicePairsImplicitGemm", [sites], [f"{to}_{part}" for part in ("sites", "pairs", "masks", "order", "n")],
                                    batch_size=1, algo=1, subm=subm, transpose=0, **lists, **common)

        def product(x, pairs, y, weights, subm, act_type):
            tables = [f"{pairs}_{part}" for part in ("pairs", "masks", "order")]
            return helper.make_node("ImplicitGemm", [x, weights[0], *tables, *weights[1:]], [y], act_type=act_type, act_alpha=0.0,
                                    act_beta=0.0, is_subm=subm, output_scale=1.0, output_add_scale=0.0, **common)

        limits = [f"--{end}Shapes=indices:{n}x4,features:{n}x5" for end, n in (("min", 0), ("opt", 100), ("max", 700))]
        found = self.run_model(
            [pairs("indices", "a", 1, 1), product("features", "a", "h", ["w1", "b1"], 1, 1), pairs("a_sites", "b", 2, 0),
             product("h", "b", "y", ["w2"], 0, 0)],
            {"indices": indices, "features": features}, {"y": TensorProto.FLOAT, "b_sites": TensorProto.INT32}, weights, *limits)
        dense, is_there = np.zeros((*GRID, 5)), np.zeros((*GRID, 1))
        dense[tuple(cells.T)], is_there[tuple(cells.T)] = features, 1
        h = (convolved(dense, weights["w1"], 1) + weights["b1"]).clip(0) * is_there
        sites = np.argwhere(convolved(is_there, np.ones((1, 3, 3, 3, 1)), 2)[..., 0] > 0)
        y = convolved(h, weights["w2"], 2)[tuple(sites.T)]
        np.testing.assert_array_equal(found["b_sites"], np.concatenate([np.zeros((len(sites), 1)), sites], 1))
        self.assert_close(found["y"], y)

    def test_sparse_convolutions(self):
        self.sparse(400)

    def test_sparse_convolutions_of_nothing(self):
        self.sparse(0)

    def test_bytes_with_scales_of_their_neighbours(self):
        """Between QuantizeLinear and DequantizeLinear a plugin of int8 gets their scales."""
        random = np.random.RandomState(0)
        x, center = random.uniform(-6, 6, (3, 8, 8)).astype(np.float32), np.float32([4, 4])
        quarter = {"angle": np.float32([90]), "center": center}
        scales = {"in": np.float32(0.05), "out": np.float32(0.25)}
        y = self.run_model([helper.make_node("QuantizeLinear", ["x", "in", "zero"], ["bytes"]),
                            helper.make_node("RotateTRT", ["bytes", "angle", "center"], ["turned"], domain="plugins", interpolation=1),
                            helper.make_node("DequantizeLinear", ["turned", "out", "zero"], ["y"])],
                           {"x": x}, {"y": TensorProto.FLOAT}, {**quarter, **scales, "zero": np.int8(0)})["y"]
        steps = np.rint(x / scales["in"]).clip(-128, 127) * scales["in"]
        self.assert_close(y, np.rot90(np.rint(steps / scales["out"]).clip(-128, 127) * scales["out"], axes=(1, 2)))


if __name__ == "__main__":
    unittest.main()
