"""CUDA's runtime functions in the style of cuda-python, over the runtime that Tenon's engine uses.

`from tenon import cudart` takes the place of `from cuda import cudart`. Each function gives a tuple
of a cudaError_t and its results. Without a GPU, device memory is host memory: an address of one is an
address of the other. Streams and events are ints.
"""
from tenon._native.cudart import *  # noqa: F403

cudaStream_t = int
cudaEvent_t = int
cudaStreamDefault, cudaStreamNonBlocking = 0, 1
cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming = 0, 1, 2
cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped = 0, 1, 2
