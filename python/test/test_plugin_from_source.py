"""Plugin libraries: compiled from a string, loaded, checked."""
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from models import plan_of, run, value
from onnx import helper

import tenon
import tenon.tensorrt as trt

SOURCE = """#include <tenon/plugin.h>

namespace test::TENON_TARGET {

using namespace tenon::kit;

struct NAME {
  float factor = 2;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{attribute("factor", &NAME::factor)};
  static constexpr Spec spec{.name = "NAME", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  template <class E> struct Multiply {
    const E* x;
    E* y;
    float factor;
    TENON_HD void operator()(int64_t i) const {
      y[i] = static_cast<E>(static_cast<float>(x[i]) * factor);
    }
  };
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(x.shape.volume(), Multiply<E>{x.data, y.data, factor});
  }
};
TENON_PLUGIN(NAME);

}  // namespace test::TENON_TARGET
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of the tests' own."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="module")
def library():
    return tenon.plugin_from_source(SOURCE.replace("NAME", "Doubles"), flags=["-O1"])


def test_a_plugin_from_a_string_runs_in_a_model(library):
    assert library.plugins == ("Doubles",)
    assert trt.get_plugin_registry().get_creator("Doubles", "1") is not None
    node = helper.make_node("Doubles", ["x"], ["y"], domain="any", factor=3.0)
    graph = helper.make_graph([node], "test", [value("x", [2, 3])], [value("y", [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("any", 1)], ir_version=8)
    plan = plan_of(model.SerializeToString())
    context = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan).create_execution_context()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(context, x=x)["y"], x * 3)


def test_the_same_source_is_compiled_once(library, monkeypatch):
    monkeypatch.setattr(tenon._plugins, "_compile", lambda *_: pytest.fail("compiled again"))
    again = tenon.plugin_from_source(SOURCE.replace("NAME", "Doubles"), flags=["-O1"])
    assert again.path == library.path and again.plugins == ()


def test_keep_writes_the_library_where_it_is_told(tmp_path):
    kept = tmp_path / "folder" / "kept.so"
    library = tenon.plugin_from_source(SOURCE.replace("NAME", "Kept"), flags=["-O0"], keep=kept)
    assert library.path == kept and kept.exists() and library.plugins == ("Kept",)
    assert list(kept.parent.iterdir()) == [kept]  # nothing is left over
    assert tenon.load_plugins(kept).plugins == ()


def test_a_name_without_a_folder_is_a_file_here(library, tmp_path, monkeypatch):
    shutil.copy(library.path, tmp_path / "libhere.so")
    monkeypatch.chdir(tmp_path)
    assert tenon.load_plugins("libhere.so").path == pathlib.Path("libhere.so")


def test_errors_have_the_lines_of_the_source():
    broken = SOURCE.replace("NAME", "Broken").replace("float factor = 2;", "float factor = two;")
    with pytest.raises(tenon.Error, match="does not compile") as caught:
        tenon.plugin_from_source(broken)
    line = broken.splitlines().index("  float factor = two;") + 1
    assert f"<source>:{line}:" in str(caught.value) and "two" in str(caught.value)


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(tenon.Error, match=r"needs a C\+\+ compiler, and there is none of c\+\+"):
        tenon.plugin_from_source("int x;")
    monkeypatch.setenv("CXX", "my-compiler -m64")
    with pytest.raises(tenon.Error, match="'my-compiler', which the variable CXX names, is not"):
        tenon.plugin_from_source("int x;")


def test_libraries_that_cannot_be_loaded(tmp_path):
    with pytest.raises(tenon.Error, match="no/such.so: no such file"):
        tenon.load_plugins("/no/such.so")
    with pytest.raises(tenon.Error, match="is a directory"):
        tenon.load_plugins(tmp_path)
    text = tmp_path / "text.so"
    text.write_text("text")
    with pytest.raises(tenon.Error, match="cannot load plugin library .*text.so"):
        tenon.load_plugins(text)


def test_libraries_that_name_tensorrt_find_this_one(tmp_path):
    source, target = tmp_path / "old.cc", tmp_path / "libold.so"
    source.write_text("""
#include <NvInfer.h>
extern "C" int version() { return getInferLibVersion(); }
""")
    package = pathlib.Path(tenon.__file__).parent
    subprocess.run(["c++", "-shared", "-fPIC", f"-I{package}/include",
                    f"-I{package}/include/cudart", source, "-o", target,
                    package / "lib" / "libnvinfer.so.10"], check=True)
    assert tenon.load_plugins(target).plugins == ()


def test_checks_are_those_of_the_command_line(library, capfd):
    result = tenon.check_plugins(library, plugin="Doubles", shapes="2x3")
    assert result and not result.failures
    assert {f.plugin for f in result} == {"Doubles"} and len(result) > 20
    printed = capfd.readouterr().out
    assert printed == str(result)

    def command_line(*options):
        command = [pathlib.Path(tenon.__file__).parent / "bin" / "tenon", "plugins", "check",
                   "--plugin=Doubles", "--shapes=2x3", *options, library.path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert printed == command_line()
    report, = json.loads(command_line("--json"))
    assert [(f.check, f.input, f.outcome) for f in result] == [
        (c["check"], c["input"], c["outcome"]) for c in report["checks"]]


def test_checks_find_what_is_wrong(tmp_path):
    forgets = SOURCE.replace("NAME", "Forgets").replace(
        "device.parallel_for(x.shape.volume()", "device.parallel_for(x.shape.volume() - 1")
    library = tenon.plugin_from_source(forgets, flags=["-O1"])
    result = tenon.check_plugins(library, plugin="Forgets", shapes="2x3", types="float32",
                                 verbose=False)
    assert not result
    assert "written" in {f.check for f in result.failures}
    worst = result.failures[0]
    assert worst.expected and worst.found and "failed: expected" in str(worst)
    assert "FAILED written" in str(result)
    with pytest.raises(tenon.Error, match="nothing.so"):
        tenon.check_plugins(tmp_path / "nothing.so", verbose=False)
    with pytest.raises(tenon.Error, match="Nothing is not in"):
        tenon.check_plugins(library, plugin="Nothing", verbose=False)
