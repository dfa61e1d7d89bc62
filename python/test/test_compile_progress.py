"""Settings of tenon.compile, and the progress that it shows."""
import fcntl
import inspect
import os
import subprocess
import sys

import numpy as np
import protos
import pytest
from onnx import helper

import tenon
from tenon import tensorrt as trt

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_settings_and_progress(tmp_path, capfd):
    cache, told = tmp_path / "cache", []
    for _ in range(2):
        engine = tenon.compile(protos.scale(), timing_cache=cache, workspace="1MiB",
                               optimization_level=1,
                               progress=lambda *step: told.append(step))
        assert cache.stat().st_size > 0
    assert told and all(done <= total for _, done, total in told)
    capfd.readouterr()
    tenon.compile(protos.scale())  # no terminal: silent
    assert capfd.readouterr().err == ""
    np.testing.assert_array_equal(engine(A), A + A)


def test_timing_caches_that_cannot_be_used(tmp_path, caplog):
    cache = tmp_path / "cache"
    tenon.compile(protos.scale(), timing_cache=cache)
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-1])
    tenon.compile(protos.scale(), timing_cache=cache)
    assert "it is made anew" in caplog.text and str(cache) in caplog.text
    assert cache.read_bytes()[:7] == b"TENONTC" and len(cache.read_bytes()) == len(whole)
    cache.write_bytes(b"something else")
    tenon.compile(protos.scale(), timing_cache=cache)
    assert "not a timing cache of Tenon" in caplog.text
    assert cache.read_bytes() == b"something else"


OTHER_BUILD = """
import sys
import numpy as np, protos, tenon
tenon.compile(product(int(sys.argv[1])), timing_cache=sys.argv[2], progress=False)
"""


def product(extent):
    """A product with weights, for which kernels are timed."""
    weights = np.ones((extent, extent), np.float32)
    return protos.model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", protos.FLOAT, [64, extent])],
                        [("y", protos.FLOAT, [64, extent])], [("w", weights)])


def timings(path):
    builder = trt.Builder(trt.Logger())
    return len(builder.create_builder_config().create_timing_cache(path.read_bytes()).queryKeys())


def test_timing_caches_join_what_another_process_writes(tmp_path):
    """One build writes while another is at work, which keeps its timings."""
    ours, theirs, both = (tmp_path / name for name in ("ours", "theirs", "both"))
    tenon.compile(product(96), timing_cache=ours)
    tenon.compile(product(160), timing_cache=theirs)
    program = inspect.getsource(product) + OTHER_BUILD
    program = "from onnx import helper\nimport numpy as np, protos\n" + program
    ran = []

    def run_another(*_):
        if not ran:
            ran.append(subprocess.run([sys.executable, "-c", program, "160", both], timeout=300, check=True,
                                      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}))
    tenon.compile(product(96), timing_cache=both, progress=run_another)
    assert ran and min(timings(ours), timings(theirs)) > 0
    assert timings(both) == timings(ours) + timings(theirs)


def test_a_folder_that_is_locked_for_ever(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("tenon._files._LONGEST_WAIT", 0.1)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        tenon.compile(protos.scale(), timing_cache=tmp_path / "cache")
    finally:
        os.close(folder)
    assert "locked by another process" in caplog.text
    assert (tmp_path / "cache").stat().st_size > 0


def test_a_progress_function_that_raises():
    def stop(*step):
        raise KeyError("enough")
    with pytest.raises(KeyError, match="enough"):
        tenon.compile(protos.scale(), progress=stop)


@pytest.mark.parametrize("verbose", [False, True])
def test_messages_are_written_if_wanted(verbose, capfd):
    with pytest.raises(tenon.Error) as raised:
        tenon.compile(b"rubbish", verbose=verbose)
    told = str(raised.value).splitlines()[1].strip()
    assert capfd.readouterr().err == (f"[tenon] {told}\n" if verbose else "")
