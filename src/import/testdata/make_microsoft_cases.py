"""Writes microsoft.json: float operators of com.microsoft as ONNX Runtime computes them.

Run: python src/import/testdata/make_microsoft_cases.py   (needs numpy, onnx, onnxruntime)
"""
from node_cases import case, floats, write

case("Gelu", "erf", [floats(2, 5)])
case("FastGelu", "without bias", [floats(2, 5)])
case("FastGelu", "with bias", [floats(2, 5), floats(5)])
case("BiasGelu", "", [floats(2, 3, 5), floats(5)])
case("QuickGelu", "default alpha", [floats(2, 5)])
case("QuickGelu", "alpha", [floats(2, 5)], alpha=0.5)

write("microsoft")
