"""Copies small ONNX models into a seed corpus: onnx_seeds.py [--one-each] FOLDER [CASES...].

CASES are folders to search; without any, the models inside the onnx package are taken. With --one-each, of those with the same
operators only the smallest is: for a target that does much with each.
"""
import argparse
import pathlib

import onnx

LARGEST = 8192  # bytes; the fuzzer learns little from large models


def operators(graph):
    """Of all its nodes, also in graphs inside them."""
    for node in graph.node:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from operators(inner)


def kind_of(path, data):
    """What models have in common of which one is enough; bad ones have nothing."""
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf's kinds
        return path
    used = frozenset(operators(model.graph))
    return (used, len(model.functions) > 0) if used else path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--one-each", action="store_true")
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    options.corpus.mkdir(parents=True, exist_ok=True)
    package = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    chosen = {}  # the name and bytes of each kind
    for folder in options.cases or [package]:
        for model in sorted(folder.rglob("*.onnx")):
            if model.stat().st_size > LARGEST:
                continue
            data = model.read_bytes()
            kind = kind_of(model, data) if options.one_each else model
            if kind not in chosen or len(data) < len(chosen[kind][1]):
                chosen[kind] = ("_".join(model.relative_to(folder).parts), data)
    for name, data in chosen.values():
        (options.corpus / name).write_bytes(data)


main()
