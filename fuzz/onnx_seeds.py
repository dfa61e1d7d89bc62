"""Copies small ONNX models into a seed corpus: onnx_seeds.py FOLDER [CASES...].

CASES are folders to search; without any, the models inside the onnx package are taken.
"""
import pathlib
import sys

import onnx

LARGEST = 8192  # bytes; the fuzzer learns little from large models


def main():
    corpus = pathlib.Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    package = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    folders = [pathlib.Path(p) for p in sys.argv[2:]] or [package]
    for folder in folders:
        for model in sorted(folder.rglob("*.onnx")):
            if model.stat().st_size <= LARGEST:
                name = "_".join(model.relative_to(folder).parts)
                (corpus / name).write_bytes(model.read_bytes())


main()
