"""Measures single operators: Tenon's plugins against ONNX Runtime, OpenVINO and PyTorch, in turn, in one run.

    python operators.py [roi_align nms_1000 ...] [--peers tenon,ort,ov,torch,before] [--threads 2] [--rounds 12]
    python operators.py --plugins [--rounds 4]  # every plugin of which plugin_formulas has PyTorch's formula

Tenon runs the plugin as a model of one node, the other engines ONNX's operator, PyTorch and torchvision their
function, on the same numbers. An engine without the operator is left out. As in run.py, read the ratios.
"""

import argparse
import dataclasses
import pathlib
import sys
import tempfile
import typing

import numpy as np

import run

PEERS = ["tenon", "ort", "ov", "torch"]


@dataclasses.dataclass
class Node:
    """An operator as a node: attributes, inputs in order, and which of them are constants of the model."""

    kind: str
    inputs: dict
    attributes: dict
    outputs: tuple = ("y",)
    constants: tuple = ()
    domain: str = ""
    opset: int = 19
    whole: tuple = ()  # outputs of integers, beside those called indices
    long: tuple = ()  # outputs of int64

    def arrays(self):
        return {name: a for name, a in self.inputs.items() if a is not None and name not in self.constants}

    def write(self, path):
        """Writes a model of this node alone. Its outputs have no shapes; the kinds of plugins are in a domain."""
        import onnx
        from onnx import helper

        def declared(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        inputs = [name if array is not None else "" for name, array in self.inputs.items()]
        attributes = {name: onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
                      for name, value in self.attributes.items()}
        node = helper.make_node(self.kind, inputs, list(self.outputs), domain=self.domain, **attributes)
        graph = helper.make_graph(
            [node],
            self.kind,
            [declared(name, array) for name, array in self.arrays().items()],
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [onnx.numpy_helper.from_array(self.inputs[name], name) for name in self.constants],
        )
        floats = next((array.dtype for array in self.arrays().values() if array.dtype.kind == "f"), np.dtype(np.float32))
        for output in graph.output:
            whole = self.kind == "NonMaxSuppression" or output.name == "indices" or output.name in self.whole
            output.type.tensor_type.elem_type = (
                onnx.TensorProto.INT32 if whole and self.domain else
                onnx.TensorProto.INT64 if whole or output.name in self.long else
                helper.np_dtype_to_tensor_dtype(floats)
            )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("plugins", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


@dataclasses.dataclass
class Operator:
    """One measurement: the plugin, the node of the standard (None: it has none), and PyTorch's function.

    `torch` gets the plugin's inputs as tensors, by name, and gives its outputs. `comparable` makes of one peer's
    outputs what can be compared with another's. `unknown_to` are engines without the standard's operator.
    """

    plugin: Node
    standard: Node | None
    torch: typing.Callable
    comparable: typing.Callable = lambda outputs: outputs
    unknown_to: tuple = ()


def plugin(kind, inputs, attributes, **more):
    return Node(kind, inputs, attributes, domain="plugins", **more)


class Numbers:
    def __init__(self):
        self.state = np.random.RandomState(0)

    def normal(self, *shape):
        return self.state.randn(*shape).astype(np.float32)

    def uniform(self, *shape):
        return self.state.rand(*shape).astype(np.float32)


def roi_align(numbers):
    x = numbers.normal(1, 256, 50, 50)
    corner, size = numbers.uniform(1000, 2) * 640, numbers.uniform(1000, 2) * 160 + 16
    boxes = np.concatenate([corner, np.minimum(corner + size, 799)], 1)
    rois = np.concatenate([np.zeros((1000, 1), np.float32), boxes], 1)
    common = {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 1 / 16, "mode": "avg"}

    def by_torch(x, rois):
        import torchvision

        return torchvision.ops.roi_align(x, rois, 7, 1 / 16, 2, True)

    return Operator(
        plugin("MMCVRoiAlign", {"x": x, "rois": rois}, {**common, "aligned": 1}),
        Node("RoiAlign", {"x": x, "boxes": boxes, "images": np.zeros(1000, np.int64)},
             {**common, "coordinate_transformation_mode": "half_pixel"}),
        by_torch,
    )


def _deformable(numbers, modulated):
    x, weight = numbers.normal(1, 256, 64, 64), numbers.normal(256, 256, 3, 3) * np.float32(0.02)
    offset, mask = numbers.normal(1, 18, 64, 64), numbers.uniform(1, 9, 64, 64)
    bias = np.zeros(256, np.float32)
    geometry = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1, "deform_groups": 1}
    standard = {"x": x, "weight": weight, "offset": offset, "bias": bias} | ({"mask": mask} if modulated else {})
    own = {"x": x, "offset": offset} | ({"mask": mask} if modulated else {}) | {"weight": weight}

    def by_torch(x, offset, mask=None):
        import torch
        import torchvision

        constants = (torch.from_numpy(array).to(x) for array in (weight, bias))
        return torchvision.ops.deform_conv2d(x, offset, *constants, padding=1, mask=mask)

    return Operator(
        plugin("MMCVModulatedDeformConv2d" if modulated else "MMCVDeformConv2d", own, geometry,
               constants=("weight",)),
        Node("DeformConv", standard, {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}, constants=("weight", "bias")),
        by_torch,
        unknown_to=("ov",),
    )


def deform_conv(numbers):
    return _deformable(numbers, False)


def mod_deform_conv(numbers):
    return _deformable(numbers, True)


def _grid_sample(x, grid, align_corners):
    def by_torch(x, grid):
        import torch

        return torch.nn.functional.grid_sample(x, grid, align_corners=align_corners)

    corners = int(align_corners)
    return Operator(
        plugin("grid_sampler", {"x": x, "grid": grid},
               {"interpolation_mode": 0, "padding_mode": 0, "align_corners": corners}),
        # OpenVINO knows the operator as opset 16 has it.
        Node("GridSample", {"x": x, "grid": grid},
             {"mode": "bilinear", "padding_mode": "zeros", "align_corners": corners}, opset=16),
        by_torch,
    )


def grid_sample(numbers):
    return _grid_sample(numbers.normal(1, 64, 256, 256), numbers.uniform(1, 256, 256, 2) * np.float32(2.1) - np.float32(1.05),
                        False)


def grid_sample_warp(numbers):
    x = numbers.normal(1, 64, 256, 256)
    line = np.linspace(-1, 1, 256, dtype=np.float32)
    y, column = np.meshgrid(line, line, indexing="ij")
    grid = np.stack([column, y], -1)[None] + numbers.normal(1, 256, 256, 2) * np.float32(0.01)
    return _grid_sample(x, grid, True)


def _nms(numbers, count):
    corner, size = numbers.uniform(count, 2) * 600, numbers.uniform(count, 2) * 80 + 8
    boxes, scores = np.concatenate([corner, corner + size], 1)[None], numbers.uniform(1, 1, count)
    standard = {"boxes": boxes, "scores": scores, "most": np.array([count], np.int64),
                "threshold": np.array([0.5], np.float32)}

    def by_torch(boxes, scores):
        import torchvision

        return torchvision.ops.nms(boxes[0], scores[0, 0], 0.5)

    def kept(outputs):
        y = next(iter(outputs.values()))
        boxes = y if y.ndim == 1 else y[y[:, 0] >= 0, 2]  # the plugin fills up with rows of -1
        return {"y": boxes.astype(np.int64)}

    return Operator(
        plugin("NonMaxSuppression", {"boxes": boxes, "scores": scores},
               {"center_point_box": 0, "max_output_boxes_per_class": count, "iou_threshold": 0.5,
                "score_threshold": 0.0, "offset": 0}),
        Node("NonMaxSuppression", standard, {}, constants=("most", "threshold"), opset=11),
        by_torch, kept,
    )


def nms_1000(numbers):
    return _nms(numbers, 1000)


def nms_5000(numbers):
    return _nms(numbers, 5000)


def nms_10000(numbers):
    return _nms(numbers, 10000)


def _cumulative(numbers, name):
    def by_torch(x):
        import torch

        return tuple(getattr(torch, name)(x, 2))

    inputs = {"x": numbers.normal(8, 256, 1024)}
    return Operator(plugin(name, inputs, {"dim": 2}, outputs=("values", "indices")), None, by_torch)


def cummax(numbers):
    return _cumulative(numbers, "cummax")


def cummin(numbers):
    return _cumulative(numbers, "cummin")


def instance_norm(numbers):
    inputs = {"x": numbers.normal(1, 64, 256, 256), "scale": numbers.normal(64), "bias": numbers.normal(64)}

    def by_torch(x, scale, bias):
        import torch

        return torch.nn.functional.instance_norm(x, weight=scale, bias=bias)

    return Operator(plugin("TRTInstanceNormalization", inputs, {"epsilon": 1e-5}),
                    Node("InstanceNormalization", inputs, {"epsilon": 1e-5}), by_torch)


def reflect_pad(numbers):
    x = numbers.normal(1, 64, 256, 256)

    def by_torch(x):
        import torch

        return torch.nn.functional.pad(x, (8, 8, 8, 8), mode="reflect")

    pads = np.array([0, 0, 8, 8, 0, 0, 8, 8], np.int64)
    return Operator(plugin("ReflectPad", {"x": x}, {"padding": [8, 8, 8, 8]}),
                    Node("Pad", {"x": x, "pads": pads}, {"mode": "reflect"}, constants=("pads",), opset=18), by_torch)


def _scatter(data, indices, updates, by_torch):
    return Operator(
        plugin("ScatterND", {"data": data, "indices": indices.astype(np.int32), "updates": updates}, {}),
        Node("ScatterND", {"data": data, "indices": indices, "updates": updates}, {}, opset=18),
        by_torch,
    )


def scatter_nd(numbers):
    rows = numbers.state.permutation(4096)[:2048].astype(np.int64)
    return _scatter(numbers.normal(4096, 256), rows[:, None], numbers.normal(2048, 256),
                    lambda data, indices, updates: data.index_copy(0, indices[:, 0].long(), updates))


def scatter_nd_scalar(numbers):
    places = numbers.state.permutation(512 * 512)[:65536]
    indices = np.stack([places // 512, places % 512], -1).astype(np.int64)
    return _scatter(numbers.normal(512, 512), indices, numbers.normal(65536),
                    lambda data, indices, updates: data.index_put((indices[:, 0], indices[:, 1]), updates))


def _bicubic(numbers, align_corners):
    x, size = numbers.normal(1, 3, 256, 256), np.array([1, 3, 768, 768], np.int64)

    def by_torch(x):
        import torch

        return torch.nn.functional.interpolate(x, size=(768, 768), mode="bicubic", align_corners=align_corners)

    return Operator(
        plugin("TRTBicubicInterpolate", {"x": x}, {"scale_factor": [3.0, 3.0], "align_corners": int(align_corners)}),
        Node("Resize", {"x": x, "roi": None, "scales": None, "size": size},
             {"mode": "cubic", "cubic_coeff_a": -0.75,
              "coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel"},
             constants=("size",), opset=13),
        by_torch,
    )


def bicubic_ac(numbers):
    return _bicubic(numbers, True)


def bicubic_hp(numbers):
    return _bicubic(numbers, False)


OPERATORS = {
    make.__name__: make
    for make in (roi_align, deform_conv, mod_deform_conv, grid_sample, grid_sample_warp, nms_1000, nms_5000, nms_10000,
                 cummax, cummin, instance_norm, reflect_pad, scatter_nd, scatter_nd_scalar, bicubic_ac, bicubic_hp)
}


def operator(name):
    if name in OPERATORS:
        return OPERATORS[name](Numbers())
    import plugin_formulas

    return plugin_formulas.FORMULAS[name](Numbers())


def start(peer, name, made, options, folder):
    """The peer's process, or None when it does not have the operator."""
    node = made.standard if peer in ("ort", "ov") else made.plugin
    if node is None or peer in made.unknown_to:
        return None
    model, inputs, outputs = folder / f"{peer}.onnx", folder / f"{peer}_inputs.npz", folder / f"{peer}.npz"
    node.write(model)
    np.savez(inputs, **node.arrays())
    try:
        if peer in run.OWN:
            return run.start_tenon(peer, (), model, node.arrays(), inputs, outputs, options)
        return run.start_peer(peer, name if peer == "torch" else model, inputs, outputs, options)
    except RuntimeError as error:
        print(f"\n{name}, {run.NAMES[peer]}: {error}", file=sys.stderr)
        return None


def measure(name, options):
    made = operator(name)
    with tempfile.TemporaryDirectory() as folder, run.Progress(name) as progress:
        folder = pathlib.Path(folder)
        workers = {}
        for peer in options.peers.split(","):
            progress.stage(f"loading it into {run.NAMES[peer]}")
            worker = start(peer, name, made, options, folder)
            if worker is not None:
                workers[peer] = worker
        rows, noise = run.take_turns(workers, options, progress)
        results = {peer: made.comparable(dict(np.load(folder / f"{peer}.npz"))) for peer in workers}
        if "tenon" in results:
            for peer, row in rows.items():
                row["max_difference"] = run.difference(results["tenon"], results[peer])
                if row["max_difference"] > run.MAX_DIFFERENCE and peer == "torch":
                    raise RuntimeError(f"{name}: results differ by {row['max_difference']:.1e} of PyTorch's range")
    return {"operator": name, "busy": noise, "peers": rows}


def show(result):
    cells = []
    own = result["peers"].get("tenon")
    for peer, row in result["peers"].items():
        ratio = f" ({row['median_ms'] / own['median_ms']:.2f})" if own and peer != "tenon" else ""
        cells.append(f"{run.NAMES[peer]} {row['median_ms']:.3f}{ratio}")
    print(f"{result['operator']:18} {', '.join(cells)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=f"any of {', '.join(OPERATORS)}")
    parser.add_argument("--plugins", action="store_true", help="those of plugin_formulas, beside PyTorch")
    parser.add_argument("--peers")
    run.add_options(parser)
    options = parser.parse_args()
    known, plugins_of = OPERATORS, {}
    if options.plugins:
        import plugin_formulas

        known, plugins_of = plugin_formulas.FORMULAS, plugin_formulas.PLUGINS
    options.peers = options.peers or ",".join(["tenon", "torch"] if options.plugins else PEERS)
    run.check_peers(parser, options, [*PEERS, "before"])
    for name in options.operators:
        if name not in known:
            parser.error(f"there is no operator '{name}'; choose from {', '.join(known)}")
    print(
        f"The median time of one call, in milliseconds, fp32, with {options.threads} threads; in brackets the peer's\n"
        "time over Tenon's: above 1, Tenon is quicker. Tenon and its peers run in turn.",
        flush=True,
    )
    results, failed = [], False
    for name in options.operators or known:
        try:
            results.append(measure(name, options) | ({"plugins": plugins_of[name]} if name in plugins_of else {}))
            show(results[-1])
            failed |= "tenon" not in results[-1]["peers"]
        except RuntimeError as error:
            failed = True
            print(error, file=sys.stderr)
    if options.operators and options.json:
        run.keep(results, options.json, "operator")
    else:
        run.save(results, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
