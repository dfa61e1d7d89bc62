"""Writes recurrent.json: LSTM, GRU and RNN as ONNX Runtime computes them.

Run: python src/import/testdata/make_recurrent_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from node_cases import Constant, case, floats, write

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

write("recurrent")
