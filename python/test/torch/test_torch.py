"""PyTorch's modules and tensors with tenon.compile and engines."""
import numpy as np
import pytest
import torch

import tenon


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, picture, gain):
        return torch.relu(self.norm(self.first(picture))) * gain, picture.mean((2, 3))


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    small = Small()
    small(torch.rand(4, 3, 8, 8), torch.rand(1))  # statistics that are not the start's
    return small


@pytest.fixture(scope="module")
def engine(module):
    return tenon.compile(
        module, inputs=(torch.rand(1, 3, 8, 8), torch.rand(1)),
        shapes={"picture": ((1, 3, 4, 4), (1, 3, 8, 8), (2, 3, 16, 16))})


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_module_is_built(module, engine):
    assert module.training  # as before
    assert [t.name for t in engine.inputs] == ["picture", "gain"]
    assert [t.name for t in engine.outputs] == ["output_0", "output_1"]
    module.eval()
    for shape in ((1, 3, 8, 8), (2, 3, 16, 5)):
        picture, gain = torch.rand(shape), torch.rand(1)
        with torch.no_grad():
            expected = module(picture, gain)
        for found, tensor in zip(engine(picture, gain), expected):
            assert isinstance(found, torch.Tensor)
            same(found, tensor)
    module.train()


def test_examples_by_name_and_results_by_name(module):
    class Named(torch.nn.Module):
        def forward(self, a, b):
            return {"sum": a + b, "product": a * b}
    engine = tenon.compile(Named(), inputs={"a": torch.rand(3), "b": torch.rand(3)})
    found = engine({"a": torch.ones(3), "b": torch.ones(3)})
    assert sorted(found) == ["product", "sum"]
    same(found["sum"], torch.full((3,), 2.0))


def test_what_comes_in_comes_out(module, engine):
    picture, gain = torch.rand(1, 3, 8, 8), torch.rand(1)
    as_tensors = engine(picture, gain)
    as_arrays = engine(picture.numpy(), gain.numpy())
    assert isinstance(as_arrays[0], np.ndarray)
    np.testing.assert_array_equal(as_arrays[0], as_tensors[0].numpy())
    parameter = torch.nn.Parameter(picture)  # wants gradients
    same(engine(parameter, gain)[0], as_tensors[0])
    gaps = torch.rand(1, 8, 8, 3).permute(0, 3, 1, 2)
    same(engine(gaps, gain)[0], engine(gaps.contiguous(), gain)[0])
    out = [torch.empty_like(t) for t in as_tensors]
    found = engine(picture, gain, out=out)
    assert found[0] is out[0]
    same(out[0], as_tensors[0])


def test_tensors_are_not_copied():
    class Largest(torch.nn.Module):
        def forward(self, x):
            return x.max()
    engine = tenon.compile(Largest(), inputs=torch.zeros(1000))
    x = torch.zeros(1000)
    x.numpy()[7] = 3
    assert engine(x) == 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.int64])
def test_element_types(dtype):
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + x
    engine = tenon.compile(Twice(), inputs=torch.ones(3, dtype=dtype))
    found = engine(torch.tensor([1, 2, 3], dtype=dtype))
    assert found.dtype == dtype and found.tolist() == [2, 4, 6]


def test_booleans():
    class Compare(torch.nn.Module):
        def forward(self, x, flag):
            return (x > 1) & flag
    flags = torch.tensor([True, False, True])
    engine = tenon.compile(Compare(), inputs=(torch.ones(3), flags))
    assert engine(torch.tensor([0.0, 2, 3]), flags).tolist() == [False, False, True]


def test_scripts_and_traces_are_modules(module):
    examples = torch.rand(1, 3, 8, 8), torch.rand(1)
    module.eval()
    expected = [e.detach() for e in module(*examples)]
    for compiled in (torch.jit.trace(module, examples), torch.jit.script(module)):
        engine = tenon.compile(compiled, inputs=examples)
        for found, tensor in zip(engine(*examples), expected):
            same(found, tensor)
    module.train()


def test_unused_parameters_are_no_inputs():
    class Careless(torch.nn.Module):
        def forward(self, x, mask):
            return x + x
    engine = tenon.compile(Careless(), inputs=(torch.ones(2), torch.ones(3)), shapes={"x": ((1,), (2,), (4,))})
    assert [t.name for t in engine.inputs] == ["x"]
    assert engine(torch.ones(4)).tolist() == [2] * 4


def test_what_the_exporter_raises_comes_out():
    class Unequal(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.adaptive_avg_pool2d(x, 7)
    with pytest.raises(RuntimeError, match="adaptive_avg_pool2d"):
        tenon.compile(Unequal(), inputs=torch.rand(1, 3, 10, 10))


def test_mistakes(module):
    with pytest.raises(TypeError, match="expected a tensor, a tuple or a dictionary .* found int"):
        tenon.compile(module, inputs=3)
    with pytest.raises(TypeError, match="needs example inputs"):
        tenon.compile(module)
    with pytest.raises(TypeError, match="no parameter 'image'; it has"):
        tenon.compile(module, inputs={"image": torch.rand(1)})
    with pytest.raises(TypeError, match="3 tensors are given, but forward"):
        tenon.compile(module, inputs=(torch.rand(1),) * 3)
    with pytest.raises(TypeError, match="'gain' is no tensor but float"):
        tenon.compile(module, inputs=(torch.rand(1, 3, 8, 8), 1.0))


def test_tensors_that_do_not_fit(engine):
    picture, gain = torch.rand(1, 3, 8, 8), torch.rand(1)
    with pytest.raises(TypeError, match=r"'gain' expects an array of float32, found float64 of"):
        engine(picture, gain.double())
    with pytest.raises(TypeError, match="input 'gain': the tensor is on meta; the engine runs on the CPU"):
        engine(picture, torch.empty(1, device="meta"))
    for gain in torch.ones(1).to_sparse(), torch.nested.nested_tensor([torch.ones(1)]):
        with pytest.raises(TypeError, match="input 'gain': the tensor's elements do not lie in memory"):
            engine(picture, gain)
