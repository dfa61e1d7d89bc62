"""Fails when a folder includes a file of a folder that it does not depend on.

For src/ the edges are those of CMake: `tenon_module(NAME DEPENDS ... LIBRARIES ...)`, where a library
may be a folder outside of src/ ("tenon_kernels"), and `tenon_link_modules`. A module may include what
it depends on, and what that depends on. Test files may also use the module's TEST_DEPENDS. OUTSIDE
names the other folders, and what they see besides themselves.

The folders of WITHOUT_CUDA neither include CUDA's runtime nor name anything of it, but in tests: they
have a `Device`. Where TensorRT's interfaces want a stream of CUDA's, `to_cuda` gives it.

What ARCHITECTURE.md draws must be so.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = {"include", "cudart"}
# Folders outside src/, and what they may include besides themselves.
OUTSIDE = {
    "include": {"cudart"},
    "cudart": set(),
    "hostcuda": {"cudart"},
    "kit": PUBLIC,
    "kernels": PUBLIC | {"kit"},
    "plugins": PUBLIC | {"kit", "kernels"},
    "session": PUBLIC,
    "serve": PUBLIC | {"session", "kit", "kernels"},
    "server": PUBLIC | {"session", "serve"},
    "onnxruntime": PUBLIC | {"session", "serve"},
    "triton": PUBLIC | {"session", "serve", "server"},
    "check": PUBLIC | {"kit"},
    "page": set(),
    "compare": PUBLIC | {"session", "page"},
    "lint": PUBLIC,
    "migrate": set(),
    "tools": PUBLIC | {"kit", "check", "page", "compare", "lint", "migrate", "session", "serve"},
    "examples": PUBLIC | {"kit", "session", "serve"},
    "python": PUBLIC | {"session", "serve", "check"},
    "bench": PUBLIC | {"tools", "session", "serve"},
}
# Where the compiler looks for a header, besides the including file's folder and its part's OWN one.
OWN = {"tools": "tools/tenon", "python": "python/native", "hostcuda": "hostcuda/include"}
SEARCH = ["", "src", "include", "cudart/include", "session", "serve", "server", "onnxruntime", "triton", "kit", "kernels",
          "kit/tenon/authoring/mmdeploy", "kit/tenon/authoring/tensorrt_pro"]
WITHOUT_CUDA = {f"src/{name}" for name in ("network", "ops", "backend", "common", "cpu", "optimize", "plan",
                                           "builder", "run")}
CUDA_HEADER = re.compile(r"cuda_runtime(_api)?\.h|driver_types\.h|tenon/cudart/.*")
CUDA_NAME = re.compile(r"\bcuda[A-Z]\w*|\bCU[a-z]\w*|\bcudart::\w+")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
CALL = re.compile(r"tenon_(module|link_modules)\(\s*([A-Za-z_]+)([^)]*)\)")


def part_of(path):
    """The folder that owns a file: "src/ops", "kit"."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def words_after(key, text):
    """The arguments after a CMake keyword, up to the next one."""
    words = []
    for word in text.split()[text.split().index(key) + 1:] if key in text.split() else []:
        if word.isupper():
            break
        words.append(word)
    return words


def module_edges():
    """What CMake says: folder -> (modules it depends on, those its tests may use as well)."""
    edges = {folder: (seen, set()) for folder, seen in OUTSIDE.items()}
    for lists in sorted(ROOT.glob("src/*/CMakeLists.txt")):
        folder = f"src/{lists.parent.name}"
        for kind, _, arguments in CALL.findall(lists.read_text()):
            direct = words_after("DEPENDS", arguments) if kind == "module" else arguments.split()
            libraries = {name.removeprefix("tenon_") for name in words_after("LIBRARIES", arguments)}
            edges[folder] = ({f"src/{name}" for name in direct} | libraries & set(OUTSIDE),
                             {f"src/{name}" for name in words_after("TEST_DEPENDS", arguments)})
    return edges


def closure(folders, edges):
    seen = set()
    pending = list(folders)
    while pending:
        folder = pending.pop()
        if folder not in seen and folder in edges:
            seen.add(folder)
            pending.extend(edges[folder][0])
    return seen


def allowed_for(path, edges):
    """Folders whose files `path` may include; None for all of them."""
    part = part_of(path)
    if part in OUTSIDE:
        return OUTSIDE[part] | {part}
    if part not in edges:
        return None  # tests and fuzz targets look into everything
    direct, for_tests = edges[part]
    is_test = "test" in path.stem
    return closure(direct | (for_tests if is_test else set()), edges) | {part} | PUBLIC


def resolve(name, including):
    """The file of this repository that an include means; None for others (system, generated)."""
    own = OWN.get(part_of(including), "")
    for folder in [including.parent, *map(pathlib.Path, [own, *SEARCH])]:
        candidate = folder / name
        if (ROOT / candidate).is_file():
            return pathlib.Path((ROOT / candidate).resolve().relative_to(ROOT))
    return None


def uses_of_cuda(path, text, names):
    """(line, what) of each header and name of CUDA's runtime in a file that must have none."""
    if part_of(path) not in WITHOUT_CUDA or "test" in path.stem:
        return
    for line, name in names:
        if CUDA_HEADER.fullmatch(name):
            yield line, name
    blank = COMMENT_OR_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for i, line in enumerate(blank.splitlines()):
        for name in CUDA_NAME.findall(line):
            yield i + 1, name


def wrong_in_drawing(edges):
    """What "a, b <- c <- d" of ARCHITECTURE.md says without being so: c sees a and b, d sees c."""
    drawing = re.search(r"```\n(base <- .*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.S)[1]
    for chain in re.split(r"\n| {2,}", drawing.strip()):
        parts = [[f"src/{name}" if f"src/{name}" in edges else name for name in part.split(", ")] for part in chain.split(" <- ")]
        for seen, seeing in zip(parts, parts[1:]):
            for folder in seeing:
                if missing := set(seen) - (closure(edges[folder][0], edges) if folder in edges else set()):
                    yield f"ARCHITECTURE.md: {folder} does not depend on {', '.join(sorted(missing))}"


def sources():
    for folder in ["src", *OUTSIDE]:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".cc", ".h", ".hpp", ".inl", ".cpp"} and "build" not in path.parts[len(
                    ROOT.parts):]:
                yield path.relative_to(ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--as-if", metavar="FILE:HEADER", action="append", default=[],
                        help="pretend that FILE includes HEADER, too")
    parser.add_argument("--edges", action="store_true", help="print who includes whom")
    arguments = parser.parse_args()

    edges = module_edges()
    found = set()
    problems = list(wrong_in_drawing(edges))
    extra = [pair.split(":") for pair in arguments.as_if]
    count = 0
    for path in sources():
        text = (ROOT / path).read_text()
        lines = text.splitlines()
        names = [(i + 1, m[1]) for i, line in enumerate(lines) if (m := INCLUDE.match(line))]
        names += [(0, header) for file, header in extra if file == str(path)]
        allowed = allowed_for(path, edges)
        count += 1
        problems += [f"{path}:{line}: {part_of(path)} may not use CUDA's {name}; Device (src/backend) has "
                     "streams, events and memory" for line, name in uses_of_cuda(path, text, names)]
        for line, name in names:
            target = resolve(name, path)
            if target is None:
                continue
            found.add((part_of(path), part_of(target)))
            if allowed is not None and part_of(target) not in allowed:
                problems.append(f"{path}:{line}: {part_of(path)} may not include {target}; "
                                f"it may include: {', '.join(sorted(allowed))}")
    if arguments.edges:
        for source, target in sorted(found):
            if source != target:
                print(f"{source} -> {target}")
    print("\n".join(problems + [f"{count} files, {len(problems)} forbidden includes"]))
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
