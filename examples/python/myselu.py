"""An operator with attributes of every kind, exported by its own `symbolic`.

    python myselu.py

The node MYSELU has a text, integers, a number, or all of them as one text of JSON; Tenon has a
plugin of that name. It computes x * sigmoid(x), and what else it gets changes nothing. Needs
PyTorch.
"""
import json

import numpy as np
import torch

import tenon

ATTRIBUTES = {"attr1": "这是字符串", "attr2": [1, 2, 3], "attr3": 222.0}


class Selu(torch.autograd.Function):
    """x * sigmoid(x)."""

    @staticmethod
    def forward(ctx, x, p):
        return x * torch.sigmoid(x)

    @staticmethod
    def symbolic(g, x, p):
        constant = g.op("Constant", value_t=torch.tensor([3, 2, 1], dtype=torch.float32))
        return g.op("MYSELU", x, p, constant, attr1_s=ATTRIBUTES["attr1"],
                    attr2_i=ATTRIBUTES["attr2"], attr3_f=ATTRIBUTES["attr3"])


class JsonSelu(Selu):
    """The same, with its attributes as one text."""

    @staticmethod
    def symbolic(g, x, p):
        return g.op("MYSELU", x, p, info_s=json.dumps(ATTRIBUTES, ensure_ascii=False))


class Model(torch.nn.Module):
    def __init__(self, function, count=5):
        super().__init__()
        self.function = function
        self.parameter = torch.nn.Parameter(torch.arange(count, dtype=torch.float32))

    def forward(self, x):
        return self.function.apply(x, self.parameter)


def main():
    torch.manual_seed(0)
    for function in (Selu, JsonSelu):
        engine = tenon.compile(Model(function), inputs=torch.rand(1, 3, 8, 8),
                               shapes={"x": ((1, 3, 1, 1), (1, 3, 8, 8), (4, 3, 16, 16))})
        for shape in ((1, 3, 8, 8), (3, 3, 16, 5)):
            x = torch.randn(shape)
            assert np.allclose(engine(x), torch.nn.functional.silu(x), rtol=1e-4, atol=1e-5)
        print(f"{function.__name__}: as torch.nn.SiLU")


if __name__ == "__main__":
    main()
