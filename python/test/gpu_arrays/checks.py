"""What the checks share: their list, arrays of other libraries, and small engines."""
import contextlib

import torch

import tenon
import tenon.tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
CHECKS = []


def check(function):
    """A function that raises when something is wrong, and returns what to print or nothing."""
    CHECKS.append(function)
    return function


class WithInterface:
    """A tensor of a GPU that shows CUDA's array interface alone."""

    def __init__(self, tensor, **entries):
        self.tensor, self.entries = tensor, entries

    @property
    def __cuda_array_interface__(self):
        stream = torch.cuda.current_stream().cuda_stream or 1
        return {**self.tensor.__cuda_array_interface__, "version": 3, "stream": stream, **self.entries}


class WithDlpack:
    """A tensor of a GPU that shows DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)


def network_of(add, **inputs):
    """A network: `add` adds layers behind inputs {name: (type, shape, min, opt, max)} and gives the outputs."""
    network = trt.Builder(LOGGER).create_network(0)
    tensors = [network.add_input(name, dtype, shape) for name, (dtype, shape, *_) in inputs.items()]
    for i, output in enumerate(add(network, *tensors)):
        output.name = f"y{i}"
        network.mark_output(output)
    return network


def engine_of(add, target="cuda", **inputs):
    """The engine of such a network."""
    shapes = {name: tuple(profile) for name, (_, _, *profile) in inputs.items() if profile}
    return tenon.compile(network_of(add, **inputs), shapes=shapes, target=target)


def add(network, a, b):
    return network.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0)


def doubler(dtype=trt.float32, columns=3, most=4096, target="cuda"):
    return engine_of(lambda n, x: [add(n, x, x)], target, x=(dtype, (-1, columns), (0, columns), (4, columns),
                                                             (most, columns)))


def same(found, expected):
    """Whether a result is a tensor of the GPU with these elements."""
    assert isinstance(found, torch.Tensor) and found.is_cuda, found
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@contextlib.contextmanager
def refused(error, text):
    try:
        yield
    except error as found:
        assert text in str(found), f"said {found}"
    else:
        raise AssertionError(f"was not refused: {text}")
