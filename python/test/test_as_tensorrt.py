"""Programs that import tensorrt run on Tenon."""
import os
import subprocess
import sys

from programs import run


SCRIPT = """
import ctypes, sys
import tensorrt as trt
import tensorrt.plugin_fields, tensorrt_bindings
import tenon.tensorrt
assert trt is tenon.tensorrt is tensorrt_bindings
for library in ("libcudart.so.13", "libnvinfer.so.10", "libnvonnxparser.so.10"):
    ctypes.CDLL(library)
print(trt.Logger, sys.argv[1:], __name__)
"""


def test_scripts_and_modules(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    for arguments in (("program.py", "a", "-b"), ("-m", "program", "a", "-b")):
        status, text = run(*arguments, folder=tmp_path)
        assert status == 0, text
        assert "['a', '-b'] __main__" in text


PARENT = r"""
import multiprocessing, os, subprocess, sys
def work(queue):
    import tensorrt
    queue.put(tensorrt.__name__)
if __name__ == "__main__":
    for code in (
            "import tensorrt as trt, tenon.tensorrt; assert trt is tenon.tensorrt",
            "import tensorrt_bindings, tenon.tensorrt; assert tensorrt_bindings is tenon.tensorrt",
            "import tensorrt.plugin, sys; assert 'tenon' in tensorrt.plugin.__name__",
            "from cuda import cudart; import tenon.cudart; assert cudart is tenon.cudart",
            "import cuda.bindings.runtime as r, tenon.cudart; assert r is tenon.cudart",
            "import sys; assert 'tenon' not in sys.modules; import mine; assert mine.own == 1",
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import tensorrt'], check=True)",
            "import sys; sys.modules['cuda'] = None\ntry: import cuda.nothing\nexcept ImportError: pass"):
        subprocess.run([sys.executable, "-c", code], check=True)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
"""


def test_children_of_the_program(tmp_path):
    (tmp_path / "program.py").write_text(PARENT)
    own = tmp_path / "own"
    own.mkdir()
    # The environment's own file still runs.
    (own / "sitecustomize.py").write_text("import sys, types\nsys.modules['mine'] = types.SimpleNamespace(own=1)")
    before = os.environ.get("PYTHONPATH", "")
    status, text = run("program.py", folder=tmp_path,
                       PYTHONPATH=os.pathsep.join([str(own), *before.split(os.pathsep)]))
    assert status == 0 and text.strip() == "tenon.tensorrt", text


def test_mistakes(tmp_path):
    status, text = run("none.py", folder=tmp_path)
    assert status == 2 and "'none.py' is no file" in text
    status, text = run(folder=tmp_path)
    assert status == 2 and "python -m tenon.as_tensorrt script.py" in text
    (tmp_path / "tensorrt.py").write_text("")
    code = "import tensorrt, tenon; tenon.install_as_tensorrt()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "was imported already" in done.stderr


CUDA_SCRIPT = """
import cuda.cudart, cuda.bindings.runtime
from cuda import cudart
from cuda.bindings import runtime
import tenon
assert cudart is runtime is cuda.cudart is cuda.bindings.runtime is tenon.cudart
error, stream = cudart.cudaStreamCreate()
assert error == cudart.cudaError_t.cudaSuccess == runtime.cudaError_t.cudaSuccess
tenon.install_as_tensorrt()
"""


def test_programs_of_cuda_python(tmp_path):
    (tmp_path / "program.py").write_text(CUDA_SCRIPT)
    assert run("program.py", folder=tmp_path) == (0, "")
    (tmp_path / "cuda" / "pathfinder").mkdir(parents=True)  # as one of NVIDIA's packages has it
    (tmp_path / "cuda" / "pathfinder" / "__init__.py").write_text("")
    (tmp_path / "program.py").write_text(CUDA_SCRIPT + "import cuda.pathfinder")
    status, text = run("-m", "program", folder=tmp_path)
    assert status == 0, text


def test_cuda_python_itself_stays(tmp_path):
    for place, form in (("cuda/bindings/runtime.py", "from cuda.bindings import runtime as cudart"),
                        ("cuda/cudart.py", "from cuda import cudart")):
        file = tmp_path / place.replace("/", "-") / place
        file.parent.mkdir(parents=True)
        file.write_text("owner = 'cuda-python'")
        folder = file.parents[place.count("/")]
        (folder / "program.py").write_text(f"{form}\nprint(cudart.owner)")
        assert run("-m", "program", folder=folder) == (0, "cuda-python\n")
