"""Writes TFLite models as ONNX: convert(bytes, outputs) -> onnx.ModelProto.

`outputs` are the names of those to keep, without which it is all of them. Inputs and outputs keep their names, types
and layout (N, H, W, C), and the batch may be any. Inside, tensors of rank 4 are (N, C, H, W): inputs and outputs are
transposed once. Weights in float16 or in sparse form, which TFLite unpacks when a model is loaded, are float32 here.
An operator that is not in OPERATORS is refused by name. The schema is ai-edge-litert's.
"""
import struct

import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
CODES = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
TYPES = {schema.TensorType.FLOAT32: np.float32, schema.TensorType.FLOAT16: np.float16,
         schema.TensorType.INT32: np.int32}
SAME = schema.Padding.SAME
OPERATORS = {}


def operator(*names):
    """The function writes TFLite's operators of these names."""
    def enter(function):
        OPERATORS.update(dict.fromkeys(names, function))
        return function
    return enter


def dense(tensor, values):
    """A sparse tensor's elements: levels are dimensions in `traversalOrder`, then blocks of those in `blockMap`."""
    sparsity, rank = tensor.sparsity, len(tensor.shape)
    row, coordinates = np.zeros(1, int), []  # of each element so far: its number within the level, and where it lies
    for level in sparsity.dimMetadata:
        if level.format == schema.DimensionType.DENSE:
            count = np.full(len(row), level.denseSize)
            index = np.tile(np.arange(level.denseSize), len(row))
            row, parent = np.repeat(row, count) * level.denseSize + index, np.repeat(np.arange(len(row)), count)
        else:
            segments = np.asarray(level.arraySegments.values, int)
            count, parent = np.diff(segments)[row], np.repeat(np.arange(len(row)), np.diff(segments)[row])
            row = np.concatenate([np.arange(*segments[i : i + 2]) for i in row])
            index = np.asarray(level.arrayIndices.values, int)[row]
        coordinates = [c[parent] for c in coordinates] + [index]
    blocks = [] if sparsity.blockMap is None else list(sparsity.blockMap)
    where = [None] * rank
    for axis, index, level in zip(sparsity.traversalOrder, coordinates, sparsity.dimMetadata):
        if axis < rank:
            where[axis] = index
        else:
            dimension = blocks[axis - rank]
            where[dimension] = where[dimension] * level.denseSize + index
    result = np.zeros(tensor.shape, values.dtype)
    result[tuple(where)] = values[row]
    return result


class Converter:
    def __init__(self, data, outputs):
        self.model = schema.ModelT.InitFromPackedBuf(data, 0)
        if len(self.model.subgraphs) != 1:
            raise ValueError(f"expected a model of one graph, found {len(self.model.subgraphs)}")
        self.graph = self.model.subgraphs[0]
        self.outputs = self.chosen(outputs)
        self.nodes, self.initializers = [], {}
        self.names, self.constants = {}, {}
        for index, tensor in enumerate(self.graph.tensors):
            buffer = self.model.buffers[tensor.buffer].data
            if buffer is not None and len(buffer):
                self.constants[index] = self.unpacked(tensor, np.asarray(buffer, np.uint8).tobytes())

    def chosen(self, names):
        found = {self.graph.tensors[index].name.decode(): index for index in self.graph.outputs}
        if names is None:
            return list(found.values())
        if set(names) - set(found):
            raise ValueError(f"expected outputs of {', '.join(found)}, found {', '.join(names)}")
        return [found[name] for name in names]

    def needed(self):
        """The operators that the outputs depend on, in order."""
        wanted, operators = set(self.outputs), []
        for op in reversed(self.graph.operators):
            if wanted & set(op.outputs):
                operators.append(op)
                wanted.update(op.inputs)
        return reversed(operators)

    def unpacked(self, tensor, data):
        if tensor.type not in TYPES:
            raise ValueError(f"constant {tensor.name.decode()}: its type {tensor.type} is not supported")
        values = np.frombuffer(data, TYPES[tensor.type])
        if tensor.sparsity is not None:
            return dense(tensor, values)
        return values.reshape(() if tensor.shape is None else tensor.shape)

    def kind(self, op):
        code = self.model.operatorCodes[op.opcodeIndex]
        kind = CODES[max(code.builtinCode, code.deprecatedBuiltinCode)]
        return code.customCode.decode() if kind == "CUSTOM" else kind

    def shape(self, index):
        return [int(extent) for extent in self.graph.tensors[index].shape]

    def add(self, kind, inputs, outputs=1, **attributes):
        """A node; its output's name, or those of several."""
        names = [f"{kind.lower()}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = f"constant_{len(self.initializers)}"
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def activated(self, name, activation):
        kinds = schema.ActivationFunctionType
        if activation == kinds.NONE:
            return name
        if activation == kinds.RELU:
            return self.add("Relu", [name])
        if activation == kinds.RELU6:
            return self.add("Clip", [name, self.constant(np.float32(0)), self.constant(np.float32(6))])
        raise ValueError(f"activation {activation} is not supported")

    def operand(self, index):
        """An operand of an elementwise operator: constants broadcast along channels."""
        if index not in self.constants:
            return self.names[index]
        values = self.constants[index]
        if values.ndim == 4:
            values = values.transpose(TO_NCHW)
        elif values.ndim == 1:
            values = values.reshape(-1, 1, 1)
        elif values.ndim != 0:
            raise ValueError(f"a constant operand of rank {values.ndim} is not supported")
        return self.constant(values)

    def window(self, op, options, extents, dilations=(1, 1)):
        """Strides, and what is padded before and behind rows and columns: TensorFlow's SAME has more behind."""
        strides = (options.strideH, options.strideW)
        pads = []
        for size, result, extent, stride, dilation in zip(self.shape(op.inputs[0])[1:3], self.shape(op.outputs[0])[1:3],
                                                          extents, strides, dilations):
            missing = max(0, (result - 1) * stride + (extent - 1) * dilation + 1 - size)
            pads.append(missing if options.padding == SAME else 0)
        return {"strides": strides, "pads": [pad // 2 for pad in pads] + [pad - pad // 2 for pad in pads]}

    def convert(self):
        for index in self.graph.inputs:
            name = self.graph.tensors[index].name.decode()
            is_picture = len(self.shape(index)) == 4
            self.names[index] = self.add("Transpose", [name], perm=TO_NCHW) if is_picture else name
        for op in self.needed():
            kind = self.kind(op)
            if kind not in OPERATORS:
                raise ValueError(f"operator {kind} is not supported: tflite_to_onnx.py has {', '.join(OPERATORS)}")
            self.names[op.outputs[0]] = OPERATORS[kind](self, op)
        return self.finished()

    def described(self, index):
        tensor = self.graph.tensors[index]
        shape = ["batch", *self.shape(index)[1:]]
        return helper.make_tensor_value_info(tensor.name.decode(), TensorProto.FLOAT, shape)

    def finished(self):
        for index in self.outputs:
            name, found = self.graph.tensors[index].name.decode(), self.names[index]
            if len(self.shape(index)) == 4:
                self.nodes.append(helper.make_node("Transpose", [found], [name], perm=TO_NHWC))
            else:
                self.nodes.append(helper.make_node("Identity", [found], [name]))
        graph = helper.make_graph(self.nodes, "tflite", [self.described(i) for i in self.graph.inputs],
                                  [self.described(i) for i in self.outputs], list(self.initializers.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


@operator("DEQUANTIZE", "DENSIFY")
def unpack(to, op):
    if op.inputs[0] not in to.constants:
        raise ValueError("DEQUANTIZE and DENSIFY are supported for constants alone")
    to.constants[op.outputs[0]] = to.constants[op.inputs[0]].astype(TYPES[to.graph.tensors[op.outputs[0]].type])


@operator("CONV_2D", "DEPTHWISE_CONV_2D")
def convolution(to, op):
    options, weights = op.builtinOptions, to.constants[op.inputs[1]]  # (O, H, W, I), or (1, H, W, O)
    is_depthwise = to.kind(op) == "DEPTHWISE_CONV_2D"
    channels, dilations = to.shape(op.inputs[0])[3], (options.dilationHFactor, options.dilationWFactor)
    if not is_depthwise and weights.shape[3] != channels:
        raise ValueError(f"CONV_2D in groups is not supported: {weights.shape[3]} of {channels} channels")
    inputs = [to.names[op.inputs[0]], to.constant(weights.transpose((3, 0, 1, 2) if is_depthwise else TO_NCHW))]
    if len(op.inputs) > 2 and op.inputs[2] >= 0:
        inputs.append(to.constant(to.constants[op.inputs[2]]))
    result = to.add("Conv", inputs, kernel_shape=weights.shape[1:3], group=channels if is_depthwise else 1,
                    dilations=dilations, **to.window(op, options, weights.shape[1:3], dilations))
    return to.activated(result, options.fusedActivationFunction)


@operator("Convolution2DTransposeBias")
def transposed_convolution(to, op):
    """MediaPipe's: a transposed convolution and a bias; its options are TfLiteTransposeConvParams."""
    weights = to.constants[op.inputs[1]]  # (O, H, W, I)
    padding, stride_x, stride_y = struct.unpack_from("<iii", np.asarray(op.customOptions, np.uint8).tobytes())
    size, result = to.shape(op.inputs[0])[1:3], to.shape(op.outputs[0])[1:3]
    strides = (stride_y, stride_x)
    more = [(s - 1) * stride + extent - r for s, r, stride, extent in zip(size, result, strides, weights.shape[1:3])]
    if any(more):
        raise ValueError(f"Convolution2DTransposeBias with padding {padding} is not supported: expected a result of "
                         f"all that the windows reach, found {result} of {size}")
    return to.add("ConvTranspose", [to.names[op.inputs[0]], to.constant(weights.transpose(3, 0, 1, 2)),
                                    to.constant(to.constants[op.inputs[2]])], strides=strides)


@operator("MAX_POOL_2D", "AVERAGE_POOL_2D")
def pool(to, op):
    options = op.builtinOptions
    kind = "MaxPool" if to.kind(op) == "MAX_POOL_2D" else "AveragePool"
    extents = (options.filterHeight, options.filterWidth)
    result = to.add(kind, [to.names[op.inputs[0]]], kernel_shape=extents, **to.window(op, options, extents))
    return to.activated(result, options.fusedActivationFunction)


@operator("ADD", "MUL")
def elementwise(to, op):
    kind = to.kind(op).capitalize()
    return to.activated(to.add(kind, [to.operand(i) for i in op.inputs]), op.builtinOptions.fusedActivationFunction)


@operator("RELU")
def relu(to, op):
    return to.add("Relu", [to.names[op.inputs[0]]])


@operator("HARD_SWISH")
def hard_swish(to, op):
    return to.add("HardSwish", [to.names[op.inputs[0]]])


@operator("LOGISTIC")
def logistic(to, op):
    return to.add("Sigmoid", [to.names[op.inputs[0]]])


@operator("PAD")
def pad(to, op):
    pads = to.constants[op.inputs[1]].astype(np.int64)
    if len(pads) == 4:
        pads = pads[list(TO_NCHW)]
    return to.add("Pad", [to.names[op.inputs[0]], to.constant(pads.T.reshape(-1))])


@operator("RESIZE_BILINEAR")
def resize(to, op):
    options = op.builtinOptions
    size, result = np.array(to.shape(op.inputs[0])[1:3]), np.array(to.shape(op.outputs[0])[1:3])
    mode = ("align_corners" if options.alignCorners
            else "half_pixel" if options.halfPixelCenters else "asymmetric")
    scales = np.concatenate([[1, 1], result / size]).astype(np.float32)
    return to.add("Resize", [to.names[op.inputs[0]], "", to.constant(scales)], mode="linear",
                  coordinate_transformation_mode=mode)


@operator("DEPTH_TO_SPACE")
def depth_to_space(to, op):
    return to.add("DepthToSpace", [to.names[op.inputs[0]]], blocksize=op.builtinOptions.blockSize, mode="DCR")


@operator("RESHAPE")
def reshape(to, op):
    name, before, after = to.names[op.inputs[0]], to.shape(op.inputs[0]), to.shape(op.outputs[0])
    if before[0] != after[0]:
        raise ValueError(f"RESHAPE over the batch is not supported: {before} to {after}")
    if len(before) == 4:
        name = to.add("Transpose", [name], perm=TO_NHWC)
    name = to.add("Reshape", [name, to.constant(np.array([0, *after[1:]], np.int64))])
    return to.add("Transpose", [name], perm=TO_NCHW) if len(after) == 4 else name


@operator("CONCATENATION")
def concatenation(to, op):
    axis = op.builtinOptions.axis % len(to.shape(op.outputs[0]))
    if len(to.shape(op.outputs[0])) == 4:
        axis = TO_NCHW.index(axis)
    result = to.add("Concat", [to.names[i] for i in op.inputs], axis=axis)
    return to.activated(result, op.builtinOptions.fusedActivationFunction)


def convert(data, outputs=None):
    return Converter(data, outputs).convert()
