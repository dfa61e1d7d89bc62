"""What a refit takes against a copy of the weights and a build, for models of make_models.py.

    PYTHONPATH=build/release/python .venv/bin/python bench/refit.py [resnet50 bert_base ...] [--rounds 5] [--json FILE]

`all` gives every weight by name anew, `one` the largest alone, each time others than before; medians of what the third refit and later
ones take, and `first` is what the very first took, in memory that was never touched. `copy` is NumPy's copy of all weights, before each
refit of all, so that both see the same noise; `forms` is a copy of as many bytes as the plan holds, which are the weights and the forms that
kernels hold them in: a refit writes both; `cpu` are the processor times of these three, of all threads. `build` is a build whose timing cache
knows every layer.
"""
import argparse
import json
import pathlib
import statistics
import time

import numpy as np
import onnx
from onnx import numpy_helper

import tenon.tensorrt as trt

MODELS = pathlib.Path(__file__).resolve().parent.parent / ".cache/bench/models"


def medians_ms(rounds, *actions):
    """(wall, processor time of all threads) of each, one after the other in each round."""
    times = [[] for _ in actions]
    for _ in range(rounds):
        for action, of_action in zip(actions, times):
            began, used = time.perf_counter(), time.process_time()
            action()
            of_action.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - used)))
    return [tuple(statistics.median(kind) for kind in zip(*of_action)) for of_action in times]


def build(path, logger, cache, *flags):
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(path)), parser.get_error(0)
    config = builder.create_builder_config()
    config.set_timing_cache(cache or config.create_timing_cache(b""), False)
    for flag in flags:
        config.set_flag(flag)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return plan, config.get_timing_cache()


def measure(name, rounds):
    path = MODELS / f"{name}.onnx"
    logger = trt.Logger(trt.Logger.WARNING)
    plan, cache = build(path, logger, None, trt.BuilderFlag.REFIT)
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    refitter = trt.Refitter(engine, logger)
    names = set(refitter.get_all_weights())
    weights = {t.name: numpy_helper.to_array(t).copy() for t in onnx.load(path).graph.initializer if t.name in names}
    largest = max(weights, key=lambda n: weights[n].nbytes)
    sets = [{n: a * np.float32(0.5) for n, a in weights.items()}, weights]

    def refit(chosen):
        sets.reverse()
        for one in chosen:
            assert refitter.set_named_weights(one, sets[0][one])
        assert refitter.refit_cuda_engine()
        for one in chosen:
            refitter.unset_named_weights(one)

    targets = {n: np.empty_like(a) for n, a in weights.items()}

    def copy():
        for n, a in weights.items():
            np.copyto(targets[n], a)

    forms = np.ones(plan.nbytes, np.uint8)
    other_forms = np.empty_like(forms)
    np.copyto(other_forms, forms)  # whose memory then was touched

    firsts = [medians_ms(1, lambda: refit(weights))[0] for _ in range(2)]
    copies, of_forms, refits = medians_ms(rounds, copy, lambda: np.copyto(other_forms, forms), lambda: refit(weights))
    return {"model": name, "weights_mb": sum(a.nbytes for a in weights.values()) / 1e6, "plan_mb": plan.nbytes / 1e6,
            "copy_ms": copies[0], "first_ms": firsts[0][0], "all_ms": refits[0], "copy_cpu_ms": copies[1],
            "forms_ms": of_forms[0], "forms_cpu_ms": of_forms[1], "all_cpu_ms": refits[1],
            "one_ms": medians_ms(rounds, lambda: refit([largest]))[0][0],
            "build_ms": medians_ms(2, lambda: build(path, logger, cache))[0][0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["resnet50", "bert_base"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    results = []
    for name in options.models:
        results.append(measure(name, options.rounds))
        print("  ".join(f"{key} {value:.0f}" if isinstance(value, float) else value for key, value in results[-1].items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
