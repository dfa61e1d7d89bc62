/// A product as cuBLASLt describes it: whether it can be computed, and the computation.
#pragma once
#pragma GCC system_header

#include "tenon/hostcuda/cublaslt_types.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {

/// d = f(alpha op(a) op(b) + beta c + bias), where f and the bias are the operation's.
struct LtProduct {
  const char* function;  ///< who asks for it, for messages
  const cublasLtMatmulDescOpaque_t* operation;
  const cublasLtMatrixLayoutOpaque_t *a, *b, *c, *d;
};

/// Says why, and gives the status.
template <class... Values>
cublasStatus_t refuse(cublasStatus_t status, const char* format, Values... values) {
  report(format, values...);
  return status;
}

inline bool is_transposed(cublasOperation_t operation) {
  return operation != CUBLAS_OP_N;
}
inline bool is_served(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return true;
    default:
      return false;
  }
}
inline bool has(cublasLtEpilogue_t epilogue, cublasLtEpilogue_t part) {
  return (epilogue & part) != 0;
}
inline cudaDataType scale_type(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    default:
      return CUDA_R_32F;
  }
}

/// Whether what the operation asks for is there.
inline cublasStatus_t check_operation(const LtProduct& product) {
  const cublasLtMatmulDescOpaque_t& operation = *product.operation;
  const bool is_integer = scale_type(operation.compute) == CUDA_R_32I;
  if (!is_served(operation.epilogue)
      || (is_integer && operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: %s%s is not supported on the CPU",
                  product.function, name_of(operation.epilogue), is_integer ? " of integers" : "");
  if (operation.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: %s is not supported on the CPU",
                  product.function, name_of(operation.pointer_mode));
  if (operation.c != CUBLAS_OP_N)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: a transposed C is not supported on the CPU",
                  product.function);
  if (has(operation.epilogue, CUBLASLT_EPILOGUE_BIAS) && operation.bias_type != -1
      && operation.bias_type != static_cast<int>(product.d->type))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "%s: a bias of another type (cudaDataType %d) than D (%d) is not supported on "
                  "the CPU",
                  product.function, operation.bias_type, product.d->type);
  const cublasStatus_t status =
      product.a->type == product.b->type && product.c->type == product.d->type
              && operation.scale == scale_type(operation.compute)
          ? with_types(operation.compute, product.a->type, product.d->type,
                       [](auto*, auto*, auto*) { return CUBLAS_STATUS_SUCCESS; })
          : CUBLAS_STATUS_NOT_SUPPORTED;
  if (status != CUBLAS_STATUS_SUCCESS)
    return refuse(status,
                  "%s: cudaDataType %d of A, %d of B, %d of C, %d of D and %d of alpha with "
                  "cublasComputeType_t %d are not supported on the CPU",
                  product.function, product.a->type, product.b->type, product.c->type,
                  product.d->type, operation.scale, operation.compute);
  return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t check_layout(const char* function, char name,
                                   const cublasLtMatrixLayoutOpaque_t& layout, int batch_count) {
  const bool is_by_row = layout.order == CUBLASLT_ORDER_ROW;
  if (!is_by_row && layout.order != CUBLASLT_ORDER_COL)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "%s: %s of %c is not supported on the CPU", function,
                  name_of(layout.order), name);
  const std::uint64_t least = is_by_row ? layout.columns : layout.rows;
  if (layout.step < 0 || static_cast<std::uint64_t>(layout.step) < least)
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "%s: the leading dimension of %c is %lld, and has to be at least %llu", function,
                  name, static_cast<long long>(layout.step),
                  static_cast<unsigned long long>(least));
  if (layout.batch_count != batch_count)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "%s: %c has a batch of %d, and D of %d", function,
                  name, layout.batch_count, batch_count);
  return CUBLAS_STATUS_SUCCESS;
}

/// CUBLAS_STATUS_SUCCESS if it can be computed; else the reason has been said.
inline cublasStatus_t check(const LtProduct& product) {
  const auto& [function, operation, a, b, c, d] = product;
  if (!operation || !a || !b || !c || !d)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "%s: a descriptor is null", function);
  if (const cublasStatus_t status = check_operation(product)) return status;
  const std::pair<char, const cublasLtMatrixLayoutOpaque_t*> matrices[] = {
      {'A', a}, {'B', b}, {'C', c}, {'D', d}};
  for (const auto& [name, layout] : matrices)
    if (const cublasStatus_t status = check_layout(function, name, *layout, d->batch_count))
      return status;
  const bool ta = is_transposed(operation->a), tb = is_transposed(operation->b);
  const std::uint64_t rows = ta ? a->columns : a->rows, depth = ta ? a->rows : a->columns;
  if (rows != d->rows || depth != (tb ? b->columns : b->rows)
      || (tb ? b->rows : b->columns) != d->columns || c->rows != d->rows
      || c->columns != d->columns)
    return refuse(
        CUBLAS_STATUS_INVALID_VALUE,
        "%s: op(A) is %llux%llu, op(B) %llux%llu, C %llux%llu and D %llux%llu: they are "
        "no product",
        function, static_cast<unsigned long long>(rows), static_cast<unsigned long long>(depth),
        static_cast<unsigned long long>(tb ? b->columns : b->rows),
        static_cast<unsigned long long>(tb ? b->rows : b->columns),
        static_cast<unsigned long long>(c->rows), static_cast<unsigned long long>(c->columns),
        static_cast<unsigned long long>(d->rows), static_cast<unsigned long long>(d->columns));
  return CUBLAS_STATUS_SUCCESS;
}

/// One matrix of a batch.
template <class T>
Matrix<T> matrix_of(const cublasLtMatrixLayoutOpaque_t& layout, T* data, int index,
                    cublasOperation_t operation) {
  return matrix(data + index * layout.batch_step, layout.step,
                (layout.order == CUBLASLT_ORDER_ROW) != is_transposed(operation));
}

/// GELU is the approximation by tanh, as cuBLASLt's: x (1 + tanh u) / 2 = x / (1 + exp(-2 u)).
template <class Sum> Sum activate(cublasLtEpilogue_t epilogue, Sum x) {
  if (has(epilogue, CUBLASLT_EPILOGUE_RELU)) return x < Sum{0} ? Sum{0} : x;
  if constexpr (!std::is_integral_v<Sum>)
    if (has(epilogue, CUBLASLT_EPILOGUE_GELU)) {
      const Sum u = Sum(0.79788456080286536) * (x + Sum(0.044715) * x * x * x);
      return x / (1 + std::exp(-2 * u));
    }
  return x;
}

/// Where the numbers are.
struct LtNumbers {
  const void *alpha, *beta, *a, *b, *c;
  void* d;
};

template <class Scale, class Sum, class T, class C>
cudaError_t compute(const LtProduct& product, const LtNumbers& numbers, cudaStream_t stream) {
  const auto read = [](const void* factor) {
    return static_cast<Sum>(*static_cast<const Scale*>(factor));
  };
  // Factors of the host are read now, those of the device when the work runs.
  const bool is_late = product.operation->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const Sum alpha_now = is_late ? Sum{} : read(numbers.alpha),
            beta_now = is_late ? Sum{} : read(numbers.beta);
  const auto work = [=, operation = *product.operation, la = *product.a, lb = *product.b,
                     lc = *product.c, ld = *product.d] {
    const Sum alpha = is_late ? read(numbers.alpha) : alpha_now,
              beta = is_late ? read(numbers.beta) : beta_now;
    for (int i = 0; i < ld.batch_count; ++i) {
      const auto a = matrix_of(la, static_cast<const T*>(numbers.a), i, operation.a);
      const auto b = matrix_of(lb, static_cast<const T*>(numbers.b), i, operation.b);
      const auto c = matrix_of(lc, static_cast<const C*>(numbers.c), i, CUBLAS_OP_N);
      const auto d = matrix_of(ld, static_cast<C*>(numbers.d), i, CUBLAS_OP_N);
      const auto* const bias =
          has(operation.epilogue, CUBLASLT_EPILOGUE_BIAS)
              ? static_cast<const C*>(operation.bias) + i * operation.bias_batch_step
              : nullptr;
      const auto depth = static_cast<long>(is_transposed(operation.a) ? la.rows : la.columns);
      multiply<Sum>(static_cast<long>(ld.rows), static_cast<long>(ld.columns), depth, a, b,
                    [=](long row, long column, Sum sum) {
                      Sum value = alpha * sum;
                      if (beta != Sum{0}) value += beta * static_cast<Sum>(*c.at(row, column));
                      if (bias) value += static_cast<Sum>(bias[row]);
                      *d.at(row, column) = static_cast<C>(activate(operation.epilogue, value));
                    });
    }
  };
  return put_into(stream, work);
}

/// Puts a product that has been checked into the stream.
inline cublasStatus_t run(const LtProduct& product, const LtNumbers& numbers, cudaStream_t stream) {
  const cublasComputeType_t how = product.operation->compute;
  return with_types(how, product.a->type, product.d->type, [&](auto* sum, auto* ab, auto* cd) {
    using Sum = std::remove_pointer_t<decltype(sum)>;
    using T = std::remove_pointer_t<decltype(ab)>;
    using C = std::remove_pointer_t<decltype(cd)>;
    const cudaError_t error = has_half_scalars(how)
                                  ? compute<__half, float, T, C>(product, numbers, stream)
                                  : compute<Sum, Sum, T, C>(product, numbers, stream);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

}  // namespace tenon::hostcuda
