"""Writes dlib's face recognition network as ONNX: convert(bytes) -> onnx.ModelProto.

The file, dlib_face_recognition_resnet_model_v1.dat, holds the layers' names and weights, from the input on, and not
how they are connected: that is dlib's `anet_type`, a ResNet of 29 convolutions. The model takes faces (batch, 3, 150,
150), RGB from 0 to 255, and gives (batch, 128): faces of one person are less than 0.6 apart.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, STEM = 150, 32
# Filters of each residual block, and whether it halves its input.
BLOCKS = [(32, False)] * 3 + [(64, True)] + [(64, False)] * 3 + [(128, True)] + [(128, False)] * 2
BLOCKS += [(256, True)] + [(256, False)] * 2 + [(256, True)]


class File:
    """Layers of the file, one behind the other."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def find(self, layer):
        """Goes behind the next layer of this name: a text is its length and its bytes."""
        text = bytes([1, len(layer)]) + layer.encode()
        at = self.data.find(text, self.position)
        if at < 0:
            raise ValueError(f"layer {layer} is missing behind byte {self.position}: this is not dlib's face "
                             "recognition network")
        self.position = at + len(text)

    def take(self, count):
        begin, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise ValueError(f"expected {count} bytes from byte {begin} on, found the file's end")
        return self.data[begin : self.position]

    def integer(self):
        """A byte with the sign and the number of bytes that follow."""
        head = self.take(1)[0]
        value = int.from_bytes(self.take(head & 15), "little")
        return -value if head & 128 else value

    def number(self):
        """Mantissa and exponent."""
        return self.integer() * 2.0 ** self.integer()

    def tensor(self, count):
        """A version, four extents, and float32."""
        version, extents = self.integer(), [self.integer() for _ in range(4)]
        if version != 2 or np.prod(extents) != count:
            raise ValueError(f"expected {count} weights of version 2 before byte {self.position}, found "
                             f"{extents} of version {version}")
        return np.frombuffer(self.take(4 * count), "<f4")


class Writer:
    def __init__(self, data):
        self.file, self.nodes, self.weights = File(data), [], []

    def add(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values):
        self.weights.append(numpy_helper.from_array(values, f"weights_{len(self.weights)}"))
        return self.weights[-1].name

    def convolution(self, x, channels, filters, side, stride):
        """`con` and the `affine` behind it; windows with a stride have no padding."""
        self.file.find("con_4")
        count = filters * channels * side * side
        values = self.file.tensor(count + filters)
        self.file.find("affine_")
        scale, shift = self.file.tensor(2 * filters).reshape(2, filters)
        kernel = values[:count].reshape(filters, channels, side, side) * scale[:, None, None, None]
        bias = values[count:] * scale + shift
        return self.add("Conv", x, self.constant(kernel), self.constant(bias), kernel_shape=[side, side],
                        strides=[stride, stride], pads=[0 if stride > 1 else side // 2] * 4)

    def block(self, x, channels, filters, side, halves):
        """A residual block; a skip with fewer channels, and a branch that is smaller, are padded by zeros."""
        branch = self.convolution(x, channels, filters, 3, 2 if halves else 1)
        branch = self.convolution(self.add("Relu", branch), filters, filters, 3, 1)
        if halves:
            x = self.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
            pooled, convolved = side // 2, (side - 3) // 2 + 1
            x = self.padded(x, filters - channels, 0)
            branch, side = self.padded(branch, 0, pooled - convolved), pooled
        return self.add("Relu", self.add("Add", branch, x)), side

    def padded(self, x, channels, pixels):
        if channels == 0 and pixels == 0:
            return x
        return self.add("Pad", x, self.constant(np.array([0, 0, 0, 0, 0, channels, pixels, pixels], np.int64)))

    def write(self):
        self.file.find("input_rgb_image_sized")
        means = np.array([self.file.number() for _ in range(3)], np.float32).reshape(3, 1, 1)
        x = self.add("Div", self.add("Sub", "faces", self.constant(means)), self.constant(np.float32(256)))
        x = self.add("Relu", self.convolution(x, 3, STEM, 7, 2))
        x = self.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
        channels, side = STEM, ((SIDE - 7) // 2 + 1 - 3) // 2 + 1
        for filters, halves in BLOCKS:
            x, side = self.block(x, channels, filters, side, halves)
            channels = filters
        x = self.add("Flatten", self.add("GlobalAveragePool", x))
        self.file.find("fc_2")
        outputs, inputs = self.file.integer(), self.file.integer()
        weights = self.file.tensor(inputs * outputs).reshape(inputs, outputs)
        self.nodes.append(helper.make_node("MatMul", [x, self.constant(weights)], ["descriptors"]))
        return self.finished(outputs)

    def finished(self, outputs):
        faces = helper.make_tensor_value_info("faces", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])
        descriptors = helper.make_tensor_value_info("descriptors", TensorProto.FLOAT, ["batch", outputs])
        graph = helper.make_graph(self.nodes, "dlib", [faces], [descriptors], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


def convert(data):
    return Writer(data).write()
