"""Runs suites on the GPU of this machine, and reports."""
import concurrent.futures
import datetime
import glob
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import time

from gpu.pack import ARCHIVE, MANIFEST, commit
from gpu.machine import LIBRARIES, ROOT, Machine
from gpu.suites import SANITIZED, SUITES, TWO

PAGE = ROOT / "docs/gpu.md"
HEADER = ["| suite | passed | failed | seconds | commit |", "|---|---|---|---|---|"]


def unpack():
    """Unpacks the archive over this checkout, if it is there, and puts the checkout where its programs look for it."""
    if ARCHIVE.exists():
        subprocess.run(["tar", "-C", ROOT, "-xJf", ARCHIVE], check=True)
    if not (ROOT / MANIFEST).exists():
        return {"commit": commit(), "source": str(ROOT), "build": "build/cuda"}
    manifest = json.loads((ROOT / MANIFEST).read_text())
    source = pathlib.Path(manifest["source"])
    if source != ROOT and not (source / manifest["build"]).exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        source.unlink(missing_ok=True)
        source.symlink_to(ROOT)
    return manifest


def nvidia_libraries():
    """Folders of cuDNN, cuBLAS, NVRTC and CUDA's runtime: those of Python's packages, then the toolkit's."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folders += sorted(glob.glob(f"{root}/*/lib"))
    return folders + [folder for folder in ("/usr/local/cuda/lib64",) if os.path.isdir(folder)]


def gpu_names():
    """What the driver says of each GPU: name and driver's version."""
    asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True)
    if asked.returncode != 0:
        raise SystemExit("gpu_check: nvidia-smi finds no GPU here; `gpu_check pack` packs what another machine needs")
    return asked.stdout.strip().splitlines()


def chosen(options, build):
    """The suites that the command line names, of those that the build has."""
    suites = [*SUITES] if not (options.sanitize or options.two) else []
    suites += SANITIZED if options.sanitize else ()
    suites += TWO if options.two else ()
    known = [suite.name for suite in suites]
    for name in options.suites:
        if name not in known:
            raise SystemExit(f"gpu_check: there is no suite '{name}'; there are {', '.join(known)}")
    named = [suite for suite in suites if suite.name in options.suites]
    for suite in named:
        if missing := suite.missing(build):
            raise SystemExit(f"gpu_check: the suite '{suite.name}' needs {', '.join(map(str, missing))}")
    return named or [suite for suite in suites if not ((suite.optional or suite.apart) and suite.missing(build))]


def run_suites(suites, machine, log):
    """All suites side by side; a line for each as it ends. Rows of name, passed, failed and seconds."""
    def one(suite):
        start = time.monotonic()
        try:
            outcome = suite.run(machine)
            passed, failed = len(outcome.passed), outcome.failed
        except Exception as error:  # of a program that is not there, or cannot start
            passed, failed = 0, {"the suite": f"{type(error).__name__}: {error}"}
        return suite.name, passed, failed, time.monotonic() - start

    rows = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(suites)) as threads:
        for future in concurrent.futures.as_completed([threads.submit(one, suite) for suite in suites]):
            name, passed, failed, seconds = future.result()
            rows[name] = (passed, len(failed), seconds)
            print(f"{name:24} {passed:6} passed {len(failed):5} failed {seconds:7.1f} s", flush=True)
            for test, text in sorted(failed.items()):
                log.write(f"==== {name}: {test}\n{text}\n")
            log.flush()
    return [(suite.name, *rows[suite.name]) for suite in suites]


def summary_of(log):
    """The last line of each failure's text, for a look at what fails."""
    shown = []
    for part in log.read_text().split("==== ")[1:]:
        title, *lines = part.strip().splitlines()
        text = [line for line in lines if line.strip()]
        shown.append(f"  {title}: {(text[0] if text else '')[:140]}")
    return shown


def report(path, manifest, gpus, rows):
    """docs/gpu.md: what the last run of each suite printed."""
    lines = ["# The suites on a GPU", "",
             "`tools/gpu_check` runs the suites of the CPU target on the CUDA target, and writes this page. What each suite is,",
             "`tools/gpu_check --help` says.", "",
             f"{datetime.date.today()}, {gpus[0].replace(', ', ', driver ')}"
             + (f", {len(gpus)} GPUs" if len(gpus) > 1 else "") + f", {platform.freedesktop_os_release().get('PRETTY_NAME', 'Linux')}.",
             "", *HEADER]
    last = {}
    for line in PAGE.read_text().split("\n".join(HEADER))[-1].strip().splitlines() if PAGE.exists() else ():
        last[line.split("|")[1].strip()] = line
    for name, passed, failed, seconds in rows:
        last[name] = f"| {name} | {passed} | {failed} | {seconds:.0f} | {manifest['commit']} |"
    known = [suite.name for suite in (*SUITES, *SANITIZED, *TWO)]
    lines += [last[name] for name in known if name in last]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def run(options):
    """Unpacks, runs and reports; the exit code."""
    start = time.monotonic()
    gpus = gpu_names()
    manifest = unpack()
    folders = [str(ROOT / LIBRARIES), *nvidia_libraries()]
    environment = dict(os.environ, TENON_TARGET="cuda", LD_LIBRARY_PATH=":".join(folders))
    print(f"commit {manifest['commit']}, {'; '.join(gpus)}, {options.jobs} jobs", flush=True)
    options.log.parent.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool, options.log.open("w") as log:
        machine = Machine(ROOT / manifest["build"], environment, options.jobs, pool, options.tests)
        rows = run_suites(chosen(options, machine.build), machine, log)
    failed = sum(row[2] for row in rows)
    print("\n".join(summary_of(options.log)[:options.show]))
    print(f"{sum(row[1] for row in rows)} passed, {failed} failed, {time.monotonic() - start:.0f} s; details in {options.log}")
    if options.report or not (options.suites or options.tests):
        report(options.report or PAGE, manifest, gpus, rows)
    return 1 if failed else 0
