// __cluster_dims__: clusters of blocks
__global__ void __cluster_dims__(2, 1, 1) pairs(int* out) {  // here
  out[blockIdx.x] = 1;
}
