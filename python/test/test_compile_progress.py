"""Settings of tenon.compile, and the progress that it shows."""
import numpy as np
import protos
import pytest

import tenon

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
