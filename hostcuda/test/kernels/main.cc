// kernel_suite [NAME...]: runs all cases, or those that are named, and says on which device.
#include "suite.h"

int main(int count, char** names) {
  cudaDeviceProp device{};
  int version = 0;
  suite::require(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  suite::require(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  std::printf("# %s, CUDA %d.%d\n", device.name, version / 1000, version / 10 % 100);
  for (const suite::Case& c : suite::cases()) {
    bool is_wanted = count == 1;
    for (int i = 1; i < count; ++i) is_wanted |= std::strcmp(names[i], c.name) == 0;
    suite::running = c.name;
    if (is_wanted) c.run();
  }
  return suite::failures == 0 ? 0 : 1;
}
