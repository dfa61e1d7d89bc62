"""Plugin libraries: compiled from a source string, loaded, checked."""
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import tempfile

from tenon import _native
from tenon._native import Error

_PACKAGE = pathlib.Path(__file__).parent
_FLAGS = ("-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-x",
          "c++")
_SOURCE = "<source>"  # what messages of the compiler call the source


@dataclasses.dataclass(frozen=True)
class PluginLibrary:
    """A plugin library that is loaded: its file, and the names of the plugins it brought."""

    path: pathlib.Path
    plugins: tuple


@contextlib.contextmanager
def _new_plugins():
    """Collects in a list the names of the plugins that are registered meanwhile."""
    def names():
        return [(c.name, c.plugin_version, c.plugin_namespace)
                for c in _native.get_plugin_registry().all_creators]

    before, new = set(names()), []
    yield new
    new.extend(sorted({name for name, *others in names() if (name, *others) not in before}))


def load_plugins(path) -> PluginLibrary:
    """Loads a plugin library, a file whose plugins are then known to networks, models and plans.

    A name without a folder is a file of the current one, or else what the dynamic linker finds. It
    may have been compiled with Tenon's kit, or for TensorRT 10. Returns a PluginLibrary, whose
    `plugins` are the names that were not there before. Raises tenon.Error when the file cannot be
    loaded.
    """
    file = os.path.abspath(path) if os.path.exists(path) else os.fspath(path)
    with _new_plugins() as new:
        refusal = _native.load_plugin_library(file)
    if refusal is not None:
        raise Error(refusal)
    return PluginLibrary(pathlib.Path(path), tuple(new))


def _compiler():
    """The command of the C++ compiler: $CXX, or one of the usual names."""
    command = shlex.split(os.environ.get("CXX", ""))
    for name in [command[0]] if command else ["c++", "g++", "clang++"]:
        found = shutil.which(name)
        if found:
            return [found, *command[1:]]
    missing = (f"the program '{command[0]}', which the variable CXX names, is not there" if command
               else "there is none of c++, g++, clang++")
    raise Error(f"plugin_from_source() needs a C++ compiler, and {missing}: install one, such as "
                "Debian's package g++, and name it in CXX if it has another name")


def _cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tenon" / "plugins"


def _version(compiler):
    done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


def _headers_stamp():
    """What says that the headers are others than those a library was compiled with."""
    files = (_PACKAGE / "include").rglob("*.h")
    return sorted(f"{f.relative_to(_PACKAGE)} {f.stat().st_size}" for f in files)


def _processor():
    """What a library that is compiled for this processor needs of another one."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _compile(command, source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = pathlib.Path(folder) / target.name
        text = f'#line 1 "{_SOURCE}"\n{source}'
        try:
            done = subprocess.run([*command, "-", "-o", str(made)], input=text, text=True,
                                  capture_output=True, check=False)
        except OSError as error:
            raise Error(f"the C++ compiler {command[0]} cannot be run: {error}") from error
        if done.returncode != 0:
            raise Error(f"the plugin's source does not compile ({command[0]}):\n"
                        f"{done.stderr.strip()}")
        os.replace(made, target)


def plugin_from_source(source, *, flags=(), keep=None) -> PluginLibrary:
    """Compiles a plugin of Tenon's kit and loads it.

    source: C++ that defines plugins (`#include <tenon/plugin.h>`, a struct, TENON_PLUGIN), as the
        guide "Write a plugin" shows; compiled as C++20 with the package's headers by $CXX, or c++.
    flags: more arguments for the compiler, such as "-I/folder".
    keep: the file that the library is written to. By default it lies in a cache, where it is found
        again by its content: the same source is compiled once.
    Returns a PluginLibrary. Raises tenon.Error with the compiler's message, whose line numbers are
    those of `source`, and when there is no compiler.
    """
    compiler = _compiler()
    include = _PACKAGE / "include"
    command = [*compiler, *_FLAGS, f"-I{include}", f"-I{include / 'cudart'}", *map(str, flags)]
    key = json.dumps([source, command, _version(compiler), _headers_stamp(), _processor()])
    name = hashlib.sha256(key.encode()).hexdigest()[:24]
    target = pathlib.Path(keep) if keep is not None else _cache_folder() / f"{name}.so"
    if keep is not None or not target.exists():
        _compile(command, source, target.absolute())
    return load_plugins(target.absolute())


@dataclasses.dataclass(frozen=True)
class Finding:
    """One check of one plugin. `outcome` is "passed", "failed" or "not run"; `input` says for which
    shapes and types or fields, "" where none are at stake; `expected` is given of a failure, and
    `found` of a failure and of a check that could not be made."""

    plugin: str
    version: str
    namespace: str
    check: str
    input: str
    outcome: str
    expected: str = ""
    found: str = ""

    def __str__(self):
        where = f" ({self.input})" if self.input else ""
        text = f"{self.plugin}: {self.check}{where}: {self.outcome}"
        if self.outcome == "passed":
            return text
        expected = f"expected {self.expected}; found " if self.expected else ""
        return f"{text}: {expected}{self.found}"


class CheckResult(tuple[Finding, ...]):
    """The findings of check_plugins(); true when there are some and none failed. Its text is the
    report of the command line."""

    report: str = ""

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(finding for finding in self if finding.outcome == "failed")

    def __bool__(self):
        return len(self) > 0 and not self.failures

    def __str__(self):
        return self.report


def _listed(values):
    """A value, or several, as texts."""
    several = values if isinstance(values, (list, tuple)) else [values]
    return [os.fspath(v) if isinstance(v, os.PathLike) else str(v) for v in several]


def check_plugins(path=None, *, plugin=(), shapes=None, types=None, fields=(), cases=(),
                  time_limit=60, verbose=True) -> CheckResult:
    """Checks that the plugins of a library keep TensorRT's contract, in processes of their own, so
    that a crash or a hang is a finding. It is what `tenon plugins check` does.

    path: the library (or a PluginLibrary); None for the plugins that come along.
    plugin: a name, or names: those plugins alone. shapes, types: of the inputs, as "2x3x8x8,5x4"
    and "float32,int32". fields: texts as "pads=1,2". cases: files with expected outputs. time_limit:
    seconds for one check. verbose: prints the report of each plugin when it is done.
    Returns a CheckResult of Finding objects. Raises tenon.Error when nothing can be checked.
    """
    # A name without a folder would be searched for among the system's libraries.
    library = "" if path is None else os.path.abspath(getattr(path, "path", path))
    reports = []

    def hear(report):
        reports.append(report)
        if verbose:
            print(report, end="", flush=True)

    rows = _native.check_plugins(
        library, _listed(plugin), shapes or "", types or "", _listed(fields), _listed(cases),
        time_limit, [str(_PACKAGE / "bin" / "tenon"), "plugins", "check", "--worker"], hear)
    result = CheckResult(Finding(*row) for row in rows)
    result.report = "".join(reports)
    return result
