"""Makes the Debian packages, installs them in a bare Debian 12, and runs a model and a program built with them there.

    .venv/bin/python test/package/run_deb.py [--build build/release] [--mirror http://deb.debian.org/debian] [--keep FOLDER] [--system FOLDER]

The bare system is made by mmdebstrap, which fetches a hundred megabytes. It needs root. The packages must install with what Debian has alone, know
what they depend on, and leave nothing behind when they are removed.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(*command, **options):
    result = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout[-4000:]}")
    return result.stdout


def check(what, is_so, shown=""):
    if not is_so:
        sys.exit(f"FAILED: {what}\n{shown}")
    print(what, flush=True)


def make_packages(build, folder):
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", folder)
    return packages_in(folder)


def packages_in(folder):
    packages = {run("dpkg-deb", "-f", path, "Package").strip(): path for path in sorted(folder.glob("*.deb"))}
    check("two packages", set(packages) == {"tenon", "tenon-dev"}, packages)
    return packages


def look_at(packages):
    depends = run("dpkg-deb", "-f", packages["tenon"], "Depends")
    for package in "libc6", "libtbb12", "libprotobuf32", "libfmt9", "libgrpc++1.51":
        check(f"tenon depends on {package}", re.search(rf"\b{re.escape(package)}\b", depends), depends)
    check("tenon depends on no headers", "-dev" not in depends, depends)
    files = {name: {line.split(maxsplit=5)[5].split(" -> ")[0].removeprefix(".") for line in run("dpkg-deb", "-c", path).splitlines()}
             for name, path in packages.items()}
    for name in "/opt/tenon/bin/tenon", "/opt/tenon/lib/libnvinfer.so.10", "/usr/bin/tenon", "/usr/share/bash-completion/completions/tenon":
        check(f"tenon has {name}", name in files["tenon"])
    for name in "/opt/tenon/include/NvInfer.h", "/opt/tenon/lib/libnvinfer.so", "/opt/tenon/lib/pkgconfig/tenon.pc":
        check(f"tenon-dev has {name}", name in files["tenon-dev"])
    both = {name for name in files["tenon"] & files["tenon-dev"] if not name.endswith("/")}
    check("no file is in both", not both, both)
    strange = {name for name in files["tenon"] | files["tenon-dev"] if not name.startswith(("/opt/tenon/", "/usr/")) and name not in ("/", "/opt/")}
    check("nothing lies elsewhere", not strange, strange)


def use(packages, mirror, system):
    if not (system / "etc").exists():
        run("mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", system, mirror)
    # Programs ask /proc where they lie, to find their libraries beside themselves.
    run("mount", "--bind", "/proc", system / "proc")
    try:
        use_in(packages, system)
    finally:
        run("umount", "--lazy", system / "proc")  # before the folder is removed


def use_in(packages, system):
    for path in packages.values():
        shutil.copy(path, system / "tmp")
    for name in "super_resolution/srcnn.onnx", "readme/run_model.cc":
        shutil.copy(EXAMPLES / name, system / "tmp")
    inside = lambda command: run("chroot", system, "/bin/sh", "-ec", command, env={"PATH": os.defpath + ":/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                                                                                   "DEBIAN_FRONTEND": "noninteractive"})
    inside(f"apt-get update; apt-get install -y --no-install-recommends /tmp/{packages['tenon'].name}")
    version = re.search(r"project\(Tenon VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    said = inside("tenon --version")
    check("tenon --version", said.startswith(f"tenon {version} "), said)
    said = inside("cd /tmp; tenon build srcnn.onnx -o net.plan --shapes=input:1x3x24x24,factor:1x1x48x48; tenon bench net.plan --duration=0 --warmUp=0")
    check("a model runs", "Performance summary" in said, said)
    inside("tenon-server --help")
    inside(f"apt-get install -y --no-install-recommends /tmp/{packages['tenon-dev'].name} g++ pkg-config")
    said = inside("cd /tmp; g++ -std=c++20 run_model.cc -o run_model $(PKG_CONFIG_PATH=/opt/tenon/lib/pkgconfig pkg-config --cflags --libs tenon); ./run_model srcnn.onnx")
    check("a program is built with it and runs", True, said)
    inside("apt-get remove -y tenon tenon-dev")
    left = [path for path in (system / "opt").rglob("*")]
    check("nothing is left behind", not left, left)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--keep", type=pathlib.Path, help="where to leave the packages")
    parser.add_argument("--system", type=pathlib.Path, help="where the bare system is, or is made and left; it is changed")
    parser.add_argument("--packages", type=pathlib.Path, help="a folder with packages that are made already")
    parser.add_argument("--noSystem", action="store_true", help="look at the packages alone, without installing them")
    options = parser.parse_args()
    if not options.noSystem and os.environ.get("TENON_RUN_DEB") != "mounts":  # in a name space of mounts, in which this program runs again
        os.execvpe("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv], os.environ | {"TENON_RUN_DEB": "mounts"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        packages = packages_in(options.packages) if options.packages else make_packages(options.build.absolute(), folder / "packages")
        look_at(packages)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in packages.values():
                shutil.copy(path, options.keep)
        if not options.noSystem:
            use(packages, options.mirror, options.system or folder / "system")


if __name__ == "__main__":
    main()
