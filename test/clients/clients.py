"""What the scripts beside this file share: where things are, building and running programs of others, counting.

Each script takes a checkout of the sources that it needs, fetches nothing, and is skipped, by name, without one.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "build/release/python"  # Tenon's for Python, as the build leaves it
CUDA = ROOT / ".cache/cuda/nvidia/cu13/include"
NVIDIA = "NVIDIA/TensorRT"
# Of the samples' own CMake files; NVIDIA builds them without run-time types.
FLAGS = ("-std=c++17", "-O1", "-w", "-fno-rtti")
COMMON = ("bfloat16", "debugTensorWriter", "getOptions", "logger", "sampleDevice", "sampleEngines", "sampleInference",
          "sampleOptions", "sampleReporting", "sampleUtils")
SHARED = ("cacheUtils", "fileLock")


class Done(collections.namedtuple("Done", "status text")):
    """How a program ended: its exit status, a negative signal or None after its time, and what it wrote to both outputs."""

    def why(self):
        """The line of the output that says why it failed."""
        if self.status is None:
            return "it takes too long"
        if self.status < 0:
            return f"ended by signal {-self.status}"
        lines = [line for line in self.text.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"\[E\]|\berror\b|Error\b|rror:|FAILED|Assert", line) and "&&" not in line]
        return (errors or lines or [f"exit status {self.status}"])[0 if errors else -1].strip()


def run(command, seconds=120, folder=None, environment=None, errors=subprocess.STDOUT):
    """Runs a program in a group of its own, so that after its time its children end with it."""
    process = subprocess.Popen([str(word) for word in command], cwd=folder, env=os.environ | (environment or {}),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        return Done(process.returncode, output.decode(errors="replace"))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return Done(None, process.communicate()[0].decode(errors="replace"))


def arguments(description, name=NVIDIA, many=False):
    """A parser that knows the checkout, the installed Tenon and the folder for what is built."""
    parser = argparse.ArgumentParser(description=description)
    number = "*" if many else "?"
    parser.add_argument("checkout", type=pathlib.Path, nargs=number, help=f"a work tree of {name}; without it nothing runs")
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "out", help="where Tenon is installed")
    parser.add_argument("--cuda", type=pathlib.Path, default=CUDA, help="CUDA's headers (default: those that ./dev cuda installs)")
    parser.add_argument("--work", type=pathlib.Path, help="a folder for what is built, which stays (default: one that does not)")
    parser.add_argument("--only", default="", help="a regular expression: what to run")
    return parser


def parse(parser, inside, name=NVIDIA):
    """The options; ends the program, well, without a checkout. `inside` is what a checkout holds."""
    options = parser.parse_args()
    options.tenon = options.tenon.resolve()
    if not options.checkout:
        print(f"SKIPPED {pathlib.Path(sys.argv[0]).name}: no checkout of {name} was given")
        sys.exit(0)
    options.checkout = options.checkout.resolve()
    if not (options.checkout / inside).exists():
        parser.error(f"{options.checkout} is no checkout of {name}: it has no {inside}")
    return options


@contextlib.contextmanager
def work_folder(options):
    """The folder that --work names, or a new one that goes afterwards."""
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        yield options.work.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="tenon_clients_") as folder:
        yield pathlib.Path(folder)


def library_path(tenon):
    """The environment in which linked programs find Tenon's libraries by TensorRT's names."""
    return {"LD_LIBRARY_PATH": f"{tenon / 'lib'}:{tenon / 'lib/compatible'}"}


class Builder:
    """Builds programs as their own CMake files do, with Tenon's headers and libraries in TensorRT's place, and its cudart."""

    def __init__(self, options, folder):
        self.checkout, self.tenon, self.folder = options.checkout, options.tenon, folder
        self.objects = folder / "objects"
        self.objects.mkdir(parents=True, exist_ok=True)
        if not (options.cuda / "cuda_fp8.h").exists():
            sys.exit(f"the samples include cuda_fp8.h, and {options.cuda} does not have it: --cuda names the headers of a toolkit")
        samples = self.checkout / "samples"
        self.includes = [f"-I{path}" for path in (self.tenon / "include", self.checkout / "shared", samples, samples / "common")]
        self.cuda = [f"-I{options.cuda}", f"-I{options.cuda / 'cccl'}"]

    def compile(self, source):
        """The object of a source; that of an earlier run where the source and Tenon's headers are older."""
        target = self.objects / ("_".join(source.parts[-3:]) + ".o")
        newest = max(path.stat().st_mtime for path in (source, *(self.tenon / "include").glob("*.h")))
        if target.exists() and target.stat().st_mtime > newest:
            return target
        compiler = self.tenon / "hostcuda/bin/nvcc" if source.suffix == ".cu" else "g++"
        position = ["-Xcompiler=-fPIC"] if source.suffix == ".cu" else ["-fPIC"]
        folders = [*self.includes, f"-I{source.parent}", *(self.cuda if source.suffix == ".cpp" else [])]
        done = run([compiler, *FLAGS, *position, *folders, "-c", source, "-o", target], 600)
        if done.status != 0:
            target.unlink(missing_ok=True)
            raise RuntimeError(f"{source.name} does not compile: {done.why()}")
        return target

    def common(self):
        """The objects that trtexec and the samples share."""
        sources = [self.checkout / f"samples/common/{name}.cpp" for name in COMMON]
        sources += [self.checkout / f"shared/utils/{name}.cpp" for name in SHARED]
        return [self.compile(source) for source in sources]

    def program(self, name, sources):
        """A program of these sources and the common ones."""
        objects = [self.compile(source) for source in sources] + self.common()
        linker = self.tenon / "hostcuda/bin/nvcc" if any(source.suffix == ".cu" for source in sources) else "g++"
        folders = [f"-L{self.tenon / 'lib'}", f"-L{self.tenon / 'lib/compatible'}"]
        libraries = ["-lnvinfer", "-lnvinfer_plugin", "-lnvonnxparser", "-lcudart", "-ldl", "-lpthread"]
        target = self.folder / name
        done = run([linker, *objects, "-o", target, *folders, *libraries], 600)
        if done.status != 0:
            raise RuntimeError(f"{name} does not link: {done.why()}")
        return target


class Counts:
    """How often each outcome came, with a line for all but the good ones."""

    def __init__(self, *quiet):
        self.quiet, self.outcomes = quiet, collections.Counter()

    def add(self, outcome, name, reason=""):
        self.outcomes[outcome] += 1
        if outcome not in self.quiet:
            print(f"{outcome.upper()} {name}" + (f"  {reason}" if reason else ""), flush=True)

    def __getitem__(self, outcome):
        return self.outcomes[outcome]

    def __str__(self):
        return ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.items())


def read_list(path):
    """Test: the reason why it fails, from lines of TEST  REASON."""
    rows = [line.split("  ", 1) for line in path.read_text().splitlines() if line and line[0] != "#"]
    return {test: reason.strip() for test, reason in rows}


def copy_tree(source, target):
    """A copy that programs may write into: the checkout stays as it is."""
    return shutil.copytree(source, target, dirs_exist_ok=True)
