#include "cuda/cublas/product.h"

#include <array>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "cuda/check.h"
#include "cuda/cublas/library.h"

namespace tenon::cuda {
namespace {

// What is recommended for GPUs of compute capability 9; older ones need less.
constexpr uint64_t kMaxWorkspace = uint64_t{32} << 20;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_in("cuBLASLt", what, cublas_lt().GetStatusString(status));
}

// One for each GPU; any number of threads may use it. Never destroyed.
cublasLtHandle_t handle() {
  static std::mutex mutex;
  static auto& handles = *new std::vector<cublasLtHandle_t>;
  int device = 0;
  cuda::check(cudaGetDevice(&device), "asking for the current device");
  const std::lock_guard lock(mutex);
  const auto index = static_cast<size_t>(device);
  if (handles.size() <= index) handles.resize(index + 1);
  if (handles[index] == nullptr) check(cublas_lt().Create(&handles[index]), "starting");
  return handles[index];
}

cudaDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::kHALF:
      return CUDA_R_16F;
    case DataType::kBF16:
      return CUDA_R_16BF;
    case DataType::kINT8:
      return CUDA_R_8I;
    case DataType::kINT32:
      return CUDA_R_32I;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t arithmetic_of(const ProductForm& form) {
  if (form.result_type == DataType::kINT32) return CUBLAS_COMPUTE_32I;
  return form.tf32 && form.type == DataType::kFLOAT ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                    : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue_of(const ProductForm& form) {
  switch (form.activation) {
    case ProductActivation::kRelu:
      return form.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ProductActivation::kGelu:
      return form.has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case ProductActivation::kNone:
      break;
  }
  return form.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

template <class T>
void set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublas_lt().MatmulDescSetAttribute(d, attribute, &value, sizeof value),
        "describing a product");
}

template <class T>
void set(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  check(cublas_lt().MatrixLayoutSetAttribute(l, attribute, &value, sizeof value),
        "describing a matrix");
}

class Preference {
 public:
  explicit Preference(uint32_t alignment) {
    check(cublas_lt().MatmulPreferenceCreate(&preference_), "making preferences");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
    for (auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(which, alignment);
  }
  ~Preference() { cublas_lt().MatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  operator cublasLtMatmulPreference_t() const { return preference_; }

 private:
  template <class T> void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    check(cublas_lt().MatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
          "making preferences");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

int64_t version() {
  return static_cast<int64_t>(cublas_lt().GetVersion());
}

}  // namespace

std::string product_timing_id() {
  return fmt::format("cuBLASLt {}", version());
}

FieldList ProductAlgorithm::state() const {
  std::vector<int64_t> words(std::size(algorithm.data));
  std::memcpy(words.data(), algorithm.data, sizeof algorithm.data);
  return {
      {"library", version()}, {"algorithm", words}, {"workspace", static_cast<int64_t>(workspace)}};
}

std::vector<ProductAlgorithm> ProductAlgorithm::stored(const FieldList& state) {
  ProductAlgorithm made;
  bool fits = false;
  for (const auto& [name, value] : state) {
    if (name == "library") {
      const auto* number = std::get_if<int64_t>(&value);
      fits = number != nullptr && *number == version();
    } else if (const auto* words = std::get_if<std::vector<int64_t>>(&value)) {
      require(words->size() == std::size(made.algorithm.data),
              "an algorithm of cuBLASLt has {} words, expected {}", words->size(),
              std::size(made.algorithm.data));
      std::memcpy(made.algorithm.data, words->data(), sizeof made.algorithm.data);
    }
  }
  if (!fits) return {};
  return {made};  // fitted() asks for the workspace
}

void Product::Deleter::operator()(cublasLtMatmulDescOpaque_t* d) const {
  cublas_lt().MatmulDescDestroy(d);
}

void Product::Deleter::operator()(cublasLtMatrixLayoutOpaque_t* l) const {
  cublas_lt().MatrixLayoutDestroy(l);
}

// cuBLAS thinks in columns. A matrix in rows is, read by columns, its transpose, and the transpose
// of a product is the product of the transposes in the other order: so `b` comes first.
Product::Product(const ProductForm& form) : form_(form) {
  const cudaDataType_t scale = form.result_type == DataType::kINT32 ? CUDA_R_32I : CUDA_R_32F;
  cublasLtMatmulDesc_t description = nullptr;
  check(cublas_lt().MatmulDescCreate(&description, arithmetic_of(form), scale),
        "describing a product");
  description_.reset(description);
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(form.b.transposed));
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(form.a.transposed));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(form));
  if (form.has_bias) {
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(form.result_type));
    // Algorithms are suggested for an address that is there: any that is aligned as the bias is.
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, uintptr_t{256});
  }
  const auto stored = [&](const ProductForm::Matrix& m, int64_t rows, int64_t columns) {
    return m.transposed ? layout(form.type, rows, columns, m.row_step, m.batch_step)
                        : layout(form.type, columns, rows, m.row_step, m.batch_step);
  };
  a_ = stored(form.a, form.rows, form.depth);
  b_ = stored(form.b, form.depth, form.columns);
  result_ = layout(form.result_type, form.columns, form.rows, form.result_row_step,
                   form.result_batch_step);
}

Product::Layout Product::layout(DataType type, int64_t rows, int64_t columns, int64_t step,
                                int64_t batch_step) const {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublas_lt().MatrixLayoutCreate(&made, type_of(type), static_cast<uint64_t>(rows),
                                       static_cast<uint64_t>(columns), step),
        "describing a matrix");
  Layout owner(made);
  set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(form_.batch));
  set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_step);
  return owner;
}

std::vector<ProductAlgorithm> Product::suggestions(int max_count) const {
  const Preference preference(form_.alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(max_count));
  int count = 0;
  const cublasStatus_t status = cublas_lt().MatmulAlgoGetHeuristic(
      handle(), description_.get(), b_.get(), a_.get(), result_.get(), result_.get(), preference,
      max_count, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  check(status, "asking for algorithms");
  std::vector<ProductAlgorithm> list;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS)
      list.push_back({found[i].algo, found[i].workspaceSize});
  return list;
}

std::optional<ProductAlgorithm> Product::fitted(const ProductAlgorithm& algorithm) const {
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t status =
      cublas_lt().MatmulAlgoCheck(handle(), description_.get(), b_.get(), a_.get(), result_.get(),
                                  result_.get(), &algorithm.algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.state != CUBLAS_STATUS_SUCCESS
      || result.workspaceSize > kMaxWorkspace)
    return std::nullopt;
  return ProductAlgorithm{algorithm.algorithm, result.workspaceSize};
}

void Product::run(const ProductAlgorithm& algorithm, const ProductArguments& arguments,
                  cudaStream_t stream) const {
  const void* const tensors[] = {arguments.a, arguments.b,
                                 form_.has_added ? arguments.added : nullptr, arguments.result};
  check_alignment(tensors, form_.alignment);
  if (form_.has_bias) set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, arguments.bias);
  const float one = 1, added = form_.has_added ? 1 : 0;
  const int32_t whole_one = 1, whole_zero = 0;
  const bool whole = form_.result_type == DataType::kINT32;
  const void* alpha = whole ? static_cast<const void*>(&whole_one) : &one;
  const void* beta = whole ? static_cast<const void*>(&whole_zero) : &added;
  const void* c = form_.has_added ? arguments.added : arguments.result;
  check(cublas_lt().Matmul(handle(), description_.get(), alpha, arguments.b, b_.get(), arguments.a,
                           a_.get(), beta, c, result_.get(), arguments.result, result_.get(),
                           &algorithm.algorithm, arguments.workspace, algorithm.workspace, stream),
        "a product");
}

}  // namespace tenon::cuda
