// a cubin or PTX cannot be loaded on the CPU
#include <cuda.h>

int load(const void* image) {
  CUmodule module = nullptr;
  return cuModuleLoadData(&module, image);  // here
}
