"""Builds NVIDIA's trtexec over Tenon's libraries and calls it with every option; so does it with Tenon's own trtexec.

    .venv/bin/python test/clients/run_trtexec.py [TENSORRT] [--tenon out] [--work FOLDER] [--only REGULAR_EXPRESSION]

trtexec_matrix.py says what has to come of each call. Each has a folder and a process of its own. An option of the program's
--help that the matrix lacks is an error, and so is every outcome but the stated one; a gap that has been filled is one, too, so
that its row is corrected. Counts are printed for NVIDIA's program over Tenon, for Tenon's own, and for what the two agree in.
"""
import json
import re
import shutil
import sys

import clients
import models
import trtexec_matrix
from trtexec_matrix import PASSES, REFUSED

SECONDS = 60


def write_inputs(folder, tenon):
    """What the arguments of the matrix name."""
    folder.mkdir(exist_ok=True)
    models.convolution(folder / "convolution.onnx")
    models.convolution(folder / "dynamic.onnx", "batch")
    models.quantized(folder / "quantized.onnx")
    models.attention(folder / "attention.onnx")
    models.instance_norm(folder / "instance_norm.onnx")
    (folder / "x.raw").write_bytes(bytes(4 * 3 * 16 * 16))
    # Scales of tensors, as the words of big-endian floats.
    scales = "".join(f"{name}: 3c010a14\n" for name in "xcrdpfy")
    (folder / "calibration.cache").write_text("TRT-101600-EntropyCalibration2\n" + scales)
    example = clients.ROOT / "examples/plugin"
    shutil.copy(example / "vignette.onnx", folder)
    done = clients.run(["g++", "-std=c++20", "-O1", "-fPIC", "-shared", f"-I{tenon / 'include'}", f"-I{tenon / 'include/cudart'}",
                        example / "vignette.cc", "-o", folder / "libvignette.so"], 300)
    if done.status != 0:
        sys.exit(done.text)
    shutil.copy(tenon / "lib/libnvinfer_lean.so", folder)


def outcome_of(done):
    """What the program says, which has to agree with how it ends."""
    last = [line for line in done.text.splitlines() if line.startswith("&&&& ")][-1:]
    is_help = bool(last) and "RUNNING" in last[0] and re.search(r" (--help|-h)\b", last[0])
    if done.status == 0 and last and ("PASSED" in last[0] or is_help):
        return PASSES
    if done.status == 1 and last and "FAILED" in last[0]:
        return REFUSED
    return f"ends with status {done.status}"


def missing_files(row, folder):
    for pattern in row.files:
        found = [path for path in folder.glob(pattern) if path.stat().st_size > 0]
        if not found:
            return f"it leaves no {pattern}"
        for path in found:
            if path.suffix == ".json":
                try:
                    json.loads(path.read_text())
                except ValueError as error:
                    return f"{path.name}: {error}"
    return ""


def call(program, row, folder, inputs, environment):
    """The outcome, and what was wrong with it beyond that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in inputs.iterdir():
        (folder / path.name).symlink_to(path)
    for arguments in row.before:
        done = clients.run([program, *arguments.split()], SECONDS, folder, environment)
        if outcome_of(done) != PASSES:
            return "its preparation fails", f"{arguments}: {done.why()}"
    done = clients.run([program, *row.arguments.split()], SECONDS, folder, environment)
    outcome = outcome_of(done)
    if outcome not in (PASSES, REFUSED):
        return outcome, done.why()
    said = "\n".join(line for line in done.text.splitlines() if not line.startswith("&&&& "))  # these repeat the arguments
    if not re.search(row.text, said):
        return outcome, f"the output does not hold '{row.text}'"
    return outcome, missing_files(row, folder) if outcome == PASSES else "" if row.outcome == REFUSED else done.why()


def judge(program, row, own, folder, inputs, environment):
    """passed, failed, not applicable or not supported yet; the outcome; and why. own: whether it is Tenon's program."""
    expected, gap = (row.own[0], "") if own and row.own else (row.outcome, row.gap)
    for _ in range(row.tries):
        outcome, trouble = call(program, row, folder, inputs, environment)
        if outcome == expected:
            break
    good = outcome == expected and not (trouble and outcome == row.outcome)
    if gap:
        return ("failed", outcome, "the row calls it a gap, but it passes") if good else ("not supported yet", outcome, gap)
    if good:
        return "not applicable" if row.needs else "passed", outcome, f"it needs {row.needs}" if row.needs else ""
    return "failed", outcome, f"{outcome}, expected: {expected}; {trouble}"


def names_of_help(text):
    """The options that a program's --help lists, each behind two spaces."""
    return {name for line in re.findall(r"^  (--?\w+(?:, --?\w+)*)", text, re.MULTILINE) for name in line.split(", ")}


def without_row(program, environment):
    listed = names_of_help(clients.run([program, "--help"], SECONDS, None, environment).text)
    return len(listed), sorted(listed - {row.option for row in trtexec_matrix.ROWS})


def run_matrix(programs, rows, inputs, folder):
    """Counts for each program; prints what is not as it should be."""
    counts = {name: clients.Counts("passed", "not applicable") for name in programs}
    both = clients.Counts("the same outcome", "another, with its reason")
    for number, row in enumerate(rows):
        outcomes = {}
        for name, (program, environment) in programs.items():
            place = folder / f"{number}_{program.parent.name}"
            verdict, outcomes[name], why = judge(program, row, name == "Tenon's trtexec", place, inputs, environment)
            counts[name].add(verdict, f"{name} {row.arguments}", why)
        other = "another, with its reason" if row.own else "another outcome"
        both.add("the same outcome" if len(set(outcomes.values())) == 1 else other, row.arguments, str(outcomes))
    return counts, both


def main():
    options = clients.parse(clients.arguments(__doc__.split("\n")[0]), "samples/trtexec/trtexec.cpp")
    with clients.work_folder(options) as work:
        builder = clients.Builder(options, work / "nvidia")
        nvidia = builder.program("trtexec", [options.checkout / "samples/trtexec/trtexec.cpp"])
        own = work / "tenon/trtexec"
        own.parent.mkdir(exist_ok=True)
        own.unlink(missing_ok=True)
        own.symlink_to(options.tenon / "bin/tenon")
        write_inputs(work / "inputs", options.tenon)
        environment = clients.library_path(options.tenon)
        listed, absent = without_row(nvidia, environment)
        for name in absent:
            print(f"ABSENT {name}  trtexec's --help has it, and trtexec_matrix.py does not")
        rows = [row for row in trtexec_matrix.ROWS if re.search(options.only, row.arguments)]
        programs = {"NVIDIA's trtexec": (nvidia, environment), "Tenon's trtexec": (own, {})}
        counts, both = run_matrix(programs, rows, work / "inputs", work / "calls")
    print(f"{len(rows)} calls of {len({row.option for row in rows})} options; --help lists {listed}")
    for name, count in counts.items():
        print(f"{name}: {count}")
    print(f"between the two: {both}")
    return bool(absent or both["another outcome"] or any(count["failed"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
