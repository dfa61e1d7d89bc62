"""Compiles plugins with a fault each, and fails unless the modes of `tenon plugins check` find the faults and no others.

    check_modes.py TENON NVCC OTHER

OTHER is a plugin library that tenon-nvcc did not compile.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCE = FOLDER / "modes/plugins.cu"
INCLUDE = FOLDER.parents[1] / "include"
WAITS_APART = ("enqueue", ["wait at different places", "plugins.cu:{here WaitsApart}", "waits_apart"])
PLUGINS = ["Sound", "MissingBarrier", "ReadsBehind", "WritesShared", "DependsOnOrder", "WaitsApart"]
# By the mode: what it finds in which plugin, in which check. All other checks of all plugins pass.
FINDS = {
    "": {"WaitsApart": WAITS_APART},
    "address": {
        "WaitsApart": WAITS_APART,
        "ReadsBehind": ("enqueue", ["outside of a tensor", "read of size 4 at", "plugins.cu:{here ReadsBehind}",
                                    "reads_behind", "block (0, 0, 0), thread (0, 0, 0)"]),
        "WritesShared": ("enqueue", ["outside of", "write of size 4 at", "plugins.cu:{here WritesShared}",
                                     "writes_shared", "thread (63, 0, 0)"]),
    },
    "race": {
        "WaitsApart": WAITS_APART,
        "MissingBarrier": ("enqueue", ["data race", "plugins.cu:{first}", "plugins.cu:{second}", "missing_barrier"]),
    },
    "order": {
        "WaitsApart": WAITS_APART,
        "MissingBarrier": ("order", ["in order reverse, output 0[0]"]),
        "DependsOnOrder": ("order", ["in order reverse, output 0[0] = 1.25, expected 0 "]),
    },
}
OPTION = {"address": "-fsanitize=address", "race": "-fsanitize=thread"}


def lines():
    """Places in the source: a comment at the end of a line, and `here` by the plugin's name."""
    places, kernel = {}, ""
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if line.startswith("__global__"):
            kernel = "".join(word.capitalize() for word in line.split("(")[0].split()[-1].split("_"))
        for mark in ("first", "second", "here"):
            if line.endswith(f"// {mark}"):
                places["{" + (f"here {kernel}" if mark == "here" else mark) + "}"] = str(number)
    return places


def check(tenon, library, mode, places):
    options = ["--shapes=100", "--json", *(f"--plugin={name}" for name in PLUGINS)]
    options += [f"--mode={mode}", "--seeds=2"] if mode else []
    run = subprocess.run([tenon, "plugins", "check", library, *options], capture_output=True, text=True)
    wrong = []
    for plugin in json.loads(run.stdout):
        name, failed = plugin["name"], {row["check"]: row for row in plugin["checks"] if row["outcome"] == "failed"}
        where, texts = FINDS[mode].get(name, (None, []))
        if set(failed) != ({where} if where else set()):
            wrong.append(f"{name} fails in {failed}, and should in {where}")
        found = failed.get(where, {}).get("found", "")
        for text in texts:
            for mark, line in places.items():
                text = text.replace(mark, line)
            if text not in found:
                wrong.append(f"{name}: {text!r} is not in {found!r}")
    return wrong


def hangs(tenon, library, *arguments):
    run = subprocess.run([tenon, "plugins", "check", library, *arguments], capture_output=True, text=True)
    texts = ["found it did not come back within 15 s: kernel void", "passes_on", "has neither ended nor waited for 10 s"]
    return [f"a hang: {text!r} is not in {run.stdout!r}" for text in texts if text not in run.stdout]


def refused(tenon, text, *arguments):
    run = subprocess.run([tenon, "plugins", "check", *arguments], capture_output=True, text=True)
    return [] if run.returncode == 1 and text in run.stderr else [f"{arguments}: {text!r} is not in {run.stderr!r}"]


def main():
    tenon, nvcc, other = sys.argv[1:]
    wrong, places = [], lines()
    with tempfile.TemporaryDirectory() as folder:
        plain = f"{folder}/libplain.so"
        for mode in FINDS:
            library = f"{folder}/lib{mode}.so" if mode in OPTION else plain
            if mode != "order":
                subprocess.run([nvcc, "-std=c++17", "-O1", "-g", *OPTION.get(mode, "").split(), f"-I{INCLUDE}", "-shared",
                                "-Xcompiler", "-fPIC", SOURCE, "-o", library], check=True)
            wrong += (found := check(tenon, library, mode, places))
            print(f"{mode or 'no mode'}: {'as it should be' if not found else found}", flush=True)
        hang = ["--plugin=PassesOn", "--shapes=64", "--timeLimit=15"]
        wrong += hangs(tenon, plain, *hang)
        wrong += refused(tenon, "is not compiled with AddressSanitizer: compile all of it with -fsanitize=address", plain,
                         "--mode=address")
        wrong += refused(tenon, "is not compiled with ThreadSanitizer", f"{folder}/libaddress.so", "--mode=race")
        wrong += refused(tenon, "is compiled with ThreadSanitizer: check it with --mode=race", f"{folder}/librace.so")
        wrong += refused(tenon, "libnone.so: no such file", f"{folder}/libnone.so", "--mode=race")
        wrong += refused(tenon, "has no kernels that run on the CPU", other, "--mode=order")
        wrong += refused(tenon, "leave --device=cuda out", plain, "--mode=order", "--device=cuda")
        wrong += refused(tenon, "say which library", "--mode=order")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
