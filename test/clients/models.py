"""Small models that the clients of others are given, where their own are not in their repositories."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from onnx.reference import ReferenceEvaluator

FLOAT = TensorProto.FLOAT


def write_model(path, nodes, inputs, outputs, weights=(), opset=17):
    """inputs and outputs: (name, type, shape); weights: (name, array)."""
    graph = helper.make_graph(nodes, path.stem, [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs],
                              [numpy_helper.from_array(array, name) for name, array in weights])
    save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), path)


def convolution(path, batch=1):
    """x, batch x 3 x 16 x 16, through two convolutions and a product to y, batch x 5."""
    random = np.random.default_rng(1)
    weights = [("w1", (8, 3, 3, 3)), ("b1", (8,)), ("w2", (8, 8, 3, 3)), ("b2", (8,)), ("w3", (8, 5)), ("b3", (5,))]
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c"], "conv1", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], "relu1"),
             helper.make_node("Conv", ["r", "w2", "b2"], ["d"], "conv2", pads=[1, 1, 1, 1]),
             helper.make_node("GlobalAveragePool", ["d"], ["p"], "pool"),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], "gemm")]
    write_model(path, nodes, [("x", FLOAT, [batch, 3, 16, 16])], [("y", FLOAT, [batch, 5])],
                [(name, random.normal(size=shape).astype(np.float32)) for name, shape in weights])


def quantized(path):
    """A convolution between Quantize and Dequantize layers."""
    weights = np.random.default_rng(2).integers(-127, 127, (8, 3, 3, 3), np.int8)
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], "quantize"),
             helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], "dequantize"),
             helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["v"], "dequantize_weights"),
             helper.make_node("Conv", ["d", "v"], ["y"], "conv1")]
    write_model(path, nodes, [("x", FLOAT, [1, 3, 16, 16])], [("y", FLOAT, [1, 8, 14, 14])],
                [("w", weights), ("scale", np.float32(0.02)), ("zero", np.int8(0))])


def attention(path):
    """One attention of ONNX, which the parser makes TensorRT's IAttention of."""
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], "attention")
    write_model(path, [node], [(name, FLOAT, [1, 2, 8, 16]) for name in "qkv"], [("y", FLOAT, [1, 2, 8, 16])], opset=23)


def instance_norm(path):
    node = helper.make_node("InstanceNormalization", ["x", "scale", "bias"], ["y"], "norm")
    write_model(path, [node], [("x", FLOAT, [1, 4, 8, 8])], [("y", FLOAT, [1, 4, 8, 8])],
                [("scale", np.ones(4, np.float32)), ("bias", np.zeros(4, np.float32))])


# Digits of five columns and seven rows, a row in a hexadecimal number of five bits.
DIGITS = ("0e 11 13 15 19 11 0e", "04 0c 04 04 04 04 0e", "0e 11 01 02 04 08 1f", "1f 02 04 02 01 11 0e", "02 06 0a 12 1f 02 02",
          "1f 10 1e 01 01 11 0e", "06 08 10 1e 11 11 0e", "1f 01 02 04 08 08 08", "0e 11 11 0e 11 11 0e", "0e 11 11 0f 01 02 0c")


def digit(number):
    """A picture of 28 x 28 bytes, dark on white, of a digit whose borders are grey."""
    rows = [int(row, 16) for row in DIGITS[number].split()]
    dots = np.array([[row >> (4 - column) & 1 for column in range(5)] for row in rows], np.float32)
    picture = np.pad(np.kron(dots, np.ones((3, 3), np.float32)), ((3, 4), (6, 7)))
    padded = np.pad(picture, 1)
    blurred = sum(padded[i:i + 28, j:j + 28] for i in range(3) for j in range(3)) / 9
    return np.rint(255 - 255 * blurred).astype(np.uint8)


def write_digits(folder):
    for number in range(10):
        (folder / f"{number}.pgm").write_bytes(b"P5\n28 28\n255\n" + digit(number).tobytes())


def _fitted(features):
    """The product that makes 20 at its own place, and 0 elsewhere, of each row of features: (weights, bias)."""
    rows = np.c_[features, np.ones(len(features))].astype(np.float64)
    solution = np.linalg.lstsq(rows, 20 * np.eye(len(rows)), rcond=None)[0]
    return solution[:-1].astype(np.float32), solution[-1].astype(np.float32)


def _features(path, nodes, inputs, weights, pictures):
    """What the nodes make of pictures, by ONNX's own reference."""
    write_model(path, nodes, [(inputs, FLOAT, [1, 1, 28, 28])], [("features", FLOAT, None)], weights)
    reference = ReferenceEvaluator(str(path))
    return np.concatenate([reference.run(None, {inputs: picture[None, None]})[0] for picture in pictures])


def _digits_network(names, channels, extra=0):
    """Two convolutions with pooling; `extra` is how many channels each finds beside those of the layer before."""
    random = np.random.default_rng(3)
    first, second = channels
    weights = [("w1", random.normal(size=(first, 1 + extra, 5, 5)) / 5),
               ("w2", random.normal(size=(second, first + extra, 5, 5)) / 15)]
    nodes = [helper.make_node("Conv", [names[0], "w1"], ["c1"], "convolution1", pads=[2, 2, 2, 2]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("MaxPool", ["r1"], ["p1"], "pooling1", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", [names[1], "w2"], ["c2"], "convolution2", pads=[2, 2, 2, 2]),
             helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
             helper.make_node("MaxPool", ["r2"], ["p2"], "pooling2", kernel_shape=[3, 3], strides=[3, 3]),
             helper.make_node("Flatten", ["p2"], ["features"], "flatten")]
    return nodes, [(name, array.astype(np.float32)) for name, array in weights]


def mnist(path):
    """A network for the samples' digits, with their names of inputs and outputs, whose product is fitted to the pictures."""
    pictures = [1 - digit(number) / np.float32(255) for number in range(10)]
    nodes, weights = _digits_network(("Input3", "p1"), (8, 16))
    product, bias = _fitted(_features(path, nodes, "Input3", weights, pictures))
    nodes.append(helper.make_node("Gemm", ["features", "product", "bias"], ["Plus214_Output_0"], "product"))
    write_model(path, nodes, [("Input3", FLOAT, [1, 1, 28, 28])], [("Plus214_Output_0", FLOAT, [1, 10])],
                [*weights, ("product", product), ("bias", bias)])


def _coordinates(source, target, size):
    """Nodes that append two channels: -1 to 1 down the rows, and along the columns."""
    values = np.linspace(-1, 1, size, dtype=np.float32)
    rows, columns = np.meshgrid(values, values, indexing="ij")
    array = numpy_helper.from_array(np.stack([rows, columns])[None], f"{target}_coordinates")
    return [helper.make_node("Constant", [], [array.name], value=array),
            helper.make_node("Concat", [source, array.name], [target], axis=1)]


def mnist_with_coordinates(path):
    """The same with the plugin CoordConvAC before each convolution; fitted to what its documentation says that it appends."""
    pictures = [(1 - digit(number) / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081) for number in range(10)]
    nodes, weights = _digits_network(("a1", "a2"), (8, 16), extra=2)
    by_hand = [*_coordinates("conv1", "a1", 28), *nodes[:3], *_coordinates("p1", "a2", 14), *nodes[3:]]
    product, bias = _fitted(_features(path, by_hand, "conv1", weights, pictures))
    plugins = [helper.make_node("CoordConvAC", ["conv1"], ["a1"], "coordinates1"),
               helper.make_node("CoordConvAC", ["p1"], ["a2"], "coordinates2")]
    last = helper.make_node("Gemm", ["features", "product", "bias"], ["fc2"], "product")
    nodes = [plugins[0], *nodes[:3], plugins[1], *nodes[3:], last]
    write_model(path, nodes, [("conv1", FLOAT, [1, 1, 28, 28])], [("fc2", FLOAT, [1, 10])],
                [*weights, ("product", product), ("bias", bias)])


def _lstm(inputs, state, weights):
    """A step of one layer, of gates in the order input, cell, forget, output; the state is (hidden, cell)."""
    gates = np.concatenate([inputs, state[0]]) @ weights
    entry, candidate, forget, exit_ = np.split(gates, 4)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    cell = sigmoid(forget) * state[1] + sigmoid(entry) * np.tanh(candidate)
    return sigmoid(exit_) * np.tanh(cell), cell


def char_rnn(path, characters, sentences, size=512):
    """Weights for sampleCharRNN: two random LSTM layers, and a product that is fitted to what the sample expects.

    characters: from a character to its number; sentences: (what is read, what is to follow).
    """
    random = np.random.default_rng(4)
    embedding = random.normal(size=(len(characters), size)).astype(np.float32)
    layers = [(random.normal(size=(2 * size, 4 * size)) * 0.9 / np.sqrt(size)).astype(np.float32) for _ in range(2)]
    states, followers = [], []
    for read, follows in sentences:
        state = [(np.zeros(size), np.zeros(size))] * 2
        for position, character in enumerate((read + follows)[:-1]):
            value = embedding[characters[character]]
            for layer, weights in enumerate(layers):
                state[layer] = _lstm(value, state[layer], weights.astype(np.float64))
                value = state[layer][0]
            if position >= len(read) - 1:
                states.append(value)
                followers.append(characters[(read + follows)[position + 1]])
    product = np.linalg.lstsq(np.array(states), 10 * np.eye(len(characters))[followers], rcond=1e-6)[0].astype(np.float32)
    found = np.argmax(np.array(states) @ product, axis=1)
    assert (found == followers).all(), "the product is not fitted to the sentences"
    buffers = {"embedding": embedding, "softmax_softmax_w": product, "softmax_softmax_b": np.zeros(len(characters), np.float32)}
    for layer, weights in enumerate(layers):
        name = f"rnn_multi_rnn_cell_cell_{layer}_basic_lstm_cell"
        buffers |= {f"{name}_kernel": weights, f"{name}_bias": np.zeros(4 * size, np.float32)}
    with path.open("wb") as file:
        file.write(f"{len(buffers)}\n".encode())
        for name, array in buffers.items():
            shape = ", ".join(map(str, array.shape))
            file.write(f"{name} 0 ({shape}) ".encode() + array.astype("<f4").tobytes() + b"\n")


def classifier(folder):
    """Writes what sampleINT8API wants: a network, a picture, ranges of tensors, names of classes. Gives the picture's class."""
    random = np.random.default_rng(5)
    weights = [("w1", random.normal(size=(8, 3, 7, 7)) / 12), ("w2", random.normal(size=(16, 8, 3, 3)) / 8),
               ("w3", random.normal(size=(16, 1000)))]
    nodes = [helper.make_node("Conv", ["gpu_0/data_0", "w1"], ["c1"], "convolution1", strides=[4, 4]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "convolution2", strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["c2"], ["p"], "pooling"),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"),
             helper.make_node("MatMul", ["f", "w3"], ["m"], "product"),
             helper.make_node("Softmax", ["m"], ["gpu_0/softmax_1"], "softmax")]
    write_model(folder / "resnet50.onnx", nodes, [("gpu_0/data_0", FLOAT, [1, 3, 224, 224])],
                [("gpu_0/softmax_1", FLOAT, [1, 1000])], [(name, array.astype(np.float32)) for name, array in weights])
    picture = np.kron(random.integers(0, 256, (14, 14, 3)), np.ones((16, 16, 1))).astype(np.uint8)
    (folder / "airliner.ppm").write_bytes(b"P6\n224 224\n255\n" + picture.tobytes())
    (folder / "reference_labels.txt").write_text("".join(f"class {number}\n" for number in range(1000)))
    ranges = {"gpu_0/data_0": 1, "c1": 4, "r1": 4, "c2": 8, "p": 4, "f": 4, "m": 20, "gpu_0/softmax_1": 1}
    (folder / "resnet50_per_tensor_dynamic_range.txt").write_text("".join(f"{name}: {value}\n" for name, value in ranges.items()))
    values = (2 / 255 * picture.transpose(2, 0, 1) - 1)[None].astype(np.float32)
    probabilities = ReferenceEvaluator(str(folder / "resnet50.onnx")).run(None, {"gpu_0/data_0": values})[0][0]
    return f"class {int(np.argmax(probabilities))}"
