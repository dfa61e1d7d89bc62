"""Compiles session/ and serve/ with NVIDIA's own headers, and links them with libraries that have TensorRT's names alone.

    .venv/bin/python test/clients/run_serve.py [TENSORRT] [--tenon out] [--cuda FOLDER] [--work FOLDER] [--only REGULAR_EXPRESSION]

They are to run on NVIDIA's TensorRT as they do on Tenon: each source compiles, each public header does on its own, and nothing that
they refer to is Tenon's. The headers are the checkout's and those of a CUDA toolkit; of Tenon's own only tenon/*.h are found. The
names to link with are those of NVIDIA's libcudart and of the thin libraries of an installed Tenon, which export what NVIDIA's do.
"""
import re
import sys

import clients

FLAGS = ("-std=c++20", "-O0", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-deprecated-declarations")
OWN = ("session", "serve", "kit", "kernels")
LIBRARIES = ("nvinfer", "nvinfer_plugin", "nvonnxparser")


def include_options(options, folder):
    """NVIDIA's headers, and ours that have no name of theirs."""
    own = folder / "include"
    own.mkdir(exist_ok=True)
    if not (own / "tenon").exists():
        (own / "tenon").symlink_to(clients.ROOT / "include/tenon")
    nvidia = [f"-isystem{options.checkout / 'include'}", f"-isystem{options.cuda}"]
    return nvidia + [f"-I{clients.ROOT / name}" for name in OWN] + [f"-I{own}"]


def sources():
    generated = clients.ROOT / "build/release/serve/trace_page.html.cc"
    found = [*clients.ROOT.glob("session/*.cc"), *clients.ROOT.glob("serve/*/*.cc"), *clients.ROOT.glob("serve/image/cuda/*.cc"),
             generated]
    return sorted(path for path in found if not path.stem.endswith("_test"))


def headers():
    return sorted([*clients.ROOT.glob("session/tenon/session/*.h"), *clients.ROOT.glob("serve/tenon/serve/*.h")])


def compile_all(options, folder, counts):
    """The objects of all sources; headers are compiled as if each were a program."""
    objects = []
    includes = include_options(options, folder)
    for path in sources() + headers():
        name = str(path.relative_to(clients.ROOT))
        if not re.search(options.only, name):
            continue
        target = folder / (name.replace("/", "_") + ".o")
        done = clients.run(["g++", *FLAGS, *includes, "-x", "c++", "-c", path, "-o", target],
                           300)
        counts.add("fine" if done.status == 0 else "broken", name, "" if done.status == 0 else done.why())
        if done.status == 0 and path.suffix == ".cc":
            objects.append(target)
    return objects


def link(options, folder, objects, counts):
    """A library of all of them in which nothing is undefined. mold looks at no library that is not named."""
    libraries = [options.tenon / f"lib/lib{name}.so" for name in LIBRARIES] + [options.cuda.parent / "lib/libcudart.so.13"]
    done = clients.run(["g++", "-shared", "-fuse-ld=mold", "-Wl,--no-undefined", *objects, *libraries, "-lprometheus-cpp-core",
                        "-lzip", "-o", folder / "libserve.so"], 300)
    undefined = sorted(set(re.findall(r"undefined (?:symbol|reference to)[: ]+[`']?([^'\n]+)", done.text)))
    counts.add("fine" if done.status == 0 else "broken", "linking", "" if done.status == 0 else ", ".join(undefined) or done.why())


def main():
    options = clients.parse(clients.arguments(__doc__), "include/NvInfer.h")
    if not (options.cuda / "cuda_runtime_api.h").exists():
        sys.exit(f"{options.cuda} has no cuda_runtime_api.h: --cuda names the headers of a toolkit")
    counts = clients.Counts("fine")
    with clients.work_folder(options) as folder:
        objects = compile_all(options, folder, counts)
        if not options.only:
            link(options, folder, objects, counts)
    print(f"session/ and serve/ with NVIDIA's headers: {counts}")
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
