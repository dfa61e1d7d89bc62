"""Makes the Debian packages, installs them in a bare Debian 12, and runs a model and a program built with them there.

    .venv/bin/python test/package/run_deb.py [--build build/release] [--mirror http://deb.debian.org/debian] [--keep FOLDER] [--system FOLDER]

It needs root, as bare_system.py says. The packages must install with what Debian has alone, know
what they depend on, and leave nothing behind when they are removed.
"""
import argparse
import pathlib
import re
import shutil
import tempfile

from bare_system import bare_system, check, in_own_mounts, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


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


def use(packages, system, inside):
    for path in packages.values():
        shutil.copy(path, system / "tmp")
    for name in "super_resolution/srcnn.onnx", "readme/run_model.cc":
        shutil.copy(EXAMPLES / name, system / "tmp")
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
    if not options.noSystem:
        in_own_mounts()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        packages = packages_in(options.packages) if options.packages else make_packages(options.build.absolute(), folder / "packages")
        look_at(packages)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in packages.values():
                shutil.copy(path, options.keep)
        if not options.noSystem:
            system = options.system or folder / "system"
            with bare_system(system, options.mirror) as inside:
                use(packages, system, inside)


if __name__ == "__main__":
    main()
