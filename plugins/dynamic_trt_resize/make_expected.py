"""Writes expected.h: what PyTorch's bicubic interpolation gives for the cases of the test.

Usage: python make_expected.py > expected.h
"""

import torch


def number(value):
    return f"{value:.9g}"


def print_case(name, batch, channels, size_in, size_out, align_corners, seed):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, channels, *size_in)
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    y = torch.nn.functional.interpolate(x, size=size_out, mode="bicubic", align_corners=align_corners)
    dims_in = ", ".join(map(str, x.shape))
    dims_out = ", ".join(map(str, y.shape))
    print(f'    {{"{name}", {int(align_corners)}, {{{dims_in}}}, {{{dims_out}}},')
    print("     {" + ", ".join(map(number, x.flatten().tolist())) + "},")
    print("     {" + ", ".join(map(number, y.flatten().tolist())) + "}},")


print(f"// Made by make_expected.py with PyTorch {torch.__version__.split('+')[0]}.")
print("// clang-format off")
print("const std::vector<Case> kCases = {")
number_of_case = 0
for corners in (True, False):
    for case_name, *sizes in [
        ("larger", 1, 2, (4, 5), (7, 9)),
        ("smaller", 2, 1, (9, 7), (4, 3)),
        ("same", 1, 1, (3, 4), (3, 4)),
        ("one pixel in", 1, 1, (1, 1), (3, 2)),
        ("one pixel out", 1, 1, (4, 6), (1, 1)),
        ("tall and flat", 1, 1, (2, 8), (11, 3)),
    ]:
        number_of_case += 1
        print_case(case_name, *sizes, corners, number_of_case)
print("};")
print("// clang-format on")
