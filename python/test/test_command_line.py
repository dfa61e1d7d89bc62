"""The command line as a module."""
import os
import subprocess
import sys

import numpy as np
import onnx
import protos
import tenon


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "tenon", *map(str, arguments)], capture_output=True, text=True)


def test_the_module_is_the_command_line(tmp_path):
    onnx.save(protos.scale(), tmp_path / "model.onnx")
    done = run("build", tmp_path / "model.onnx", f"--saveEngine={tmp_path / 'model.plan'}")
    assert done.returncode == 0, done.stderr
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(tenon.load(tmp_path / "model.plan")(x), x + x)


def test_versions_are_the_same():
    assert run("--version").stdout.startswith(f"tenon {tenon.__version__} (TensorRT ")


def test_failures_have_the_status_of_the_command():
    done = run("build", "none.onnx")
    assert done.returncode != 0 and "none.onnx" in done.stderr


def test_a_new_plugin_is_built_against_the_package(tmp_path):
    """As the command says: the package has the headers and the CMake package that it needs."""
    done = subprocess.run([sys.executable, "-m", "tenon", "new-plugin", "MyPlugin"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    commands = done.stdout.split("\n\n", 1)[1]
    built = subprocess.run(["bash", "-e", "-c", commands], capture_output=True, text=True, cwd=tmp_path,
                           env={**os.environ, "CMAKE_GENERATOR": "Ninja"})
    assert built.returncode == 0 and "100% tests passed" in built.stdout, built.stdout + built.stderr


def test_a_reader_that_goes_ends_it_without_a_word():
    """As head does when it has its lines: the command ends by SIGPIPE."""
    done = subprocess.run(["bash", "-c", '"$0" -m tenon run --help | true; echo ${PIPESTATUS[0]}', sys.executable],
                          capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_an_application_of_ray_needs_ray(tmp_path):
    """This Python runs it, and says what is missing."""
    (tmp_path / "ray.py").write_text("raise ImportError('of a test')")
    done = subprocess.run([sys.executable, "-m", "tenon", "serve", "--ray", "app.py"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"})
    assert (done.returncode, done.stderr) == (1, "tenon serve: tenon.ray needs Ray Serve: pip install 'tenon[ray]'\n")
