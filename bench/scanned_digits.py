"""scikit-learn's 1,797 scanned digits, and a small mobilenet that is trained on them in a minute."""
import numpy as np


def pictures():
    """(pictures of 1x8x8 from 0 to 1, digits), shuffled; the last 800 are for nothing but tests."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(7).permutation(len(data.target))
    return (data.images[order, None] / 16).astype(np.float32), data.target[order]


def trained(path, pictures_and_digits, count, seed=3):
    """Trains on the first `count` pictures and writes an ONNX model, x to y, with its batch norms as nodes."""
    import torch

    torch.manual_seed(seed)
    layers, channels = [torch.nn.Conv2d(1, 32, 3, padding=1, bias=False), torch.nn.BatchNorm2d(32), torch.nn.ReLU()], 32
    for out in (32, 64, 64):
        layers += [torch.nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False), torch.nn.BatchNorm2d(channels),
                   torch.nn.ReLU(), torch.nn.Conv2d(channels, out, 1, bias=False), torch.nn.BatchNorm2d(out), torch.nn.ReLU()]
        channels = out
    model = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10))
    x, y = (torch.from_numpy(np.ascontiguousarray(part[:count])) for part in pictures_and_digits)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(25):
        for batch in torch.randperm(count).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    torch.onnx.export(model.eval(), (x[:1],), str(path), input_names=["x"], output_names=["y"], opset_version=17, dynamo=False,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def with_channels_apart(source, path, decades=1.5, seed=5):
    """The same function, with channels behind each convolution but the last multiplied by 10^-decades to 10^decades.

    Batch norms make them and the next convolution reads them, so that ReLU between them changes nothing.
    """
    import onnx
    from onnx import numpy_helper

    random, model = np.random.default_rng(seed), onnx.load(source)
    constants = {t.name: t for t in model.graph.initializer}

    def scale(name, factors, axis):
        values = numpy_helper.to_array(constants[name])
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        constants[name].CopyFrom(numpy_helper.from_array((values * factors.reshape(shape)).astype(np.float32), name))

    convolutions = [n for n in model.graph.node if n.op_type == "Conv"]
    norms = [n for n in model.graph.node if n.op_type == "BatchNormalization"]
    for norm, following in zip(norms, convolutions[1:]):
        count = constants[norm.input[1]].dims[0]
        factors = 10 ** random.uniform(-decades, decades, count)
        scale(norm.input[1], factors, 0)
        scale(norm.input[2], factors, 0)
        is_depthwise = constants[following.input[1]].dims[1] == 1
        scale(following.input[1], 1 / factors, 0 if is_depthwise else 1)
    onnx.save(model, path)
