"""Writes cases.json: torchvision's sigmoid_focal_loss of one-hot targets, which is mmcv.ops.sigmoid_focal_loss without its
weights. Needs NumPy, PyTorch and torchvision."""
import pathlib
import sys

import numpy
import torch
import torchvision

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def loss(name, rows, classes, reduction, weight=(), gamma=2.0, alpha=0.25, largest=64):
    x = random.randint(-largest, largest + 1, (rows, classes)).astype("float32") / 16
    target = random.randint(0, classes + 1, rows)  # the last one is the background
    one_hot = torch.nn.functional.one_hot(torch.tensor(target), classes + 1)[:, :classes].double()
    y = torchvision.ops.sigmoid_focal_loss(torch.tensor(x).double(), one_hot, alpha, gamma)
    y = y * torch.tensor([*(weight or [1.0] * classes), 1.0])[target][:, None]
    if reduction != "none":
        y = y.sum() / (rows if reduction == "mean" else 1)
    case("MMCVSigmoidFocalLoss", name,
         {"gamma": gamma, "alpha": alpha, "reduction": reduction, **({"weight": list(weight)} if weight else {})},
         {"input": x, "target": target.astype("int64")}, {"output": y.numpy().astype("float32")})


def far_out():
    """Logits that sigmoid makes 0 and 1 of: no loss where that is right, and none that ends where it is wrong."""
    infinite = numpy.float32(numpy.inf)
    case("MMCVSigmoidFocalLoss", "infinite logits", {"gamma": 2.0, "alpha": 0.25, "reduction": "none"},
         {"input": numpy.array([[infinite, -infinite], [infinite, -infinite]]), "target": numpy.array([0, 1])},
         {"output": numpy.array([[0, 0], [infinite, infinite]], "float32")})
    case("MMCVSigmoidFocalLoss", "infinite logits without focus", {"gamma": 0.0, "alpha": 0.5, "reduction": "none"},
         {"input": numpy.array([[infinite, -infinite]]), "target": numpy.array([0])}, {"output": numpy.zeros((1, 2), "float32")})


loss("of each", 7, 5, "none")
loss("weighted", 9, 3, "none", [0.5, 2.0, 1.25], 1.5, 0.75)
loss("mean", 40, 8, "mean")
loss("sum", 6, 4, "sum", [1.0, 0.25, 0.5, 3.0])
loss("far from 0", 5, 3, "none", largest=1000)
far_out()
loss("no rows", 0, 3, "none")
write(__file__)
