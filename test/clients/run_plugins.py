"""Builds the plugins of other projects for the CPU, and runs `tenon plugins check` over each library.

    .venv/bin/python test/clients/run_plugins.py [CHECKOUT ...] [--tenon out] [--work FOLDER] [--jobs 1]

A checkout is one of those that test/third_party/projects.json knows: NVIDIA/TensorRT, MMDeploy, amirstan_plugin and others. Host
files go through g++ and kernels through tenon-nvcc, with the installed headers; where a source takes 32-bit extents, the edit of
test/third_party/compile.py is made in a copy. Plugins are checked with the cases of Tenon's of the same names. What fails as often
on a GPU (test/third_party/gpu.json) is the plugin's own doing; plugin_findings.txt lists more of that, with the reason. Any other
finding is an error, and so is a file that does not compile unless it is listed with the reason.
"""
import collections
import concurrent.futures
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import clients

THIRD_PARTY = clients.ROOT / "test/third_party"
LIST = clients.HERE / "plugin_findings.txt"
SECONDS = 900


def load(name):
    """A script of test/third_party: compile.py knows the projects' files and the usual edit, gpu.py what a GPU gave."""
    sys.path.insert(0, str(THIRD_PARTY))
    spec = importlib.util.spec_from_file_location(f"third_party_{name}", THIRD_PARTY / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project_of(folder):
    """The project's key and what projects.json says of it."""
    for key, project in json.loads((THIRD_PARTY / "projects.json").read_text()).items():
        if all((folder / name).is_dir() for name in [project["plugins"], *project["include"]]):
            return key, project
    sys.exit(f"{folder} holds none of the projects of test/third_party/projects.json")


def compile_file(source, folder, project, options, third_party):
    """The object, and 'unchanged', 'edited' or the compiler's error."""
    target = options.objects / (source.relative_to(folder).as_posix().replace("/", ".") + ".o")
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target, "edited" if target.with_suffix(".cpp").exists() else "unchanged"
    tenon = options.tenon
    kit = [clients.ROOT / name for name in project.get("kit", [])]
    includes = [f"-I{path}" for path in (tenon / "include", *kit, *(folder / name for name in project["include"]))]
    flags = ["-std=c++17", "-w", "-O1", "-c", *(f"-D{name}" for name in project.get("define", [])), *includes]
    if source.suffix == ".cu":
        command = [tenon / "hostcuda/bin/nvcc", "--expt-relaxed-constexpr", "-Xcompiler=-fPIC", *flags]
    else:
        command = ["g++", "-fPIC", *flags, f"-I{tenon / 'hostcuda/include'}", f"-I{tenon / 'hostcuda/include/cccl'}"]
    done = clients.run([*command, source, "-o", target], SECONDS)
    if done.status == 0:
        return target, "unchanged"
    if source.suffix == ".cpp":
        copy = target.with_suffix(".cpp")
        copy.write_text(f'{third_party.COPYING}#line 1 "{source}"\n{third_party.with_copied_extents(source.read_text())}')
        if clients.run([*command, f"-I{source.parent}", copy, "-o", target], SECONDS).status == 0:
            return target, "edited"
    return None, done.why().replace(f"{folder}/", "")


def build(key, project, folder, options, third_party, counts, listed):
    """The library of all that compiles."""
    options.objects = options.folder / key
    options.objects.mkdir(parents=True, exist_ok=True)
    plugins = folder / project["plugins"]
    names = third_party.sources(plugins, project)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda name: compile_file(plugins / name, folder, project, options, third_party), names))
    objects = [target for target, _ in outcomes if target]
    for name, (target, outcome) in zip(names, outcomes):
        row = f"{key} {name}"
        refusal = "cannot be compiled, as listed" if row in listed else "does not compile"
        counts.add(outcome if target else refusal, row, "" if target else outcome)
    objects.append(third_party.empty_machine_code(objects, options))
    library = link(key, objects, options)
    missing = re.findall(r"undefined symbol: (_Z\w+)", clients.run(["ldd", "-r", library], 60, None, toolkit(options)).text)
    if missing:  # of files that do not compile
        print(f"{project['name']}: {len(missing)} functions of what does not compile end the process")
        source = options.objects / "missing.s"
        source.write_text(".text\n" + "".join(f".globl {name}\n{name}: ud2\n" for name in missing))
        clients.run(["g++", "-c", source, "-o", source.with_suffix(".o")])
        library = link(key, [*objects, source.with_suffix(".o")], options)
    return library


def toolkit(options):
    """The environment in which libraries of tenon-nvcc find what they were linked with."""
    return {"LD_LIBRARY_PATH": str(options.tenon / "hostcuda/lib64")}


def link(key, objects, options):
    library = options.folder / f"lib{key}_plugins.so"
    done = clients.run([options.tenon / "hostcuda/bin/nvcc", "-shared", *objects, "-o", library], SECONDS)
    if done.status != 0:
        sys.exit(f"{library.name} does not link: {done.why()}")
    return library


def reports_of(library, options, *more):
    """What `tenon plugins check` found, by plugin and version."""
    command = [options.tenon / "bin/tenon", "plugins", "check", library, "--json", *more]
    done = clients.run(command, 3600, options.folder, toolkit(options), subprocess.DEVNULL)
    text = re.search(r"^\[\n.*?^\]$", done.text, re.DOTALL | re.MULTILINE)  # among what the plugins print
    if not text:
        sys.exit(f"tenon plugins check {library}: {done.why()}")
    return {(report["name"], report["version"]): report for report in json.loads(text[0])}


def all_reports(key, library, options, gpu):
    """Those of all plugins; of those that were checked on a GPU, with the same inputs and expected results as there."""
    cases = sorted(clients.ROOT.glob("plugins/*/cases.json"))
    found = reports_of(library, options)
    for name, plugin in json.loads(gpu.GPU.read_text()).get(key, {"plugins": {}})["plugins"].items():
        inputs = plugin.get("options") or gpu.cases_for(name, plugin, cases, options.folder)
        found |= reports_of(library, options, f"--plugin={name}", *inputs)
    return found


def on_gpu(key, gpu):
    """(plugin, version, check): how often it failed on a GPU, where NVIDIA's compiler and runtime have the say."""
    plugins = json.loads(gpu.GPU.read_text()).get(key, {"plugins": {}})["plugins"]
    return {(name, report["version"], check): count for name, plugin in plugins.items() for report in plugin["reports"]
            for check, count in report["failed"].items()}


def check(key, library, options, counts, listed, gpu):
    """Counts checks of each plugin; what fails as often on a GPU, or is in the list, is the plugin's own."""
    known, seen = on_gpu(key, gpu), set()
    reports = all_reports(key, library, options, gpu)
    for (plugin, version), report in reports.items():
        failed = collections.defaultdict(list)
        for row in report["checks"]:
            if row["outcome"] == "failed":
                failed[row["check"]].append(row)
            else:
                counts.add(row["outcome"], plugin)
        for name, rows in failed.items():
            row, here = rows[0], f"{key} {plugin} {version} {name}"
            same = min(len(rows), known.get((plugin, version, name), 0))
            counts.outcomes["failed as on a GPU"] += same
            if len(rows) > same:
                seen.add(here)
                kind = "the plugin's own" if here in listed else "finding"
                counts.outcomes[kind] += len(rows) - same - 1
                counts.add(kind, here, f"{len(rows)} times, on a GPU {same}; as ({row['input']}): expected {row['expected']}; "
                           f"found {row['found']}")
    for here in sorted(row for row in listed if row.startswith(f"{key} ") and not row.endswith((".cu", ".cpp"))):
        if here not in seen:
            counts.add("not found, but listed", here)
    return len(reports)


def main():
    parser = clients.arguments(__doc__.split("\n")[0], "a project of plugins", many=True)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    options = parser.parse_args()
    options.tenon = options.tenon.resolve()
    if not options.checkout:
        print(f"SKIPPED {pathlib.Path(sys.argv[0]).name}: no checkout of a project of plugins was given")
        return 0
    third_party, gpu, listed, bad = load("compile"), load("gpu"), clients.read_list(LIST), 0
    with clients.work_folder(options) as options.folder:
        for folder in (path.resolve() for path in options.checkout):
            key, project = project_of(folder)
            if not re.search(options.only, key):
                continue
            files = clients.Counts("unchanged", "edited", "cannot be compiled, as listed")
            checks = clients.Counts("passed", "not run", "the plugin's own")
            library = build(key, project, folder, options, third_party, files, listed)
            plugins = check(key, library, options, checks, listed, gpu)
            print(f"{project['name']}: files: {files}\n{project['name']}: {plugins} plugins, checks: {checks}")
            bad += files["does not compile"] + checks["finding"]
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
