"""Builds small plans and writes what plan_fuzz reads of them: plan_seeds.py TENON FOLDER MODELS...

An input of the fuzzer is the structure's length (4 bytes), the structure, and the weights.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

HEADER = struct.Struct("<16sII4sIQQ")
SECTION = struct.Struct("<IIQQQ")
LARGEST = 65536  # bytes
FORMATS = {"": (), "_padded": ("--inputIOFormats=fp32:hwc8", "--outputIOFormats=fp32:chw4")}


def contents(plan):
    sections = [SECTION.unpack_from(plan, HEADER.size + i * SECTION.size) for i in range(2)]
    structure, weights = (plan[offset:offset + size] for _, _, offset, size, _ in sections)
    if not structure:
        sys.exit("plan_seeds.py: a plan begins otherwise than it is read here")
    return struct.pack("<I", len(structure)) + structure + weights


def main():
    tenon, corpus, models = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "m.plan"
        for model in map(pathlib.Path, models):
            for kind, formats in FORMATS.items():
                built = subprocess.run([tenon, "build", model, "-o", plan, "--profilingVerbosity=detailed", *formats],
                                       capture_output=True, timeout=120)
                if built.returncode == 0 and plan.stat().st_size <= LARGEST:
                    (corpus / f"{model.stem}{kind}.bin").write_bytes(contents(plan.read_bytes()))
    if not any(corpus.iterdir()):
        sys.exit("plan_seeds.py: no model could be built")


main()
