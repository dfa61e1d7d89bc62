// -g: cublasLtMatmul: CUBLASLT_EPILOGUE_DGELU is not supported on the CPU
#include <cublasLt.h>

static void require(cublasStatus_t status, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "refused_epilogue.cu:%d: %d\n", line, status);
  exit(1);
}

int main() {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
  require(cublasLtCreate(&handle), __LINE__);
  require(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1), __LINE__);
  require(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), __LINE__);
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DGELU;
  require(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                         sizeof(epilogue)),
          __LINE__);
  float* x = nullptr;
  const float one = 1, zero = 0;
  cudaMalloc(&x, sizeof(float));
  require(cublasLtMatmul(handle, operation, &one, x, layout, x, layout, &zero, x, layout, x, layout,
                         nullptr, nullptr, 0, nullptr),
          __LINE__);  // here
}
