"""The examples with PyTorch run, and compare themselves with it."""
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"


@pytest.mark.parametrize("name, text", [
    ("srcnn", "as PyTorch: "), ("mmcv_roi_align", "bins of shape (2, 8, 2, 2), as PyTorch's"),
    ("myselu", "JsonSelu: as torch.nn.SiLU")])
def test_example(name, text):
    done = subprocess.run([sys.executable, "-W", "ignore", EXAMPLES / f"{name}.py"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
