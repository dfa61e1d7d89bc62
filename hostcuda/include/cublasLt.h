/// What plugins use of cuBLASLt: products of matrices with a bias and an activation. There is one
/// algorithm, 0, that needs no workspace. What cannot be is refused by its name on standard error,
/// with a status of cuBLAS.
#pragma once
#pragma GCC system_header

#include <cstring>

#include "tenon/hostcuda/cublaslt_product.h"

namespace tenon::hostcuda {

/// A field of a descriptor; null if it has none.
struct Attribute {
  void* data = nullptr;
  size_t bytes = 0;
};
template <class T> Attribute attribute(T& field) {
  return {&field, sizeof(field)};
}

inline Attribute attribute_of(cublasLtMatrixLayoutOpaque_t& layout,
                              cublasLtMatrixLayoutAttribute_t which) {
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return attribute(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return attribute(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return attribute(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return attribute(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return attribute(layout.step);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return attribute(layout.batch_count);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return attribute(layout.batch_step);
    default:
      return {};
  }
}
inline Attribute attribute_of(cublasLtMatmulDescOpaque_t& operation,
                              cublasLtMatmulDescAttributes_t which) {
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return attribute(operation.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return attribute(operation.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return attribute(operation.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return attribute(operation.a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return attribute(operation.b);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return attribute(operation.c);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return attribute(operation.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return attribute(operation.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return attribute(operation.bias_batch_step);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return attribute(operation.bias_type);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
      return attribute(operation.multiprocessors);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return attribute(operation.is_fast);
    default:
      return {};
  }
}

/// Sets an attribute of a descriptor, which has to be of its size.
template <class Descriptor, class Which>
cublasStatus_t set_attribute(const char* function, Descriptor* descriptor, Which which,
                             const void* value, size_t bytes) {
  if (!descriptor || !value) return CUBLAS_STATUS_INVALID_VALUE;
  const Attribute to = attribute_of(*descriptor, which);
  if (!to.data)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: %s is not supported on the CPU", function,
                  name_of(which));
  if (bytes != to.bytes)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "%s: %s has %zu bytes, and %zu were given", function,
                  name_of(which), to.bytes, bytes);
  std::memcpy(to.data, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
/// Writes `count` bytes to a caller who has room for `bytes`; 0 asks how many there are.
inline cublasStatus_t give(const void* from, size_t count, void* to, size_t bytes,
                           size_t* written) {
  if (written) *written = count;
  if (bytes == 0 && written) return CUBLAS_STATUS_SUCCESS;
  if (bytes < count || (count > 0 && !to)) return CUBLAS_STATUS_INVALID_VALUE;
  if (count > 0) std::memcpy(to, from, count);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Descriptor, class Which>
cublasStatus_t get_attribute(const char* function, Descriptor* descriptor, Which which, void* value,
                             size_t bytes, size_t* written) {
  if (!descriptor) return CUBLAS_STATUS_INVALID_VALUE;
  const Attribute from = attribute_of(*descriptor, which);
  if (!from.data)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: %s is not supported on the CPU", function,
                  name_of(which));
  return give(from.data, from.bytes, value, bytes, written);
}

}  // namespace tenon::hostcuda

TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                               std::uint64_t rows, std::uint64_t columns,
                                               std::int64_t step) {
  *layout = {type, CUBLASLT_ORDER_COL, rows, columns, step};
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                                                 cudaDataType type,
                                                                 std::uint64_t rows,
                                                                 std::uint64_t columns,
                                                                 std::int64_t step) {
  *layout = new cublasLtMatrixLayoutOpaque_t;
  return cublasLtMatrixLayoutInit(*layout, type, rows, columns, step);
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, const void* value,
    size_t bytes) {
  return tenon::hostcuda::set_attribute("cublasLtMatrixLayoutSetAttribute", layout, which, value,
                                        bytes);
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatrixLayoutGetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, void* value, size_t bytes,
    size_t* written) {
  return tenon::hostcuda::get_attribute("cublasLtMatrixLayoutGetAttribute", layout, which, value,
                                        bytes, written);
}

inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t operation,
                                             cublasComputeType_t compute, cudaDataType scale) {
  *operation = {tenon::hostcuda::compute_type(compute), scale};
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                                               cublasComputeType_t compute,
                                                               cudaDataType scale) {
  *operation = new cublasLtMatmulDescOpaque_t;
  return cublasLtMatmulDescInit(*operation, compute, scale);
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete operation;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which,
                               const void* value, size_t bytes) {
  return tenon::hostcuda::set_attribute("cublasLtMatmulDescSetAttribute", operation, which, value,
                                        bytes);
}
TENON_LIBRARY_FUNCTION cublasStatus_t
cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which,
                               void* value, size_t bytes, size_t* written) {
  return tenon::hostcuda::get_attribute("cublasLtMatmulDescGetAttribute", operation, which, value,
                                        bytes, written);
}

TENON_LIBRARY_FUNCTION cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t, const void* value,
    size_t) {
  return preference && value ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoCheck(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  if (!algorithm || !result) return CUBLAS_STATUS_INVALID_VALUE;
  *result = {*algorithm,
             0,
             tenon::hostcuda::check({"cublasLtMatmulAlgoCheck", operation, a, b, c, d}),
             1.f,
             {}};
  return result->state;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t, int requested, cublasLtMatmulHeuristicResult_t* results,
    int* returned) {
  if (requested < 1 || !results || !returned) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  const cublasStatus_t status =
      tenon::hostcuda::check({"cublasLtMatmulAlgoGetHeuristic", operation, a, b, c, d});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *results = {{}, 0, CUBLAS_STATUS_SUCCESS, 1.f, {}};
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoGetIds(
    cublasLtHandle_t, cublasComputeType_t compute, cudaDataType, cudaDataType a, cudaDataType b,
    cudaDataType, cudaDataType d, int requested, int* ids, int* returned) {
  if (requested < 1 || !ids || !returned) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_there =
      a == b
      && tenon::hostcuda::with_types(tenon::hostcuda::compute_type(compute), a, d,
                                     [](auto*, auto*, auto*) { return CUBLAS_STATUS_SUCCESS; })
             == CUBLAS_STATUS_SUCCESS;
  *ids = 0;
  *returned = is_there;
  return is_there ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t,
                                                             cudaDataType, cudaDataType,
                                                             cudaDataType, cudaDataType,
                                                             cudaDataType, int id,
                                                             cublasLtMatmulAlgo_t* algorithm) {
  if (!algorithm || id != 0) return CUBLAS_STATUS_INVALID_VALUE;
  *algorithm = {};
  return CUBLAS_STATUS_SUCCESS;
}
/// What an algorithm is configured with is kept, and changes nothing.
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(
    cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t which, const void* value,
    size_t bytes) {
  if (!algorithm || !value || which > CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID || bytes > 4)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(reinterpret_cast<char*>(algorithm->data) + 4 * which, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t which, void* value,
    size_t bytes, size_t* written) {
  if (!algorithm || which > CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)
    return CUBLAS_STATUS_INVALID_VALUE;
  // What is about the shapes of tiles has two bytes.
  const size_t count = which < CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 4 : 2;
  return tenon::hostcuda::give(reinterpret_cast<const char*>(algorithm->data) + 4 * which, count,
                               value, bytes, written);
}
TENON_LIBRARY_FUNCTION cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(
    const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoCapAttributes_t which, void* value, size_t bytes,
    size_t* written) {
  const auto give = [&](auto number) {
    return tenon::hostcuda::give(&number, sizeof(number), value, bytes, written);
  };
  switch (which) {
    case CUBLASLT_ALGO_CAP_TILE_IDS:
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
      return tenon::hostcuda::give(nullptr, 0, value, bytes, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return give(std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA});
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:  // of the host, of the device
      return give(std::uint32_t{3});
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return give(std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_BIAS
                                | CUBLASLT_EPILOGUE_GELU_BIAS});
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return give(std::int32_t{1});
    default:
      return give(std::int32_t{0});
  }
}

/// d = f(alpha op(a) op(b) + beta c + bias), in the stream. c is not read if beta is 0. The bias
/// has a number for each row of d.
TENON_LIBRARY_FUNCTION cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
               cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
               const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
               cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, size_t,
               cudaStream_t stream) {
  const tenon::hostcuda::LtProduct product{"cublasLtMatmul", operation, a_layout,
                                           b_layout,         c_layout,  d_layout};
  const cublasStatus_t status = tenon::hostcuda::check(product);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (!alpha || !beta || !a || !b || !d
      || (tenon::hostcuda::has(operation->epilogue, CUBLASLT_EPILOGUE_BIAS) && !operation->bias))
    return tenon::hostcuda::refuse(CUBLAS_STATUS_INVALID_VALUE,
                                   "cublasLtMatmul: a pointer to numbers is null");
  return tenon::hostcuda::run(product, {alpha, beta, a, b, c, d}, stream);
}
