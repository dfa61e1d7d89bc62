"""The examples that need no PyTorch run; torch/test_examples.py has the others."""
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


@pytest.mark.parametrize("name, text", [
    ("first_steps", "TypeError: input 'images' expects an array of float32, found float64"),
    ("hand_built_network", "(1, 3, 9, 7) became (1, 3, 10, 12)"),
    ("plugins", "3 plugins give what NumPy gives")])
def test_example(name, text, tmp_path):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
