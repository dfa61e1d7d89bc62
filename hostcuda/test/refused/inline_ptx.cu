// inline PTX cannot be compiled for the CPU: mov.u32 %0, %laneid;
__global__ void lanes(unsigned* out) {
  unsigned lane;
  asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));  // here
  out[threadIdx.x] = lane;
}

void launch(unsigned* out) {
  lanes<<<1, 32>>>(out);
}
