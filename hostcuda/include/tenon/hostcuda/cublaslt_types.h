/// cuBLASLt's enumerations, with their names for messages, and its descriptors.
#pragma once
#pragma GCC system_header

#include <cublas_v2.h>

#include <cstdint>

#define TENON_ENUMERATOR(prefix, name, value) prefix##name = value,
#define TENON_NAME(prefix, name, value) \
  case prefix##name:                    \
    return #prefix #name;
/// An enumeration, and name_of() its values.
#define TENON_NAMED_ENUM(type, prefix, list)            \
  typedef enum { list(TENON_ENUMERATOR, prefix) } type; \
  namespace tenon::hostcuda {                           \
  inline const char* name_of(type value) {              \
    switch (value) { list(TENON_NAME, prefix) }         \
    return "an unknown value";                          \
  }                                                     \
  }

// clang-format off
#define TENON_LT_ORDERS(X, p) \
  X(p, COL, 0) X(p, ROW, 1) X(p, COL32, 2) X(p, COL4_4R2_8C, 3) X(p, COL32_2R_4R4, 4)
#define TENON_LT_POINTER_MODES(X, p) \
  X(p, HOST, 0) X(p, DEVICE, 1) X(p, DEVICE_VECTOR, 2) X(p, ALPHA_DEVICE_VECTOR_BETA_ZERO, 3) \
  X(p, ALPHA_DEVICE_VECTOR_BETA_HOST, 4)
#define TENON_LT_EPILOGUES(X, p) \
  X(p, DEFAULT, 1) X(p, RELU, 2) X(p, RELU_AUX, 130) X(p, BIAS, 4) X(p, RELU_BIAS, 6) \
  X(p, RELU_AUX_BIAS, 134) X(p, DRELU, 136) X(p, DRELU_BGRAD, 152) X(p, GELU, 32) \
  X(p, GELU_AUX, 160) X(p, GELU_BIAS, 36) X(p, GELU_AUX_BIAS, 164) X(p, DGELU, 192) \
  X(p, DGELU_BGRAD, 208) X(p, BGRADA, 256) X(p, BGRADB, 512)
#define TENON_LT_LAYOUT_ATTRIBUTES(X, p) \
  X(p, TYPE, 0) X(p, ORDER, 1) X(p, ROWS, 2) X(p, COLS, 3) X(p, LD, 4) X(p, BATCH_COUNT, 5) \
  X(p, STRIDED_BATCH_OFFSET, 6) X(p, PLANE_OFFSET, 7) X(p, BATCH_MODE, 8)
#define TENON_LT_OPERATION_ATTRIBUTES(X, p) \
  X(p, COMPUTE_TYPE, 0) X(p, SCALE_TYPE, 1) X(p, POINTER_MODE, 2) X(p, TRANSA, 3) X(p, TRANSB, 4) \
  X(p, TRANSC, 5) X(p, FILL_MODE, 6) X(p, EPILOGUE, 7) X(p, BIAS_POINTER, 8) \
  X(p, BIAS_BATCH_STRIDE, 10) X(p, EPILOGUE_AUX_POINTER, 11) X(p, EPILOGUE_AUX_LD, 12) \
  X(p, EPILOGUE_AUX_BATCH_STRIDE, 13) X(p, ALPHA_VECTOR_BATCH_STRIDE, 14) \
  X(p, SM_COUNT_TARGET, 15) X(p, A_SCALE_POINTER, 17) X(p, B_SCALE_POINTER, 18) \
  X(p, C_SCALE_POINTER, 19) X(p, D_SCALE_POINTER, 20) X(p, AMAX_D_POINTER, 21) \
  X(p, EPILOGUE_AUX_DATA_TYPE, 22) X(p, EPILOGUE_AUX_SCALE_POINTER, 23) \
  X(p, EPILOGUE_AUX_AMAX_POINTER, 24) X(p, FAST_ACCUM, 25) X(p, BIAS_DATA_TYPE, 26) \
  X(p, A_SCALE_MODE, 31) X(p, B_SCALE_MODE, 32) X(p, C_SCALE_MODE, 33) X(p, D_SCALE_MODE, 34) \
  X(p, EPILOGUE_AUX_SCALE_MODE, 35) X(p, D_OUT_SCALE_POINTER, 36) X(p, D_OUT_SCALE_MODE, 37)
#define TENON_LT_PREFERENCES(X, p) \
  X(p, SEARCH_MODE, 0) X(p, MAX_WORKSPACE_BYTES, 1) X(p, REDUCTION_SCHEME_MASK, 3) \
  X(p, MIN_ALIGNMENT_A_BYTES, 5) X(p, MIN_ALIGNMENT_B_BYTES, 6) X(p, MIN_ALIGNMENT_C_BYTES, 7) \
  X(p, MIN_ALIGNMENT_D_BYTES, 8) X(p, MAX_WAVES_COUNT, 9) X(p, IMPL_MASK, 12)
#define TENON_LT_CAPABILITIES(X, p) \
  X(p, SPLITK_SUPPORT, 0) X(p, REDUCTION_SCHEME_MASK, 1) X(p, CTA_SWIZZLING_SUPPORT, 2) \
  X(p, STRIDED_BATCH_SUPPORT, 3) X(p, OUT_OF_PLACE_RESULT_SUPPORT, 4) X(p, UPLO_SUPPORT, 5) \
  X(p, TILE_IDS, 6) X(p, CUSTOM_OPTION_MAX, 7) X(p, CUSTOM_MEMORY_ORDER, 10) \
  X(p, POINTER_MODE_MASK, 11) X(p, EPILOGUE_MASK, 12) X(p, STAGES_IDS, 13) X(p, LD_NEGATIVE, 14) \
  X(p, NUMERICAL_IMPL_FLAGS, 15) X(p, MIN_ALIGNMENT_A_BYTES, 16) X(p, MIN_ALIGNMENT_B_BYTES, 17) \
  X(p, MIN_ALIGNMENT_C_BYTES, 18) X(p, MIN_ALIGNMENT_D_BYTES, 19)
#define TENON_LT_CONFIGURATIONS(X, p) \
  X(p, ID, 0) X(p, TILE_ID, 1) X(p, SPLITK_NUM, 2) X(p, REDUCTION_SCHEME, 3) \
  X(p, CTA_SWIZZLING, 4) X(p, CUSTOM_OPTION, 5) X(p, STAGES_ID, 6) X(p, INNER_SHAPE_ID, 7) \
  X(p, CLUSTER_SHAPE_ID, 8)

TENON_NAMED_ENUM(cublasLtOrder_t, CUBLASLT_ORDER_, TENON_LT_ORDERS)
TENON_NAMED_ENUM(cublasLtPointerMode_t, CUBLASLT_POINTER_MODE_, TENON_LT_POINTER_MODES)
TENON_NAMED_ENUM(cublasLtEpilogue_t, CUBLASLT_EPILOGUE_, TENON_LT_EPILOGUES)
TENON_NAMED_ENUM(cublasLtMatrixLayoutAttribute_t, CUBLASLT_MATRIX_LAYOUT_, TENON_LT_LAYOUT_ATTRIBUTES)
TENON_NAMED_ENUM(cublasLtMatmulDescAttributes_t, CUBLASLT_MATMUL_DESC_, TENON_LT_OPERATION_ATTRIBUTES)
TENON_NAMED_ENUM(cublasLtMatmulPreferenceAttributes_t, CUBLASLT_MATMUL_PREF_, TENON_LT_PREFERENCES)
TENON_NAMED_ENUM(cublasLtMatmulAlgoCapAttributes_t, CUBLASLT_ALGO_CAP_, TENON_LT_CAPABILITIES)
TENON_NAMED_ENUM(cublasLtMatmulAlgoConfigAttributes_t, CUBLASLT_ALGO_CONFIG_, TENON_LT_CONFIGURATIONS)
typedef enum { CUBLASLT_SEARCH_BEST_FIT = 0, CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID = 1 } cublasLtMatmulSearch_t;
typedef enum {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0, CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
  CUBLASLT_REDUCTION_SCHEME_MASK = 7,
} cublasLtReductionScheme_t;
typedef enum { CUBLASLT_MATMUL_TILE_UNDEFINED = 0 } cublasLtMatmulTile_t;
// clang-format on
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA 1ull
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA 2ull

#undef TENON_ENUMERATOR
#undef TENON_NAME
#undef TENON_NAMED_ENUM

struct cublasLtContext {};
typedef struct cublasLtContext* cublasLtHandle_t;

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type = CUDA_R_32F;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t step = 0;  ///< from column to column, or from row to row
  std::int32_t batch_count = 1;
  std::int64_t batch_step = 0;
};
typedef cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  cublasLtPointerMode_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N, c = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int64_t bias_batch_step = 0;
  std::int32_t bias_type = -1;  ///< that of the result
  // Of no effect here.
  std::int32_t multiprocessors = 0;
  std::int8_t is_fast = 0;
};
typedef cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;

/// Nothing that is preferred changes what is done here.
struct cublasLtMatmulPreferenceOpaque_t {};
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;

/// The only one is 0; it keeps what it is configured with.
typedef struct {
  std::uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;
