"""A pipeline around an engine: requests are pre-processed, batched, run and post-processed side by side."""
import asyncio

import numpy as np

import tenon
import tenon.serve
import tenon.tensorrt as trt


def scale_network():
    """The engine of y = 2 x for one to eight rows of four."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (-1, 4))
    network.mark_output(network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x", (1, 4), (4, 4), (8, 4))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return tenon.load(bytes(plan))


# A job's input is whatever preprocess() takes; an engine gets arrays without the batch axis.
def preprocess(text):
    return np.array([float(word) for word in text.split()], np.float32)


def postprocess(text, y):
    return f"{text} -> {y.sum():g}"


with tenon.serve.Pipeline(scale_network(), preprocess, postprocess, max_batch=8) as pipeline:
    print(pipeline.submit("1 2 3 4", timeout=5).result())
    try:
        pipeline.submit("1 2 three 4").result()
    except tenon.serve.JobError as error:
        print(error)

    async def requests():
        return await asyncio.gather(*(pipeline.run(f"{i} {i} {i} {i}") for i in range(100)))

    answers = asyncio.run(requests())
    print(f"{len(answers)} answers, the last: {answers[-1]}")
