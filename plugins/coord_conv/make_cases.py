"""Writes cases.json: NumPy's linspace behind the channels of the input."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = numpy.random.default_rng(0)

for name, shape in {"images": (2, 3, 4, 5), "square": (1, 1, 9, 9), "no channels": (2, 0, 3, 2), "no batch": (0, 2, 3, 3),
                    "row": (1, 2, 1, 6), "column": (1, 1, 7, 1)}.items():
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = generator.integers(-32, 33, shape).astype(numpy.float32) / 16
    batch, _, height, width = shape
    rows, columns = numpy.meshgrid(numpy.linspace(-1, 1, height), numpy.linspace(-1, 1, width), indexing="ij")
    coordinates = numpy.broadcast_to(numpy.stack([rows, columns]), (batch, 2, height, width))
    case("CoordConvAC", name, {}, {"x": x}, {"y": numpy.concatenate([x, coordinates], 1).astype(numpy.float32)})
write(__file__)
