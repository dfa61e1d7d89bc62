"""The engine's memory from PyTorch."""
import torch

from tenon import _native
from tenon import tensorrt as trt


class TorchAllocator(trt.IGpuAllocator):
    """MMDeploy's TorchAllocator: the engine's memory comes from PyTorch's tensors, those of the GPU
    `device_id` where there are any."""

    def __init__(self, device_id=0):
        super().__init__()
        self.device_id = device_id
        self.mems = set()
        self._tensors = {}

    def allocate(self, size, alignment, flags):
        """The address of `size` bytes, at a multiple of `alignment` (a power of two; 0: any)."""
        alignment = max(alignment, 1)
        device = f"cuda:{self.device_id}" if _native.on_gpu() else "cpu"
        tensor = torch.empty(size + alignment, dtype=torch.uint8, device=device)
        address = -(-tensor.data_ptr() // alignment) * alignment
        self._tensors[address] = tensor
        self.mems.add(address)
        return address

    def deallocate(self, memory):
        """Gives memory back; False if it is not of this allocator."""
        if memory not in self._tensors:
            return False
        del self._tensors[memory]
        self.mems.discard(memory)
        return True
