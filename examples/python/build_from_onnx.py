"""TensorRT's introduction: an ONNX model becomes a plan file, the plan an engine, and a context runs it.

    python build_from_onnx.py model.onnx model.plan

Made for models with one or more float32 inputs whose first dimension may be dynamic (-1).
"""
import argparse
import sys

import numpy as np
import tenon.tensorrt as trt
from tenon import cudart


def build(model, logger, largest_batch):
    """The plan of an ONNX file; ends the program with the parser's errors."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(model):
        sys.exit("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 28)
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        if -1 in tuple(tensor.shape):
            rest = tuple(tensor.shape)[1:]
            profile.set_shape(tensor.name, (1, *rest), (1, *rest), (largest_batch, *rest))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        sys.exit(f"{model} could not be built; the messages above say why")
    return plan


def check(result):
    """The values of a CUDA call, which come after its status."""
    status, *values = result
    if status != cudart.cudaError_t.cudaSuccess:
        sys.exit(cudart.cudaGetErrorString(status)[1].decode())
    return values[0] if len(values) == 1 else values


def infer(engine, batch):
    """Runs an engine on random inputs through device memory and a stream, as on a GPU."""
    context = engine.create_execution_context()
    stream = check(cudart.cudaStreamCreate())
    rng = np.random.default_rng(0)
    memory, outputs = [], {}
    for name in engine:
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            shape = tuple(batch if extent == -1 else extent for extent in engine.get_tensor_shape(name))
            values = rng.random(shape, dtype=np.float32)
            if not context.set_input_shape(name, shape):
                sys.exit(f"input {name} does not take the shape {shape}")
            device = check(cudart.cudaMalloc(values.nbytes))
            check(cudart.cudaMemcpyAsync(device, values.ctypes.data, values.nbytes,
                                         cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
        else:
            outputs[name] = values = np.empty(tuple(context.get_tensor_shape(name)),
                                              trt.nptype(engine.get_tensor_dtype(name)))
            device = check(cudart.cudaMalloc(values.nbytes))
        context.set_tensor_address(name, device)
        memory.append(device)
    if not context.execute_async_v3(stream):
        sys.exit("the run failed; the messages above say why")
    for name, values in outputs.items():
        check(cudart.cudaMemcpyAsync(values.ctypes.data, context.get_tensor_address(name), values.nbytes,
                                     cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost, stream))
    check(cudart.cudaStreamSynchronize(stream))
    for device in memory:
        check(cudart.cudaFree(device))
    check(cudart.cudaStreamDestroy(stream))
    return outputs


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("model")
    arguments.add_argument("plan")
    arguments.add_argument("--batch", type=int, default=2)
    options = arguments.parse_args()

    logger = trt.Logger(trt.Logger.WARNING)
    with open(options.plan, "wb") as file:
        file.write(build(options.model, logger, options.batch))
    with open(options.plan, "rb") as file:
        engine = trt.Runtime(logger).deserialize_cuda_engine(file.read())
    for name, values in infer(engine, options.batch).items():
        print(f"{name}: {values.dtype} {values.shape}, mean {values.mean():.4f}")


if __name__ == "__main__":
    main()
