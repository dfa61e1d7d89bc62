// cuBLASLt.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "suite.h"

// Eighths, whose products and sums are exact in any order.
template <class T> static T number(size_t i) {
  return T(static_cast<float>(static_cast<int>(i * 29 % 17) - 8) / 8);
}
template <> signed char number<signed char>(size_t i) {
  return static_cast<signed char>(static_cast<int>(i * 29 % 255) - 127);
}

static void require(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::printf("%s: %d\n", what, status);
  std::exit(2);
}

template <class T> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr cudaDataType value = CUDA_R_32F;
};
template <> struct TypeOf<double> {
  static constexpr cudaDataType value = CUDA_R_64F;
};
template <> struct TypeOf<__half> {
  static constexpr cudaDataType value = CUDA_R_16F;
};
template <> struct TypeOf<__nv_bfloat16> {
  static constexpr cudaDataType value = CUDA_R_16BF;
};
template <> struct TypeOf<signed char> {
  static constexpr cudaDataType value = CUDA_R_8I;
};
template <> struct TypeOf<int> {
  static constexpr cudaDataType value = CUDA_R_32I;
};

// A matrix of a batch as a test has it: `gap` elements lie between its lines and its matrices.
struct Shape {
  int rows, columns, count;
  bool is_by_row;
  int gap;

  int step() const { return (is_by_row ? columns : rows) + gap; }
  int batch_step() const { return step() * (is_by_row ? rows : columns) + gap; }
  size_t size() const { return static_cast<size_t>(batch_step() * count); }
  size_t at(int index, int row, int column) const {
    return static_cast<size_t>(index * batch_step()
                               + (is_by_row ? row * step() + column : row + column * step()));
  }
};

class Layout {
 public:
  Layout(const Shape& shape, cudaDataType type) {
    require(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<uint64_t>(shape.rows),
                                       static_cast<uint64_t>(shape.columns), shape.step()),
            "cublasLtMatrixLayoutCreate");
    set(CUBLASLT_MATRIX_LAYOUT_ORDER,
        static_cast<int>(shape.is_by_row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL));
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, shape.count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{shape.batch_step()});
  }
  Layout(const Layout&) = delete;
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  operator cublasLtMatrixLayout_t() const { return layout_; }

 private:
  template <class T> void set(cublasLtMatrixLayoutAttribute_t which, T value) {
    require(cublasLtMatrixLayoutSetAttribute(layout_, which, &value, sizeof(value)),
            "cublasLtMatrixLayoutSetAttribute");
  }
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Operation {
 public:
  Operation(cublasComputeType_t compute, cudaDataType scale) {
    require(cublasLtCreate(&handle_), "cublasLtCreate");
    require(cublasLtMatmulDescCreate(&operation_, compute, scale), "cublasLtMatmulDescCreate");
  }
  Operation(const Operation&) = delete;
  ~Operation() {
    cublasLtMatmulDescDestroy(operation_);
    cublasLtDestroy(handle_);
  }
  template <class T> void set(cublasLtMatmulDescAttributes_t which, T value) {
    require(cublasLtMatmulDescSetAttribute(operation_, which, &value, sizeof(value)),
            "cublasLtMatmulDescSetAttribute");
  }
  cublasLtHandle_t handle() const { return handle_; }
  operator cublasLtMatmulDesc_t() const { return operation_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
};

// What one product is made of.
struct Setting {
  bool ta, tb;
  Shape a, b, c, d;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};

static double activated(cublasLtEpilogue_t epilogue, double x) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return std::max(x, 0.0);
  if (epilogue & CUBLASLT_EPILOGUE_GELU)
    return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  return x;
}

// Of many numbers some, and the sum of all.
template <class C> static std::vector<C> thinned(const std::vector<C>& all) {
  if (all.size() < 1000) return all;
  std::vector<C> some(1, C(0.f));
  for (size_t i = 0; i < all.size(); ++i) {
    some[0] = C(static_cast<float>(suite::number(some[0]) + std::fabs(suite::number(all[i]))));
    if (i % 97 == 0) some.push_back(all[i]);
  }
  return some;
}

// Computes d = f(2 op(a) op(b) + 3 c + bias) and compares with sums of doubles; what lies between
// the lines of d stays as it was.
template <class T, class C, class Scale>
static void product(const char* what, const Setting& s, cublasComputeType_t compute,
                    double most_ulps = 0) {
  const bool has_bias = s.epilogue & CUBLASLT_EPILOGUE_BIAS;
  const auto a = suite::made(s.a.size(), number<T>), b = suite::made(s.b.size(), number<T>);
  const auto c = suite::made(s.c.size(), [](size_t i) { return C(static_cast<float>(i % 5)); });
  const auto bias = suite::made(static_cast<size_t>(s.d.rows),
                                [](size_t i) { return C(static_cast<float>(i) / 4 - 1); });
  std::vector<C> d(s.d.size(), C(77.f)), want = d;
  for (int i = 0; i < s.d.count; ++i)
    for (int row = 0; row < s.d.rows; ++row)
      for (int column = 0; column < s.d.columns; ++column) {
        double sum = 0;
        for (int p = 0; p < (s.ta ? s.a.rows : s.a.columns); ++p)
          sum += suite::number(a[s.ta ? s.a.at(i, p, row) : s.a.at(i, row, p)])
                 * suite::number(b[s.tb ? s.b.at(i, column, p) : s.b.at(i, p, column)]);
        double value = 2 * sum + 3 * suite::number(c[s.c.at(i, row, column)]);
        if (has_bias) value += suite::number(bias[static_cast<size_t>(row)]);
        value = activated(s.epilogue, value);
        if constexpr (std::is_same_v<C, int>)
          want[s.d.at(i, row, column)] = static_cast<int>(value);
        else
          want[s.d.at(i, row, column)] = C(static_cast<float>(value));
      }

  const suite::Buffer<T> left(a), right(b);
  const suite::Buffer<C> before(c), result(d), vector(bias);
  Operation operation(compute, TypeOf<Scale>::value);
  operation.set(CUBLASLT_MATMUL_DESC_TRANSA, s.ta ? CUBLAS_OP_T : CUBLAS_OP_N);
  operation.set(CUBLASLT_MATMUL_DESC_TRANSB, s.tb ? CUBLAS_OP_T : CUBLAS_OP_N);
  operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, s.epilogue);
  if (has_bias) operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector.data());
  const Layout la(s.a, TypeOf<T>::value), lb(s.b, TypeOf<T>::value), lc(s.c, TypeOf<C>::value),
      ld(s.d, TypeOf<C>::value);

  cublasLtMatmulPreference_t preference = nullptr;
  require(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const size_t none = 0;
  require(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &none, sizeof(none)),
          "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  require(cublasLtMatmulAlgoGetHeuristic(operation.handle(), operation, la, lb, lc, ld, preference,
                                         1, &found, &count),
          "cublasLtMatmulAlgoGetHeuristic");
  cublasLtMatmulPreferenceDestroy(preference);
  const Scale alpha(2), beta(3);
  require(count == 1
              ? cublasLtMatmul(operation.handle(), operation, &alpha, left, la, right, lb, &beta,
                               before, lc, result, ld, &found.algo, nullptr, 0, nullptr)
              : CUBLAS_STATUS_NOT_SUPPORTED,
          what);
  suite::check(what, thinned(result.read()), thinned(want), most_ulps);
}

// op(a) is m x k, op(b) k x n.
static Setting usual(bool ta, bool tb, int m, int n, int k, int count = 1, int gap = 0) {
  return {ta,
          tb,
          {ta ? k : m, ta ? m : k, count, false, gap},
          {tb ? n : k, tb ? k : n, count, false, gap},
          {m, n, count, false, gap},
          {m, n, count, false, gap}};
}

KERNEL_CASE(light_products) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const std::string way = std::string(ta ? "t" : "n") + (tb ? "t" : "n");
      product<float, float, float>(("floats_" + way).c_str(), usual(ta, tb, 5, 4, 7),
                                   CUBLAS_COMPUTE_32F);
    }
  product<float, float, float>("gaps", usual(true, false, 4, 8, 4, 3, 4), CUBLAS_COMPUTE_32F);
  // More rows, columns and depth than one part of a product has.
  product<float, float, float>("large", usual(false, true, 132, 52, 260), CUBLAS_COMPUTE_32F);
}

// Rows that lie one after another, in each of the matrices.
KERNEL_CASE(light_products_by_row) {
  for (int which = 0; which < 4; ++which) {
    Setting setting = usual(false, true, 8, 4, 12, 2, 4);
    if (which == 0) setting.a.is_by_row = true;
    if (which == 1) setting.b.is_by_row = true;
    if (which >= 2) setting.c.is_by_row = setting.d.is_by_row = true;
    if (which == 3) setting.a.is_by_row = setting.b.is_by_row = true;
    product<float, float, float>(("abdx"[which] + std::string("_by_row")).c_str(), setting,
                                 CUBLAS_COMPUTE_32F);
  }
}

KERNEL_CASE(light_products_of_types) {
  const Setting setting = usual(true, false, 8, 4, 16);
  product<__half, __half, float>("halves", setting, CUBLAS_COMPUTE_32F, 0.5);
  product<__half, __half, __half>("halves_in_halves", setting, CUBLAS_COMPUTE_16F, 0.5);
  product<__half, float, float>("halves_to_floats", setting, CUBLAS_COMPUTE_32F);
  product<__nv_bfloat16, __nv_bfloat16, float>("bfloats", setting, CUBLAS_COMPUTE_32F, 0.5);
  product<__nv_bfloat16, float, float>("bfloats_to_floats", setting, CUBLAS_COMPUTE_32F);
  product<double, double, double>("doubles", setting, CUBLAS_COMPUTE_64F);
  product<signed char, int, int>("integers", setting, CUBLAS_COMPUTE_32I);
}

KERNEL_CASE(light_epilogues) {
  const std::pair<const char*, cublasLtEpilogue_t> epilogues[] = {
      {"relu", CUBLASLT_EPILOGUE_RELU},           {"bias", CUBLASLT_EPILOGUE_BIAS},
      {"relu_bias", CUBLASLT_EPILOGUE_RELU_BIAS}, {"gelu", CUBLASLT_EPILOGUE_GELU},
      {"gelu_bias", CUBLASLT_EPILOGUE_GELU_BIAS},
  };
  for (const auto& [name, epilogue] : epilogues) {
    Setting setting = usual(true, false, 8, 4, 4, 2);
    setting.epilogue = epilogue;
    // cuBLASLt approximates tanh: small results differ by up to 813 of the last places on an H200.
    const bool is_gelu = epilogue & CUBLASLT_EPILOGUE_GELU;
    product<float, float, float>(name, setting, CUBLAS_COMPUTE_32F, is_gelu ? 1024 : 0);
    product<__half, __half, float>((std::string("half_") + name).c_str(), setting,
                                   CUBLAS_COMPUTE_32F, is_gelu ? 1 : 0.5);
  }
}

// Factors in the device's memory, in a stream, onto a result that is NaN and not read.
KERNEL_CASE(light_factors) {
  const Shape square{4, 4, 1, false, 0};
  const suite::Buffer<float> a(suite::made(16, number<float>)), b(suite::made(16, number<float>));
  const suite::Buffer<float> d(std::vector<float>(16, NAN)), factors(std::vector<float>{2, 0});
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Operation operation(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  operation.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  const Layout layout(square, CUDA_R_32F);
  require(cublasLtMatmul(operation.handle(), operation, factors, a, layout, b, layout,
                         factors.data() + 1, d, layout, d, layout, nullptr, nullptr, 0, stream),
          "cublasLtMatmul");
  suite::require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::vector<float> want;
  for (size_t column = 0; column < 4; ++column)
    for (size_t row = 0; row < 4; ++row) {
      float sum = 0;
      for (size_t p = 0; p < 4; ++p)
        sum += number<float>(row + p * 4) * number<float>(p + column * 4);
      want.push_back(2 * sum);
    }
  suite::check("of_the_device", d.read(), want);
  cudaStreamDestroy(stream);
}

// Shapes that are no product, and sizes of attributes that are not theirs.
KERNEL_CASE(light_mistakes) {
  Operation operation(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const Layout square({4, 4, 1, false, 0}, CUDA_R_32F), wide({4, 8, 1, false, 0}, CUDA_R_32F),
      tall({8, 4, 1, false, 0}, CUDA_R_32F);
  const suite::Buffer<float> memory(size_t{32});
  const float one = 1;
  const auto multiply = [&](cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t d) {
    return static_cast<int>(cublasLtMatmul(operation.handle(), operation, &one, memory, a, memory,
                                           square, &one, memory, d, memory, d, nullptr, nullptr, 0,
                                           nullptr));
  };
  const short small = 4;
  const int size =
      cublasLtMatrixLayoutSetAttribute(square, CUBLASLT_MATRIX_LAYOUT_ROWS, &small, sizeof(small));
  suite::check("statuses",
               std::vector<int>{multiply(wide, square), multiply(square, wide),
                                multiply(tall, square), size, multiply(square, square)},
               std::vector<int>{CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE,
                                CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE,
                                CUBLAS_STATUS_SUCCESS});
  cudaDeviceSynchronize();
}

// cuBLAS sums integers, too.
KERNEL_CASE(products_of_integers) {
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle), "cublasCreate");
  const auto a = suite::made(32, number<signed char>), b = suite::made(16, number<signed char>);
  const suite::Buffer<signed char> left(a), right(b);
  const suite::Buffer<int> out(std::vector<int>(32, 5));
  const int two = 2, three = 3;
  require(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 4, 4, &two, left, CUDA_R_8I, 8, right,
                       CUDA_R_8I, 4, &three, out, CUDA_R_32I, 8, CUBLAS_COMPUTE_32I,
                       CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  std::vector<int> want;
  for (size_t column = 0; column < 4; ++column)
    for (size_t row = 0; row < 8; ++row) {
      int sum = 0;
      for (size_t p = 0; p < 4; ++p) sum += a[row + p * 8] * b[p + column * 4];
      want.push_back(2 * sum + 15);
    }
  suite::check("sums", out.read(), want);
  cublasDestroy(handle);
}
