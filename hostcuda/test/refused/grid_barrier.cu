// grid_group::sync: a barrier of all blocks cannot be compiled for the CPU
#include <cooperative_groups.h>

__global__ void two_steps(int* out) {
  out[blockIdx.x] = 1;
  cooperative_groups::this_grid().sync();  // here
}

void launch(int* out) {
  two_steps<<<2, 32>>>(out);
}
