/// cuBLASLt has no counterpart here.
#error "cublasLt.h: cuBLASLt is not supported yet by tenon-nvcc; cublasGemmEx of cublas_v2.h is"
