"""Writes cases.json: residual sums of BERT, normalised by the definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from normalized_rows import normalized  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def skip_norm(name, length, batch, size, has_bias):
    x, skip = sixteenths(length, batch, size), sixteenths(length, batch, size)
    gamma, beta, bias = sixteenths(size), sixteenths(size), sixteenths(size)
    y = normalized(x + skip + (bias if has_bias else 0), gamma, beta)
    attributes = {"type_id": 0, "ld": size, "beta": beta, "gamma": gamma, **({"bias": bias} if has_bias else {})}

    def tensors(*shape):
        return {"input": x.reshape(shape), "skip": skip.reshape(shape)}, {"output": y.reshape(shape)}

    for version in ("1", "2", "5", "6"):
        if version in ("1", "5"):
            case("CustomSkipLayerNormPluginDynamic", name, attributes, *tensors(length, batch, size, 1, 1),
                 version=version, tolerance=(2e-5, 4e-3))
        else:
            case("CustomSkipLayerNormPluginDynamic", name, {k: v for k, v in attributes.items() if k != "ld"},
                 *tensors(length * batch, size, 1, 1), version=version, tolerance=(2e-5, 4e-3))
    y = normalized(x + skip, gamma, beta)
    across = {key: value.reshape(-1, size).T.reshape(1, size, length * batch, 1)
              for key, value in (("input", x), ("skip", skip), ("output", y), ("sum", x + skip))}
    for version in ("3", "4", "7", "8"):
        outputs = {"output": across["output"], **({"sum": across["sum"]} if version in ("4", "8") else {})}
        case("CustomSkipLayerNormPluginDynamic", name, {"beta": beta, "gamma": gamma},
             {"input": across["input"], "skip": across["skip"]}, outputs, version=version, tolerance=(2e-5, 4e-3))


skip_norm("two sequences", 5, 2, 12, False)
skip_norm("a bias", 3, 1, 40, True)
skip_norm("no tokens", 0, 2, 4, False)
write(__file__)
