/// What plugins use of cuBLAS: products of matrices, in the stream of their handle.
#pragma once
#pragma GCC system_header

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>

#include <cmath>

#include "tenon/hostcuda/gemm.h"
#include "tenon/hostcuda/library_function.h"

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION (10000 * CUBLAS_VER_MAJOR + 100 * CUBLAS_VER_MINOR + CUBLAS_VER_PATCH)

// What the library calls these functions.
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSasum cublasSasum_v2
#define cublasScopy cublasScopy_v2
#define cublasSscal cublasSscal_v2
#define cublasDscal cublasDscal_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
} cublasMath_t;
// clang-format off
typedef enum {
  CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_ALGO1, CUBLAS_GEMM_ALGO2, CUBLAS_GEMM_ALGO3, CUBLAS_GEMM_ALGO4,
  CUBLAS_GEMM_ALGO5, CUBLAS_GEMM_ALGO6, CUBLAS_GEMM_ALGO7, CUBLAS_GEMM_ALGO8, CUBLAS_GEMM_ALGO9,
  CUBLAS_GEMM_ALGO10, CUBLAS_GEMM_ALGO11, CUBLAS_GEMM_ALGO12, CUBLAS_GEMM_ALGO13,
  CUBLAS_GEMM_ALGO14, CUBLAS_GEMM_ALGO15, CUBLAS_GEMM_ALGO16, CUBLAS_GEMM_ALGO17,
  CUBLAS_GEMM_ALGO18, CUBLAS_GEMM_ALGO19, CUBLAS_GEMM_ALGO20, CUBLAS_GEMM_ALGO21,
  CUBLAS_GEMM_ALGO22, CUBLAS_GEMM_ALGO23,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP, CUBLAS_GEMM_ALGO1_TENSOR_OP, CUBLAS_GEMM_ALGO2_TENSOR_OP,
  CUBLAS_GEMM_ALGO3_TENSOR_OP, CUBLAS_GEMM_ALGO4_TENSOR_OP, CUBLAS_GEMM_ALGO5_TENSOR_OP,
  CUBLAS_GEMM_ALGO6_TENSOR_OP, CUBLAS_GEMM_ALGO7_TENSOR_OP, CUBLAS_GEMM_ALGO8_TENSOR_OP,
  CUBLAS_GEMM_ALGO9_TENSOR_OP, CUBLAS_GEMM_ALGO10_TENSOR_OP, CUBLAS_GEMM_ALGO11_TENSOR_OP,
  CUBLAS_GEMM_ALGO12_TENSOR_OP, CUBLAS_GEMM_ALGO13_TENSOR_OP, CUBLAS_GEMM_ALGO14_TENSOR_OP,
  CUBLAS_GEMM_ALGO15_TENSOR_OP
} cublasGemmAlgo_t;
// clang-format on
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};
typedef struct cublasContext* cublasHandle_t;

namespace tenon::hostcuda {

/// Without a handle, the calling thread's own: engines on a CPU have none to give to
/// attachToContext().
inline cublasContext& context_of(cublasHandle_t handle) {
  static thread_local cublasContext usual;
  return handle ? *handle : usual;
}

}  // namespace tenon::hostcuda

TENON_LIBRARY_FUNCTION cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  tenon::hostcuda::context_of(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = tenon::hostcuda::context_of(handle).stream;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
  tenon::hostcuda::context_of(handle).math = math;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSetPointerMode(cublasHandle_t handle,
                                                           cublasPointerMode_t mode) {
  tenon::hostcuda::context_of(handle).mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* math) {
  *math = tenon::hostcuda::context_of(handle).math;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasGetPointerMode(cublasHandle_t handle,
                                                           cublasPointerMode_t* mode) {
  *mode = tenon::hostcuda::context_of(handle).mode;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

namespace tenon::hostcuda {

/// One batched product: where each of `count` products finds its matrices is said by `place`.
template <class Sum, class Scale, class A, class B, class C, class Place>
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                    int k, const Scale* alpha, long lda, long ldb, const Scale* beta, long ldc,
                    int count, Place place) {
  if (m < 0 || n < 0 || k < 0 || count < 0 || !alpha || !beta
      || lda < std::max(1, ta == CUBLAS_OP_N ? m : k)
      || ldb < std::max(1, tb == CUBLAS_OP_N ? k : n) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  // Scalars of the host are read now, those of the device when the work runs.
  const bool is_late = tenon::hostcuda::context_of(handle).mode == CUBLAS_POINTER_MODE_DEVICE;
  const Sum a_now = is_late ? Sum{} : static_cast<Sum>(*alpha),
            b_now = is_late ? Sum{} : static_cast<Sum>(*beta);
  const cudaError_t error = put_into(tenon::hostcuda::context_of(handle).stream, [=] {
    const Sum a = is_late ? static_cast<Sum>(*alpha) : a_now,
              b = is_late ? static_cast<Sum>(*beta) : b_now;
    for (int i = 0; i < count; ++i) {
      const A* left;
      const B* right;
      C* out;
      place(i, &left, &right, &out);
      multiply<Sum>(m, n, k, matrix(left, lda, ta != CUBLAS_OP_N),
                    matrix(right, ldb, tb != CUBLAS_OP_N), [=](long row, long column, Sum sum) {
                      C& to = out[row + column * ldc];
                      const Sum before = b != Sum{0} ? b * static_cast<Sum>(to) : Sum{0};
                      to = static_cast<C>(a * sum + before);
                    });
    }
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
template <class Sum, class T, class Scale>
cublasStatus_t gemm_strided(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const Scale* alpha, const T* a, long lda,
                            long long sa, const T* b, long ldb, long long sb, const Scale* beta,
                            T* c, long ldc, long long sc, int count) {
  return gemm<Sum, Scale, T, T, T>(handle, ta, tb, m, n, k, alpha, lda, ldb, beta, ldc, count,
                                   [=](int i, const T** left, const T** right, T** out) {
                                     *left = a + i * sa;
                                     *right = b + i * sb;
                                     *out = c + i * sc;
                                   });
}

/// Products by their types: f gets null pointers to sums, elements of the factors, and results.
template <class F>
cublasStatus_t with_types(cublasComputeType_t compute, cudaDataType ab, cudaDataType c, F f) {
  float* const sum = nullptr;
  float* const floats = nullptr;
  __half* const halves = nullptr;
  __nv_bfloat16* const bfloats = nullptr;
  signed char* const bytes = nullptr;
  const auto are = [=](cudaDataType factors, cudaDataType results) {
    return ab == factors && c == results;
  };
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      if (are(CUDA_R_16F, CUDA_R_16F)) return f(sum, halves, halves);
      break;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      if (are(CUDA_R_64F, CUDA_R_64F))
        return f((double*)nullptr, (double*)nullptr, (double*)nullptr);
      break;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      if (are(CUDA_R_8I, CUDA_R_32I)) return f((int*)nullptr, bytes, (int*)nullptr);
      break;
    default:
      if (are(CUDA_R_32F, CUDA_R_32F)) return f(sum, floats, floats);
      if (are(CUDA_R_16F, CUDA_R_16F)) return f(sum, halves, halves);
      if (are(CUDA_R_16F, CUDA_R_32F)) return f(sum, halves, floats);
      if (are(CUDA_R_16BF, CUDA_R_16BF)) return f(sum, bfloats, bfloats);
      if (are(CUDA_R_16BF, CUDA_R_32F)) return f(sum, bfloats, floats);
      if (are(CUDA_R_8I, CUDA_R_32F)) return f(sum, bytes, floats);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

/// Whether scalars are halves; else they are of the sums' type.
inline bool has_half_scalars(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
}

/// How to compute. Before CUDA 11, the same functions took the type of the sums in its place.
inline cublasComputeType_t compute_type(cublasComputeType_t given) {
  switch (static_cast<int>(given)) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_32F:
      return CUBLAS_COMPUTE_32F;
    case CUDA_R_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    default:
      return given;
  }
}

}  // namespace tenon::hostcuda

#define TENON_GEMM(letter, type, sum)                                                             \
  TENON_LIBRARY_FUNCTION cublasStatus_t cublas##letter##gemm(                                     \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,     \
      const type* alpha, const type* a, int lda, const type* b, int ldb, const type* beta,        \
      type* c, int ldc) {                                                                         \
    return tenon::hostcuda::gemm_strided<sum>(handle, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb,  \
                                              0, beta, c, ldc, 0, 1);                             \
  }                                                                                               \
  TENON_LIBRARY_FUNCTION cublasStatus_t cublas##letter##gemmStridedBatched(                       \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,     \
      const type* alpha, const type* a, int lda, long long sa, const type* b, int ldb,            \
      long long sb, const type* beta, type* c, int ldc, long long sc, int count) {                \
    return tenon::hostcuda::gemm_strided<sum>(handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, \
                                              sb, beta, c, ldc, sc, count);                       \
  }                                                                                               \
  TENON_LIBRARY_FUNCTION cublasStatus_t cublas##letter##gemmBatched(                              \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,     \
      const type* alpha, const type* const* a, int lda, const type* const* b, int ldb,            \
      const type* beta, type* const* c, int ldc, int count) {                                     \
    return tenon::hostcuda::gemm<sum, type, type, type, type>(                                    \
        handle, ta, tb, m, n, k, alpha, lda, ldb, beta, ldc, count,                               \
        [=](int i, const type** left, const type** right, type** out) {                           \
          *left = a[i], *right = b[i], *out = c[i];                                               \
        });                                                                                       \
  }
TENON_GEMM(S, float, float)
TENON_GEMM(D, double, double)
TENON_GEMM(H, __half, float)
#undef TENON_GEMM

/// Sums of halves are floats.
TENON_LIBRARY_FUNCTION cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long sa, const void* b,
    cudaDataType b_type, int ldb, long long sb, const void* beta, void* c, cudaDataType c_type,
    int ldc, long long sc, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (a_type != b_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto run = [&](auto* scale, auto* sum, auto* ab, auto* out) {
    using Scale = std::remove_pointer_t<decltype(scale)>;
    using Sum = std::remove_pointer_t<decltype(sum)>;
    using T = std::remove_pointer_t<decltype(ab)>;
    using C = std::remove_pointer_t<decltype(out)>;
    return tenon::hostcuda::gemm<Sum, Scale, T, T, C>(
        handle, ta, tb, m, n, k, static_cast<const Scale*>(alpha), lda, ldb,
        static_cast<const Scale*>(beta), ldc, count,
        [=](int i, const T** left, const T** right, C** result) {
          *left = static_cast<const T*>(a) + i * sa;
          *right = static_cast<const T*>(b) + i * sb;
          *result = static_cast<C*>(c) + i * sc;
        });
  };
  compute = tenon::hostcuda::compute_type(compute);
  return tenon::hostcuda::with_types(compute, a_type, c_type, [&](auto* sum, auto* ab, auto* out) {
    return tenon::hostcuda::has_half_scalars(compute)
               ? run((__half*)nullptr, (float*)nullptr, ab, out)
               : run(sum, sum, ab, out);
  });
}
TENON_LIBRARY_FUNCTION cublasStatus_t
cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
             const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
             cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
             cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, 0, b, b_type,
                                    ldb, 0, beta, c, c_type, ldc, 0, 1, compute, algorithm);
}

/// The same with the type of the sums in place of how to compute them, as before CUDA 11.
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long sa, const void* b,
    cudaDataType b_type, int ldb, long long sb, const void* beta, void* c, cudaDataType c_type,
    int ldc, long long sc, int count, cudaDataType sums, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, sa, b, b_type,
                                    ldb, sb, beta, c, c_type, ldc, sc, count,
                                    static_cast<cublasComputeType_t>(sums), algorithm);
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta,
                                   cublasOperation_t tb, int m, int n, int k, const void* alpha,
                                   const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c,
                                   cudaDataType c_type, int ldc, cudaDataType sums,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                      c_type, ldc, static_cast<cublasComputeType_t>(sums), algorithm);
}

namespace tenon::hostcuda {

/// Work on vectors, whose results the host may read at once in CUBLAS_POINTER_MODE_HOST.
template <class F> cublasStatus_t run_vectors(cublasHandle_t handle, bool has_result, F&& work) {
  const cublasContext& context = context_of(handle);
  cudaError_t error = put_into(context.stream, std::forward<F>(work));
  if (error == cudaSuccess && has_result && context.mode == CUBLAS_POINTER_MODE_HOST)
    error = cudaStreamSynchronize(context.stream);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/// x = alpha x, for strides from 1 on.
template <class T>
cublasStatus_t scale(cublasHandle_t handle, int n, const T* alpha, T* x, int stride) {
  const bool is_late = context_of(handle).mode == CUBLAS_POINTER_MODE_DEVICE;
  const T now = is_late ? T{} : *alpha;
  return run_vectors(handle, false, [=] {
    const T factor = is_late ? *alpha : now;
    for (long i = 0; i < n && stride > 0; ++i) x[i * stride] *= factor;
  });
}

}  // namespace tenon::hostcuda

/// The sum of the absolute values.
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSasum(cublasHandle_t handle, int n, const float* x,
                                                  int stride, float* result) {
  return tenon::hostcuda::run_vectors(handle, true, [=] {
    float sum = 0;
    for (long i = 0; i < n && stride > 0; ++i) sum += std::fabs(x[i * stride]);
    *result = sum;
  });
}
/// Strides from 1 on.
TENON_LIBRARY_FUNCTION cublasStatus_t cublasScopy(cublasHandle_t handle, int n, const float* x,
                                                  int x_stride, float* y, int y_stride) {
  if (x_stride < 1 || y_stride < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  return tenon::hostcuda::run_vectors(handle, false, [=] {
    for (long i = 0; i < n; ++i) y[i * y_stride] = x[i * x_stride];
  });
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasSscal(cublasHandle_t handle, int n, const float* alpha,
                                                  float* x, int stride) {
  return tenon::hostcuda::scale(handle, n, alpha, x, stride);
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasDscal(cublasHandle_t handle, int n, const double* alpha,
                                                  double* x, int stride) {
  return tenon::hostcuda::scale(handle, n, alpha, x, stride);
}
