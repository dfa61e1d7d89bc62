"""NVIDIA's libraries of wheels."""
import os
import sys

import pytest
from tenon import __main__, _cuda_libraries


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Two packages of wheels, on sys.path."""
    found = [tmp_path / "nvidia" / name / "lib" for name in ("cu13", "cudnn")]
    for folder in found:
        folder.mkdir(parents=True)
    (tmp_path / "nvidia/other").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    sys.path_importer_cache.pop(str(tmp_path), None)
    return list(map(str, found))


@pytest.fixture
def started(monkeypatch):
    """What the command line would be started with: (program, arguments), and the environment is this process's."""
    calls = []
    monkeypatch.setattr(os, "execv", lambda *call: calls.append(call))
    return calls


def test_programs_find_them_behind_what_was_asked_for(packages, started, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    __main__.main()
    assert len(started) == 1
    assert os.environ["LD_LIBRARY_PATH"].split(":") == ["/mine", *packages]


def test_without_packages_nothing_is_added(started, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    __main__.main()
    assert "LD_LIBRARY_PATH" not in os.environ


def test_what_is_no_library_is_told(packages):
    (open(os.path.join(packages[1], "libcudnn.so.9"), "w")).close()
    with pytest.raises(OSError, match="libcudnn.so.9"):
        _cuda_libraries.load()
