/// cuBLAS, cuBLASLt and cuDNN for those who load them by their names: the functions of the headers,
/// with C's linkage. Compiled with hidden visibility, so that sources have inline functions of
/// their own, with their sanitizers.
#define TENON_LIBRARY_FUNCTION extern "C" __attribute__((visibility("default")))

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
