"""Compiles the plugins of other projects against Tenon's headers, and writes docs/third-party-plugins.md.

    compile.py mmdeploy ~/mmdeploy --cuda .cache/cuda/nvidia/cu13 --include ~/cudnn/include ~/cublas/include
    compile.py mmdeploy ~/mmdeploy --cuda out/hostcuda --edit --link libmmdeploy.so [--sanitize address]
    compile.py --page

The first two forms compile the plugins of one checkout, for a GPU and for the CPU, and keep the outcome in results.json
or cpu_results.json (not that of --sanitize). The last one writes the page from what was kept (--check compares them,
in a test). projects.json says where each project's sources live, what they include, and in a sentence what an edit is
or what is missing; nothing else of these projects is here, so they are compiled by hand and in no test. `./dev cuda`
installs the CUDA compiler; --include takes folders of headers that a project needs besides. No GPU is needed.

Host files go through g++ and .cu files through nvcc, for compute capability 9.0, each to an object in --objects.
To record that edits make files compile, edit the checkout and run again: a file that differs from the commit that is
checked out, or includes one that does, counts as edited. --edit makes the usual edit, of 64-bit extents, in a copy of
a host file that does not compile.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile

import cpu
import gpu

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "third-party-plugins.md"
INTRODUCTION = """<!-- Written by test/third_party/compile.py. -->
# Plugins of other projects

Sources of plugins from the projects' public repositories, compiled against Tenon's headers in place of TensorRT's:
host files with g++ 12, CUDA files with nvcc 13 for compute capability 9.0, all as C++17, with NVIDIA's headers of CUDA,
cuBLAS and cuDNN. An edited file compiles after the edit that its table names. [On a GPU](#on-a-gpu) is what they
compute. `test/third_party/compile.py` does it again.

"""


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def sources(plugins, project):
    """The host and CUDA files below the folder of plugins, without files of data."""
    files = [path.relative_to(plugins) for path in plugins.rglob("*") if path.suffix in (".cpp", ".cu")]
    return sorted(path for path in files if not any(path.match(pattern) for pattern in project.get("data", [])))


def is_for_cpu(options):
    return (options.cuda / "bin" / "tenon-nvcc").exists()


def command(source, folder, project, options):
    toolkit = options.cuda / "include"
    ours = ["include", *project.get("kit", [])]
    includes = [*(ROOT / name for name in ours), *(folder / name for name in project["include"]), *options.include]
    flags = ["-std=c++17", "-w", "-c", source, "-MD", *(f"-D{name}" for name in project.get("define", [])),
             *(f"-I{path}" for path in includes), *sanitizer(options)]
    if source.suffix == ".cu":
        return [options.cuda / "bin" / "nvcc", "-gencode=arch=compute_90,code=sm_90", "--expt-relaxed-constexpr",
                "-Xcompiler=-fPIC", *flags]
    return ["g++", "-fPIC", *flags, f"-I{toolkit}", f"-I{toolkit / 'cccl'}"]


def sanitizer(options):
    return ["-g", f"-fsanitize={options.sanitize}"] if options.sanitize else ["-g"] if is_for_cpu(options) else []


COPYING = "#include <algorithm>\n#include <vector>\n"  # what the edited sources need


def with_copied_extents(text):
    """A source that takes addresses of 64-bit extents for those of 32-bit ones, with copies in their place."""
    def copy(dims):
        return f"std::vector<int>({dims}.d, {dims}.d + {dims}.nbDims)"

    def variable(match):
        return f"const auto {match[1]}_copy = {copy(match[2])}; const int *{match[1]} = {match[1]}_copy.data();"

    text = re.sub(r"memcpy\(&\((\w+)\.d\[0\]\), (.+), (.+?) \* sizeof\(int\)\);", r"std::copy_n(\2, \3, \1.d);", text)
    text = re.sub(r"const int \*(\w+) = &\((.+?)\.d\[0\]\);", variable, text)
    return re.sub(r"&\((\w+)\.d\[0\]\)", lambda match: f"{copy(match[1])}.data()", text)


def included(dependencies):
    """The files that a compiler's list of dependencies names."""
    words = dependencies.read_text().replace("\\\n", " ").split()
    return {pathlib.Path(word).resolve() for word in words[1:]}


def compile_file(source, folder, project, edited, options):
    """The object, and 'unchanged', 'edited', or the compiler's first error."""
    target = options.objects / (source.relative_to(folder).as_posix().replace("/", ".") + ".o")
    dependencies = target.with_suffix(".d")
    arguments = [*command(source, folder, project, options), "-o", target, "-MF", dependencies]
    run = subprocess.run(arguments, capture_output=True, text=True)
    if run.returncode == 0:
        return target, "edited" if edited & included(dependencies) else "unchanged"
    if options.edit and source.suffix == ".cpp":
        copy = target.with_suffix(".cpp")
        copy.write_text(f'{COPYING}#line 1 "{source}"\n{with_copied_extents(source.read_text())}')
        arguments = [copy if word == source else word for word in arguments]
        if subprocess.run([*arguments, f"-I{source.parent}"], capture_output=True).returncode == 0:
            return target, "edited"
    lines = run.stderr.splitlines() or ["the compiler says nothing"]
    return None, next((line for line in lines if "error" in line), lines[0]).replace(f"{folder}/", "")


def compile_project(key, options):
    project, folder = read(HERE / "projects.json")[key], options.folder.resolve()
    changed = git(folder, "diff", "--name-only", "--diff-filter=M", "HEAD").splitlines()
    edited = {(folder / name).resolve() for name in changed}
    options.objects.mkdir(parents=True, exist_ok=True)
    version = git(folder, "describe", "--tags", "--always")
    plugins = folder / project["plugins"]
    names = [name for name in sources(plugins, project) if name.match(options.only)]
    objects = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (target, outcome) in zip(names, pool.map(
                lambda name: compile_file(plugins / name, folder, project, edited, options), names)):
            print(f"{name}: {outcome}", flush=True)
            objects += [target] if target else []
            if not options.sanitize:
                keep(cpu.RESULTS if is_for_cpu(options) else RESULTS, key, version, str(name), outcome)
    if options.link:
        objects.append(empty_machine_code(objects, options))
        link = [options.cuda / "bin" / "nvcc", "-shared", *sanitizer(options), *objects, "-o", options.link]
        subprocess.run(link, check=True)


def empty_machine_code(objects, options):
    """An object with a 0 for each array of machine code, of whose files projects.json leaves out."""
    symbols = subprocess.run(["nm", "-u", *objects], check=True, capture_output=True, text=True).stdout.split()
    source, target = options.objects / "machine_code.s", options.objects / "machine_code.o"
    names = sorted({symbol for symbol in symbols if "cubin" in symbol})
    source.write_text(".data\n" + "".join(f".globl {name}\n{name}: .quad 0\n" for name in names))
    subprocess.run(["g++", "-c", source, "-o", target], check=True)
    return target


def keep(file, key, version, name, outcome):
    results = read(file)
    results.setdefault(key, {}).setdefault(version, {})[name] = outcome
    file.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def plugin_of(name):
    """The plugin that a file belongs to: its folder, or its own name where files of several share a folder."""
    parts = [part for part in pathlib.PurePath(name).parts if part not in ("plugin", "plugins")]
    return parts[0].split(".")[0].removesuffix("_kernel")


def by_plugin(files):
    """Outcomes of the files of each plugin."""
    plugins = {}
    for name, outcome in files.items():
        plugins.setdefault(plugin_of(name), []).append(outcome)
    return plugins


def verdict(outcomes):
    if any(outcome not in ("unchanged", "edited") for outcome in outcomes):
        return "does not compile"
    return "edited" if "edited" in outcomes else "unchanged"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def summary_row(project, version, files):
    outcomes = list(files.values())
    unchanged, edited = outcomes.count("unchanged"), outcomes.count("edited")
    return [f"[{project['name']}]({project['repository']})", version, len(by_plugin(files)), len(outcomes), unchanged,
            edited, len(outcomes) - unchanged - edited]


def note(project, plugin):
    if plugin not in project["notes"]:
        raise SystemExit(f"projects.json: {project['name']} has no note that says what {plugin} needs")
    return project["notes"][plugin]


def section(project, version, files):
    verdicts = {name: verdict(outcomes) for name, outcomes in sorted(by_plugin(files).items())}
    unchanged = [f"`{name}`" for name, said in verdicts.items() if said == "unchanged"]
    rows = [[f"`{name}`", said, note(project, name)] for name, said in verdicts.items() if said != "unchanged"]
    text = f"\n## {project['name']} {version}\n\n{project['about']}\n"
    text += f"\nUnchanged: {', '.join(unchanged)}.\n" if unchanged else ""
    return text + ("\n" + table(["plugin", "result", "what changes, or is missing"], rows) if rows else "")


def page():
    projects, results = read(HERE / "projects.json"), read(RESULTS)
    runs = [(projects[key], version, files) for key in projects for version, files in sorted(results[key].items())]
    header = ["project", "version", "folders or plugins", "files", "unchanged", "edited", "do not compile"]
    text = INTRODUCTION + table(header, [summary_row(*run) for run in runs])
    return text + "".join(section(*run) for run in runs) + gpu.section(projects, table) + cpu.section(
        projects, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", choices=read(HERE / "projects.json"))
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="a checkout of the project")
    parser.add_argument("--cuda", type=pathlib.Path, help="folder of the CUDA compiler, with bin/ and include/")
    parser.add_argument("--include", type=pathlib.Path, nargs="*", default=[], help="more folders of headers")
    parser.add_argument("--objects", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "third_party")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--edit", action="store_true", help="copy 64-bit extents where a source wants 32-bit ones")
    parser.add_argument("--sanitize", help="name of a sanitizer, for the CPU")
    parser.add_argument("--link", type=pathlib.Path, help="a library to make of what compiled")
    parser.add_argument("--only", default="*", help="pattern of the files to compile")
    parser.add_argument("--page", action="store_true", help="write the page")
    parser.add_argument("--check", action="store_true", help="fail if the page differs from what --page writes")
    options = parser.parse_args()
    if options.project:
        compile_project(options.project, options)
    if options.page:
        PAGE.write_text(page())
    if options.check and PAGE.read_text() != page():
        raise SystemExit(f"{PAGE.relative_to(ROOT)} differs: write it with test/third_party/compile.py --page")


if __name__ == "__main__":
    main()
