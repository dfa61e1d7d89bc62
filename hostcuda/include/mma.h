/// Tensor cores have no counterpart here.
#error "mma.h: tensor-core intrinsics (nvcuda::wmma) cannot be compiled for the CPU"
