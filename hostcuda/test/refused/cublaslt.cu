// cublasLt.h: cuBLASLt is not supported yet
#include <cublasLt.h>  // here
