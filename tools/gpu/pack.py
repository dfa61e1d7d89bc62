"""Puts what the suites need into one archive: stripped programs, their libraries, and data that git does not have."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from gpu.suites import BENCHMARK, MODELS, ROOT, SUITES, TWO

ARCHIVE = ROOT / ".gpu/check.tar.xz"
LIBRARIES = ".gpu/lib"  # those of the system, beside the root that the archive is unpacked in
MANIFEST = ".gpu/manifest.json"
LIMIT = 40 << 20
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


def copy(source, to):
    """A file without its debugging symbols."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)
    if source.suffix != ".npz" and (source.suffix in ("", ".so") or ".so." in source.name):
        subprocess.run(["strip", "--strip-unneeded", to], check=True, stderr=subprocess.DEVNULL)


def commit():
    """The commit's short name, with a + if files differ from it."""
    changed = output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no").strip()
    return output("git", "-C", ROOT, "rev-parse", "--short", "HEAD").strip() + ("+" if changed else "")


def stage(build, folder):
    """Fills a folder with what is unpacked over a checkout."""
    inside = build.relative_to(ROOT)
    programs = {path for suite in (*SUITES, *TWO) for path in suite.programs} | set(BENCHMARK)
    missing = sorted(path for path in programs if not (build / path).exists())
    if missing:
        raise SystemExit(f"gpu_check: {inside} lacks {', '.join(missing)}: build all of it first")
    needed = {}
    for path in programs:
        source = build / path
        if source.is_dir():
            shutil.copytree(source, folder / inside / path)
            continue
        copy(source, folder / inside / path)
        needed |= libraries_of(source)
    for name, path in needed.items():
        own = path.is_relative_to(build)
        copy(path.resolve(), folder / (inside / path.relative_to(build) if own else pathlib.Path(LIBRARIES) / name))
    for model in MODELS:
        source = ROOT / ".cache/models" / model
        shutil.copytree(source, folder / ".cache/models" / model)
        shutil.copy(source.with_suffix(".onnx"), folder / ".cache/models")
    (folder / MANIFEST).write_text(json.dumps({"commit": commit(), "source": str(ROOT), "build": str(inside)}))


def pack(build, archive=ARCHIVE):
    """Writes the archive and says how large it is."""
    if "TENON_ONEDNN:BOOL=OFF" not in (build / "CMakeCache.txt").read_text():
        raise SystemExit(f"gpu_check: {build} has oneDNN, which is too large to travel: configure it with -DTENON_ONEDNN=OFF")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / LIBRARIES).mkdir(parents=True)
        stage(build, folder)
        unpacked = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        archive.parent.mkdir(exist_ok=True)
        subprocess.run(f"tar -C {folder} -cf - . | xz --lzma2=preset=4,dict=128MiB > {archive}", shell=True, check=True)
    size = archive.stat().st_size
    print(f"{archive}: {size / 1e6:.1f} MB of {unpacked / 1e6:.0f} MB")
    if size > LIMIT:
        raise SystemExit(f"gpu_check: that is more than {LIMIT >> 20} MiB")
