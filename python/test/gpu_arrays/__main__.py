"""engine(x) on a GPU, with NumPy and PyTorch: where arrays come from and go to, in which order, and what it costs.

It needs both and a GPU, and is no part of the tests that run without; test_gpu_arrays.py is. It prints a line for each
check.

    PYTHONPATH=build/cuda/python python python/test/gpu_arrays            # all
    PYTHONPATH=build/cuda/python python python/test/gpu_arrays threads    # those of these names
"""
import sys

import arrays  # noqa: F401: each adds its checks to the list
import costs  # noqa: F401
import order  # noqa: F401
from checks import CHECKS


def main():
    names = sys.argv[1:]
    chosen = [function for function in CHECKS if not names or function.__name__ in names]
    failed = 0
    for function in chosen:
        title = function.__name__.replace("_", " ")
        try:
            said = function()
            print(f"ok      {title}" + (f": {said}" if said else ""), flush=True)
        except Exception as error:
            failed += 1
            line = error.__traceback__.tb_next
            where = f"{function.__module__}.py, line {line.tb_lineno}: " if line else ""
            print(f"FAILED  {title}: {where}{type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} checks passed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
