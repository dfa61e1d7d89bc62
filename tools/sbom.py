#!/usr/bin/env python3
"""What an installed Tenon is made of: a CycloneDX list of components with versions and licences.

    tools/sbom.py --build build/release --installed out -o sbom.cdx.json [--licences LICENCES.md]

A component is in it because a program or library that is installed loads it (ldd), or because a header of it was compiled into one
(the dependencies that ninja recorded). Debian's packages are named by dpkg and have the licences of their copyright files, wheels of PyPI those
of their metadata. Two runs over the same build write the same bytes.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Targets whose objects are in nothing that is installed.
NOT_INSTALLED = re.compile(r"CMakeFiles/(test_|fuzz_|bench_|tenon_test|tenon_bench|tenon_native|nanobind)")
TARGET = re.compile(r"CMakeFiles/[^/]+\.dir/")


def run(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


def compiled_headers(build):
    """Headers outside of the sources that objects of installed targets were compiled with."""
    headers, wanted = set(), False
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = TARGET.search(line) is not None and NOT_INSTALLED.search(line) is None and "_test." not in line
        elif wanted and line.strip():
            headers.add(os.path.normpath(build / line.strip()))
    return headers


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def loaded_libraries(installed):
    """Files of libraries that the installed ones load, those among themselves left out."""
    libraries = set()
    for path in sorted(installed.rglob("*")):
        if path.is_file() and not path.is_symlink() and is_elf(path):
            for name, found in re.findall(r"(\S+) => (\S+) \(", run("ldd", path)):
                real = pathlib.Path(found).resolve()
                if not real.is_relative_to(installed.resolve()):
                    libraries.add(str(real))
    return libraries


def debian_packages(files):
    """Names of packages that own these files."""
    names = set()
    # Where /lib is a link to /usr/lib, packages own files by either name.
    files = sorted({name for file in files for name in (file, file.removeprefix("/usr"))})
    for begin in range(0, len(files), 500):
        said = subprocess.run(["dpkg", "-S", *files[begin:begin + 500]], capture_output=True, text=True).stdout
        for line in said.splitlines():
            owner, _, path = line.rpartition(": ")
            if not owner.startswith("diversion"):
                names.update(owner.split(", "))
    return names


def licences_of(package):
    """Short names in a copyright file that programs can read, else where it is."""
    path = pathlib.Path("/usr/share/doc") / package.split(":")[0] / "copyright"
    if not path.exists():
        return ["unknown: no copyright file"]
    text = path.read_text(errors="replace")
    # Not the licence of the packaging alone.
    paragraphs = re.split(r"\n\s*\n", text)
    names = [match[1].strip() for part in paragraphs if not re.search(r"(?m)^Files: *debian/\*", part)
             and (match := re.search(r"(?m)^License: *(\S.*)$", part)) and "Files:" in part]
    return sorted(set(names)) or [f"see {path}"]  # prose


def debian_component(package):
    name, version, architecture, source = run("dpkg-query", "-W", "-f=${Package}\t${Version}\t${Architecture}\t${source:Package}", package).split("\t")
    return {"type": "library", "name": name, "version": version, "bom-ref": f"deb:{name}",
            "purl": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}",
            "licenses": [{"license": {"name": licence}} for licence in licences_of(package)],
            "properties": [{"name": "debian:source", "value": source}]}


def wheel_components(venv, files):
    """Wheels in an environment that own one of the files."""
    wanted = {os.path.relpath(file, venv) for file in files if pathlib.Path(file).is_relative_to(venv)}
    found = {}
    for record in sorted(venv.glob("lib/python*/site-packages/*.dist-info/RECORD")):
        packages = record.parents[1]
        owned = {os.path.relpath(packages / line.split(",")[0], venv) for line in record.read_text().splitlines()}
        if owned & wanted:
            metadata = (record.parent / "METADATA").read_text()
            value = lambda key: match[1].strip() if (match := re.search(rf"(?m)^{key}: (.*)$", metadata)) else ""
            name, version = value("Name"), value("Version")
            licence = value("License-Expression") or value("License") or value("Classifier: License") or "see its wheel"
            found[name] = {"type": "library", "name": name, "version": version, "bom-ref": f"pypi:{name}", "purl": f"pkg:pypi/{name}@{version}",
                           "licenses": [{"license": {"name": licence}}]}
    return list(found.values())


def bill(build, installed, venv):
    files = compiled_headers(build) | loaded_libraries(installed)
    # What is installed beside ours was copied from the environment.
    beside = {str(path) for name in ("libdnnl.so*",) for path in venv.glob(f"lib/{name}")} if list(installed.glob("lib/libdnnl.so*")) else set()
    system = {file for file in files if file.startswith(("/usr/", "/lib/"))}
    version = re.search(r"project\(Tenon VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    components = [debian_component(package) for package in sorted(debian_packages(system))] + wheel_components(venv, files | beside)
    if not components:
        sys.exit(f"{build}: no components: is it built?")
    components = sorted({c["bom-ref"]: c for c in components}.values(), key=lambda c: c["bom-ref"])
    metadata = {"component": {"type": "framework", "name": "tenon", "version": version, "bom-ref": "tenon", "licenses": [{"license": {"id": "Apache-2.0"}}]}}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": metadata, "components": components,
            "dependencies": [{"ref": "tenon", "dependsOn": [c["bom-ref"] for c in components]}]}


def licence_list(bill):
    by_licence = collections.defaultdict(list)
    for c in bill["components"]:
        by_licence[", ".join(entry["license"]["name"] for entry in c["licenses"])].append(f"{c['name']} {c['version']}")
    rows = [f"| {licence} | {', '.join(names)} |" for licence, names in sorted(by_licence.items())]
    return "\n".join(["# What Tenon is built with, by licence", "", "Tenon itself is under the Apache License 2.0.", "",
                      "| licence | components |", "|---|---|", *rows, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--installed", type=pathlib.Path, default=ROOT / "out", help="what cmake --install wrote")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / ".venv", help="the environment with the wheels that were compiled with")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--licences", type=pathlib.Path, help="a table by licence, in Markdown")
    options = parser.parse_args()
    result = bill(options.build, options.installed, options.venv.absolute())
    options.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if options.licences:
        options.licences.write_text(licence_list(result))
    print(f"{options.output}: {len(result['components'])} components")


if __name__ == "__main__":
    main()
