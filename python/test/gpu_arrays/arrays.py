"""Where arrays come from and go to: libraries, memories, types, shapes, and what is refused."""
import tempfile

import numpy as np
import torch

import tenon
import tenon.mmcv
import tenon.mmdeploy
import tenon.pytrt
import tenon.tensorrt as trt
from checks import LOGGER, WithDlpack, WithInterface, check, doubler, engine_of, refused, same

TYPES = {torch.float32: trt.float32, torch.float16: trt.float16, torch.bfloat16: trt.bfloat16, torch.int8: trt.int8,
         torch.int32: trt.int32, torch.int64: trt.int64, torch.bool: trt.bool, torch.uint8: trt.uint8}


@check
def the_engine_is_on_the_gpu():
    assert doubler().gpu == torch.cuda.current_device()


@check
def arrays_of_numpy():
    engine = doubler()
    for rows in 4, 4096, 1, 0, 33:
        x = np.random.default_rng(rows).random((rows, 3), np.float32)
        y = engine(x)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, x + x)
    x = np.ones((3, 8), np.float32).T
    np.testing.assert_array_equal(engine(x), x + x)
    out = np.empty_like(x, order="C")
    assert engine(x, out=out) is out
    np.testing.assert_array_equal(out, x + x)


@check
def tensors_of_the_host():
    x = torch.randn(5, 3)
    for given in x, x.pin_memory(), x.t().contiguous().t():
        y = doubler()(given)
        assert y.device.type == "cpu"
        torch.testing.assert_close(y, x + x, rtol=0, atol=0)


@check
def tensors_of_the_gpu():
    engine = doubler()
    for rows in 4, 4096, 1, 0, 33:
        x = torch.randn(rows, 3, device="cuda")
        same(engine(x), x + x)
    x = torch.randn(3, 8, device="cuda").t()
    same(engine(x), x + x)
    x = torch.randn(34, 3, device="cuda", requires_grad=True)[1:]  # its address is aligned to 4 bytes alone
    same(engine(x), (x + x).detach())
    product = engine_of(lambda n, x: [n.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.TRANSPOSE)
                                      .get_output(0)], x=(trt.float32, (33, 3)))
    torch.testing.assert_close(product(x), (x @ x.t()).detach(), rtol=1e-5, atol=1e-5)
    x = x.detach()
    out = torch.empty(33, 3, device="cuda")
    assert engine(x, out=out) is out
    same(out, x + x)


@check
def all_types():
    for torch_type, dtype in TYPES.items():
        engine = engine_of(lambda n, x: [n.add_identity(x).get_output(0)],
                           x=(dtype, (2, -1), (2, 0), (2, 3), (2, 9)))
        x = torch.randint(0, 2, (2, 3), device="cuda").to(torch_type)
        same(engine(x), x)
        same(torch.from_dlpack(engine(WithDlpack(x))), x)
        assert torch.equal(engine(x.cpu()), x.cpu())
        if torch_type != torch.bfloat16:
            same(torch.as_tensor(engine(WithInterface(x)), device="cuda"), x)
        same(engine(x[:, :0]), x[:, :0])


@check
def memory_of_both():
    engine = engine_of(lambda n, a, b: [n.add_elementwise(a, b, trt.ElementWiseOperation.SUB).get_output(0)],
                       a=(trt.float32, (4, 3)), b=(trt.float32, (4, 3)))
    a, b = torch.randn(4, 3), torch.randn(4, 3)
    assert torch.equal(engine(a, b.cuda()), a - b)
    same(engine(a.cuda(), b), (a - b).cuda())
    same(engine(a.cuda(), b.pin_memory()), (a - b).cuda())
    same(engine(a.cuda(), b.numpy()), (a - b).cuda())
    assert isinstance(engine(a.numpy(), b.cuda()), np.ndarray)
    out = np.empty((4, 3), np.float32)
    engine(a.cuda(), b, out=out)
    np.testing.assert_array_equal(out, (a - b).numpy())
    same(engine(WithInterface(a.cuda()).tensor, WithInterface(b.cuda())), (a - b).cuda())
    for _ in range(100):  # memory of the host may change as soon as the call returns
        pinned = b.pin_memory()
        y = engine(a.cuda(), pinned)
        pinned.zero_()
        same(y, (a - b).cuda())


@check
def sizes_that_depend_on_data():
    engine = engine_of(lambda n, x: [n.add_non_zero(x).get_output(0), n.add_identity(x).get_output(0)],
                       x=(trt.float32, (-1,), (1,), (8,), (64,)))
    for size, count in (8, 3), (64, 64), (5, 0), (64, 1):
        x = torch.zeros(size)
        x[:count] = 1
        expected = x.nonzero().t()
        for given in x.cuda(), x:
            indices, copy = engine(given)
            assert indices.device == given.device
            assert torch.equal(indices.cpu().long(), expected) and torch.equal(copy.cpu(), x)
        indices, copy = engine(WithInterface(x.cuda()))
        assert torch.equal(torch.as_tensor(indices, device="cuda").cpu().long(), expected)


@check
def an_input_that_decides_shapes():
    network = trt.Builder(LOGGER).create_network(0)
    layer = network.add_shuffle(network.add_input("x", trt.float32, (4, 3)))
    layer.set_input(1, network.add_input("shape", trt.int32, (2,)))
    layer.get_output(0).name = "y0"
    network.mark_output(layer.get_output(0))
    engine = tenon.compile(network, shapes={"shape": ((1, 1), (4, 3), (12, 12))}, target="cuda")
    x = torch.randn(4, 3, device="cuda")
    for new in (2, 6), (12, 1):
        for shape in torch.tensor(new, dtype=torch.int32), torch.tensor(new, dtype=torch.int32, device="cuda"):
            same(engine(x, shape), x.reshape(new))


@check
def results_outlive_the_engine():
    x = torch.randn(4096, 3)
    on_host, on_gpu, other = (doubler()(given) for given in (x.numpy(), x.cuda(), WithInterface(x.cuda())))
    np.testing.assert_array_equal(on_host, (x + x).numpy())
    same(on_gpu, (x + x).cuda())
    same(torch.as_tensor(other, device="cuda"), (x + x).cuda())


@check
def what_is_refused():
    engine = doubler()
    x = torch.randn(4, 3, device="cuda")
    with refused(TypeError, "input 'x' expects an array of float32, found float64 of shape (4, 3)"):
        engine(x.double())
    with refused(ValueError, "input 'x' expects shape from (0, 3) to (4096, 3)"):
        engine(x.t().contiguous())
    with refused(TypeError, "the tensor is on meta; the engine runs on GPU 0"):
        engine(x.to("meta"))
    with refused(ValueError, "input 'x': the array is not C-contiguous, and lies on a GPU"):
        engine(WithInterface(torch.randn(3, 4, device="cuda").t()))
    with refused(ValueError, "input 'x': its address is in no memory of a GPU"):
        engine(WithInterface(x, data=(np.zeros((4, 3), np.float32).ctypes.data, False)))
    with refused(ValueError, "out: output 'y0': the array cannot be written to"):
        engine(x, out=WithInterface(x, data=(x.data_ptr(), True)))
    with refused(ValueError, "out: output 'y0' has shape (4, 3), found float32 of shape (2, 3)"):
        engine(x, out=torch.empty(2, 3, device="cuda"))
    with refused(ValueError, "shares memory with input 'x'"):
        engine(x, out=x)
    same(engine(x), x + x)
    if torch.cuda.device_count() > 1:
        with refused(TypeError, "the tensor is on cuda:1; the engine runs on GPU 0"):
            engine(x.to("cuda:1"))
        with refused(TypeError, "in the memory of GPU 1; the engine runs on GPU 0"):
            engine(WithInterface(x.to("cuda:1")))


@check
def an_engine_on_the_cpu():
    engine = doubler(target="cpu")
    assert engine.gpu is None
    x = torch.randn(4, 3)
    assert torch.equal(engine(x), x + x)
    np.testing.assert_array_equal(engine(x.numpy()), (x + x).numpy())
    with refused(TypeError, "input 'x': the tensor is on cuda:0; the engine runs on the CPU: use .cpu()"):
        engine(x.cuda())
    with refused(TypeError, "input 'x': an array of WithInterface is in CUDA memory; the engine runs on the CPU"):
        engine(WithInterface(x.cuda()))
    with refused(TypeError, "input 'x': "):
        engine(WithDlpack(x.cuda()))


@check
def wrappers():
    for target in "cuda", "cpu":
        engine = doubler(target=target)
        plan = engine.cuda_engine
        for x in torch.randn(4, 3), torch.randn(4, 3, device="cuda"):
            for wrapper in tenon.mmcv.TRTWrapper(plan, ["x"], ["y0"]), tenon.mmdeploy.TRTWrapper(plan):
                y = wrapper({"x": x})["y0"]
                assert y.device == x.device and torch.equal(y, x + x)
        infer = tenon.pytrt.Infer(plan)
        x = torch.randn(4, 3)
        assert torch.equal(infer(x), x + x)
        np.testing.assert_array_equal(infer(x.numpy()), (x + x).numpy())
        if target == "cuda":
            same(infer(x.cuda()), (x + x).cuda())
        with tempfile.TemporaryDirectory() as folder:
            engine.save(f"{folder}/plan")
            wrapper = tenon.mmdeploy.TRTWrapper(f"{folder}/plan", device_id=0)
            again = tenon.mmcv.TRTWrapper(f"{folder}/plan")
            again.load_state_dict(wrapper.state_dict())
        assert torch.equal(again({"x": x.cuda()})["y0"].cpu(), x + x)


@check
def numbers_of_64_bits_become_those_of_32():
    wrapper = tenon.mmcv.TRTWrapper(doubler(trt.int32).cuda_engine)
    x = torch.arange(12, device="cuda").reshape(4, 3)
    same(wrapper({"x": x})["y0"], (x + x).int())
