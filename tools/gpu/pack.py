"""Puts what the suites need into one archive: stripped programs, their libraries, and data that git does not have."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from gpu.machine import LIBRARIES, MODELS, ROOT
from gpu.python_tests import PACKAGE
from gpu.suites import BENCHMARK, SUITES, TWO

ARCHIVE = ROOT / ".gpu/check.tar.xz"
MANIFEST = ".gpu/manifest.json"
LIMIT = 64 << 20  # bytes of the archive and the checkout, which travel together
# Linux with Python has these, and not in versions of ours.
EVERYWHERE = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|libcrypto)[.-]")


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE).stdout


def libraries_of(program):
    """Paths of the shared libraries that a program loads."""
    lines = output("ldd", program).splitlines()
    missing = [line.strip() for line in lines if "not found" in line]
    if missing:
        raise SystemExit(f"gpu_check: {program}: {'; '.join(missing)}")
    found = [re.match(r"\s*(\S+) => (/\S+)", line) for line in lines]
    return {match[1]: pathlib.Path(match[2]) for match in found if match and not EVERYWHERE.match(match[1])}


def is_binary(path):
    """Whether it is a program or a library."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def copy(source, to):
    """A file without its debugging symbols."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)
    if is_binary(to):
        subprocess.run(["strip", "--strip-unneeded", to], check=True, stderr=subprocess.DEVNULL)


def stage_package(source, to):
    """The Python package with the system's libraries that it needs inside, as Python has others of its own."""
    shutil.copytree(source, to, symlinks=True, copy_function=lambda path, copied: copy(pathlib.Path(path), pathlib.Path(copied)),
                    ignore=shutil.ignore_patterns("hostcuda", "include", "*.pyi"))
    for path in source.rglob("*.so*"):
        if is_binary(path):
            for name, library in libraries_of(path).items():
                if not (to / "lib" / name).exists():
                    copy(library.resolve(), to / "lib" / name)


def commit():
    """The commit's short name, with a + if files differ from it."""
    changed = output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no").strip()
    return output("git", "-C", ROOT, "rev-parse", "--short", "HEAD").strip() + ("+" if changed else "")


def chosen(build, names):
    """The suites of these names; without names all that one archive holds."""
    suites = (*SUITES, *TWO)
    if unknown := set(names) - {suite.name for suite in suites} - {"benchmark"}:
        raise SystemExit(f"gpu_check: there is no suite '{unknown.pop()}'")
    if names:
        return [suite for suite in suites if suite.name in names]
    return [suite for suite in suites if not suite.apart and not (suite.optional and suite.missing(build))]


def stage(build, suites, others, folder):
    """Fills a folder with what is unpacked over a checkout: what suites need, and other programs."""
    inside = build.relative_to(ROOT)
    missing = [path for suite in suites for path in suite.missing(build)]
    missing += [build / path for path in others if not (build / path).exists()]
    if missing:
        names = sorted({str(path.relative_to(ROOT)) for path in missing})
        raise SystemExit(f"gpu_check: there is no {', '.join(names)}: build all of {inside}, and run `./dev models`")
    programs = {*others, *(path for suite in suites for path in suite.programs)}
    needed = {}
    for path in programs:
        source = build / path
        if path == PACKAGE:
            stage_package(source, folder / inside / path)
            continue
        if source.is_dir():
            shutil.copytree(source, folder / inside / path)
            continue
        copy(source, folder / inside / path)
        needed |= libraries_of(source)
    for name, path in needed.items():
        own = path.is_relative_to(build)
        copy(path.resolve(), folder / (inside / path.relative_to(build) if own else pathlib.Path(LIBRARIES) / name))
    for model in (model for suite in suites for model in suite.models):
        source, to = MODELS / model, folder / MODELS.relative_to(ROOT)
        shutil.copytree(source, to / model)
        shutil.copy(source.with_suffix(".onnx"), to)
    (folder / MANIFEST).write_text(json.dumps({"commit": commit(), "source": str(ROOT), "build": str(inside)}))


def pack(build, names=(), archive=ARCHIVE):
    """Writes the archive and says how large it is. Among names of suites "benchmark" stands for bench/gpu.py's programs."""
    suites = chosen(build, names) if set(names) != {"benchmark"} else []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / LIBRARIES).mkdir(parents=True)
        stage(build, suites, BENCHMARK if not names or "benchmark" in names else (), folder)
        unpacked = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        archive.parent.mkdir(exist_ok=True)
        subprocess.run(f"tar -C {folder} -cf - . | xz --lzma2=preset=1,dict=128MiB > {archive}", shell=True, check=True)
    size = archive.stat().st_size
    print(f"{archive}: {size / 1e6:.1f} MB of {unpacked / 1e6:.0f} MB")
    checkout = sum((ROOT / path).lstat().st_size for path in output("git", "-C", ROOT, "ls-files", "-z").split("\0") if path)
    if size + checkout > LIMIT:
        raise SystemExit(f"gpu_check: with the checkout ({checkout / 1e6:.1f} MB) that is more than {LIMIT >> 20} MiB: pack some suites")
