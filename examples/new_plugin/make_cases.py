"""Writes cases.json: what NumPy gives. Run it with PYTHONPATH=<tenon>/share/tenon."""
import numpy
from cases import case, write

random = numpy.random.default_rng(1)

for shape in [(2, 3, 5), (1,), (0, 4)]:
    for factor in (0.5, -3.0):
        x = random.integers(-32, 33, shape).astype(numpy.float32) / 16  # fp16 holds these, too
        case("MyPlugin", f"{shape}, factor {factor}", {"factor": factor}, {"x": x},
             {"y": (x * numpy.float32(factor)).astype(numpy.float32)})
write(__file__)
