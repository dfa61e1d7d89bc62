"""Writes recurrent.json: LSTM, GRU, RNN and DynamicQuantizeLSTM as ONNX Runtime computes them.

Run: python src/import/testdata/make_recurrent_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np
import onnxruntime

from node_cases import Constant, case, floats, integers, model_of, write

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
S, N, I, H = 4, 3, 5, 6


def add(op, name, directions=1, bias=True, lengths=None, first=False, peepholes=False, fed=False,
        outputs=None, dtype=np.float32, **attributes):
    g = GATES[op]
    def weight(*shape):
        values = floats(*shape, low=-0.75, high=0.75, dtype=dtype)
        return values if fed else Constant(values)
    inputs = [floats(S, N, I, dtype=dtype), weight(directions, g * H, I), weight(directions, g * H, H),
              weight(directions, 2 * g * H) if bias else None,
              None if lengths is None else np.array(lengths, np.int32),
              floats(directions, N, H, dtype=dtype) if first else None]
    if op == "LSTM":
        inputs.append(floats(directions, N, H) if first else None)
        inputs.append(weight(directions, 3 * H) if peepholes else None)
    while inputs[-1] is None:
        inputs.pop()
    case(op, name, inputs, outputs or (3 if op == "LSTM" else 2), domain="", opset=14, hidden_size=H,
         **attributes)


for op in GATES:
    add(op, "forward")
    add(op, "reverse", direction="reverse", first=True)
    add(op, "bidirectional", directions=2, direction="bidirectional", first=True)
    add(op, "no bias", bias=False)
    add(op, "lengths", lengths=[4, 2, 0], first=True)
    add(op, "lengths, bidirectional", directions=2, direction="bidirectional", lengths=[1, 4, 3])
    add(op, "clip", clip=0.3, first=True)
    add(op, "weights are inputs", fed=True)
    add(op, "only the last state", outputs=[False, True])
    add(op, "only the sequence", outputs=1)
add("LSTM", "peepholes", peepholes=True, first=True)
add("LSTM", "peepholes, bidirectional", directions=2, direction="bidirectional", peepholes=True)
add("LSTM", "input_forget", input_forget=1, first=True)
add("LSTM", "activations", activations=["HardSigmoid", "Softsign", "Relu"], activation_alpha=[0.3],
    activation_beta=[0.4])
add("LSTM", "activations, bidirectional", directions=2, direction="bidirectional",
    activations=["Sigmoid", "LeakyRelu", "Tanh", "Sigmoid", "ScaledTanh", "ThresholdedRelu"],
    activation_alpha=[0.125, 1.5, 0.25], activation_beta=[0.75])
add("GRU", "linear_before_reset", linear_before_reset=1, first=True)
add("GRU", "linear_before_reset, bidirectional", directions=2, direction="bidirectional",
    linear_before_reset=1, lengths=[3, 4, 2])
add("GRU", "activations", activations=["Affine", "Softplus"], activation_alpha=[0.25],
    activation_beta=[0.5])
add("RNN", "relu", activations=["Relu"])
add("RNN", "elu", activations=["Elu"], activation_alpha=[0.5])

def dynamic(name, steps, directions, dtype, by_column, **attributes):
    """Weights of 8 bits. ONNX Runtime also rounds X and H to 8 bits before each product: X is exact
    in them here, and so is the first H. The results of several steps are the plain LSTM's of the same
    weights, which ONNX Runtime's are no further from than that rounding."""
    units, features, batch = 3, 4, 2
    low, high = (0, 255) if dtype == np.uint8 else (-100, 100)
    gates = (directions, 4 * units) if by_column else (directions,)
    x = floats(steps, batch, features, low=-1, high=0.9)
    x[0, 0, :2] = -1, 255 / 128 - 1
    weights, scales, zeros = [], [], []
    for depth in (features, units):
        weights.append(integers(directions, depth, 4 * units, low=low, high=high, dtype=dtype))
        scales.append((integers(*gates, low=1, high=3) / 128).astype(np.float32))
        zeros.append(integers(*gates, low=100, high=140).astype(dtype) if dtype == np.uint8
                     else np.zeros(gates, dtype))
    bias = floats(directions, 8 * units, low=-1, high=1)
    def spread(v):
        return v[:, None, :] if by_column else v[:, None, None]
    plain = [np.ascontiguousarray(((w.astype(np.float32) - spread(z).astype(np.float32)) * spread(s))
                                  .transpose(0, 2, 1))
             for w, s, z in zip(weights, scales, zeros)]
    names = ["y0", "y1", "y2"]
    model, fed = model_of("LSTM", [x, *plain, bias], names, "", 21,
                          {"hidden_size": units, **attributes})
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, fed)
    inputs = [x, *map(Constant, weights), Constant(bias), None, None, None, None,
              *(Constant(c) for pair in zip(scales, zeros) for c in pair)]
    model, fed = model_of("DynamicQuantizeLSTM", inputs, names, "com.microsoft", 21,
                          {"hidden_size": units, **attributes})
    rounded = onnxruntime.InferenceSession(model.SerializeToString()).run(None, fed)
    for a, b in zip(expected, rounded):
        np.testing.assert_allclose(a, b, atol=1e-6 if steps == 1 else 1e-2)
    case("DynamicQuantizeLSTM", name, inputs, 3, domain="com.microsoft", expected=expected,
         hidden_size=units, **attributes)


dynamic("one step", 1, 1, np.uint8, False)
dynamic("one step, by column", 1, 1, np.int8, True)
dynamic("steps", 5, 1, np.uint8, False)
dynamic("bidirectional", 4, 2, np.int8, True, direction="bidirectional")

write("recurrent")
