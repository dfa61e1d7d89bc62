"""Writes lenet_values.h: what PyTorch makes of the LeNet that implicit_batch_test.cc builds. Needs torch.

    python3 test/programs8x/make_lenet_values.py
"""
import pathlib

import torch
from torch.nn import functional

ITEMS = 5


def ramp(count, step, *shape):
    """The same numbers as ramp() of the test: (i*i*7 + i*13) % 31 - 15, times a power of two."""
    i = torch.arange(count, dtype=torch.int64)
    return (((i * i * 7 + i * 13) % 31 - 15).double() * step).reshape(shape)


def lenet(x):
    x = x * 0.0625 - 0.5
    x = functional.conv2d(x, ramp(20 * 25, 2**-6, 20, 1, 5, 5), ramp(20, 2**-6, 20))
    x = functional.max_pool2d(x, 2)
    x = functional.conv2d(x, ramp(50 * 20 * 25, 2**-8, 50, 20, 5, 5), ramp(50, 2**-6, 50))
    x = functional.max_pool2d(x, 2).flatten(1)
    x = functional.relu(functional.linear(x, ramp(500 * 800, 2**-9, 500, 800), ramp(500, 2**-6, 500)))
    x = functional.linear(x, ramp(10 * 500, 2**-9, 10, 500), ramp(10, 2**-6, 10))
    return functional.softmax(x, 1)


result = lenet(ramp(ITEMS * 28 * 28, 1, ITEMS, 1, 28, 28))
rows = [", ".join(f"{v:.7g}f" for v in row) for row in result.tolist()]
text = "// Written by make_lenet_values.py: ten probabilities of each item.\n#pragma once\n\n// clang-format off\n"
text += f"constexpr float kLenet[{ITEMS}][10] = {{\n" + "".join(f"    {{{r}}},\n" for r in rows) + "};\n"
text += "// clang-format on\n"
(pathlib.Path(__file__).parent / "lenet_values.h").write_text(text)
