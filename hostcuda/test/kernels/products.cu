// cuBLAS.
#include <cublas_v2.h>

#include "suite.h"

template <class T> T element(size_t i) {
  return T(static_cast<float>(static_cast<int>(i * 29 % 17) - 8) / 4);
}

// c = 2 op(a) op(b) + 0.5 c, columns first.
static std::vector<float> expected(bool ta, bool tb, int m, int n, int k) {
  std::vector<float> c;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum +=
            static_cast<double>(element<float>(static_cast<size_t>(ta ? p + i * k : i + p * m)))
            * static_cast<double>(element<float>(static_cast<size_t>(tb ? j + p * n : p + j * k)));
      c.push_back(static_cast<float>(2 * sum + 0.5));
    }
  return c;
}

template <class T> static suite::Buffer<T> matrix(int count) {
  return suite::Buffer<T>(suite::made(static_cast<size_t>(count), element<T>));
}

KERNEL_CASE(products_of_matrices) {
  constexpr int m = 5, n = 4, k = 7;
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) std::exit(2);
  for (int way = 0; way < 4; ++way) {
    const bool ta = way & 1, tb = way & 2;
    const auto a = matrix<float>(m * k), b = matrix<float>(k * n);
    suite::Buffer<float> c(std::vector<float>(m * n, 1));
    const float alpha = 2, beta = 0.5f;
    if (cublasSgemm(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k,
                    &alpha, a, ta ? k : m, b, tb ? n : k, &beta, c, m)
        != CUBLAS_STATUS_SUCCESS)
      std::exit(2);
    suite::check("floats", c.read(), expected(ta, tb, m, n, k), 1);
  }
  const auto a = matrix<__half>(m * k), b = matrix<__half>(k * n);
  suite::Buffer<__half> c(std::vector<__half>(2 * m * n, __half(1.f)));
  const __half alpha(2.f), beta(0.5f);
  if (cublasHgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, m, 0, b, k, 0,
                                &beta, c, m, m * n, 2)
      != CUBLAS_STATUS_SUCCESS)
    std::exit(2);
  std::vector<float> got, want = expected(false, false, m, n, k);
  for (const __half value : c.read()) got.push_back(__half2float(value));
  want.insert(want.end(), want.begin(), want.end());
  suite::check("halves", got, want);
  cublasDestroy(handle);
}

static cublasHandle_t made_handle() {
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) std::exit(2);
  return handle;
}
static void require(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::printf("%s: %d\n", what, status);
  std::exit(2);
}
static cublasOperation_t operation(bool is_transposed) {
  return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// More rows, columns and depth than one part of a product has, and a part of each left over.
KERNEL_CASE(large_products) {
  constexpr int m = 150, n = 53, k = 300;
  cublasHandle_t handle = made_handle();
  for (const bool is_transposed : {false, true}) {
    const auto a = matrix<float>(m * k), b = matrix<float>(k * n);
    suite::Buffer<float> c(std::vector<float>(m * n, 1));
    const float alpha = 2, beta = 0.5f;
    require(cublasSgemm(handle, operation(is_transposed), operation(!is_transposed), m, n, k,
                        &alpha, a, is_transposed ? k : m, b, is_transposed ? k : n, &beta, c, m),
            "cublasSgemm");
    std::vector<float> want = expected(is_transposed, !is_transposed, m, n, k);
    std::vector<float> got = c.read(), sums(1), wanted(1);
    for (size_t i = 0; i < got.size(); ++i) {  // some, and the sum of all
      sums[0] += std::fabs(got[i]);
      wanted[0] += std::fabs(want[i]);
      if (i % 97 == 0) sums.push_back(got[i]), wanted.push_back(want[i]);
    }
    suite::check(is_transposed ? "first_transposed" : "second_transposed", sums, wanted);
  }
  cublasDestroy(handle);
}

// Sums of products of eighths are exact in any order.
KERNEL_CASE(products_of_types) {
  constexpr int m = 6, n = 3, k = 9;
  cublasHandle_t handle = made_handle();
  const auto a = matrix<double>(m * k), b = matrix<double>(k * n);
  suite::Buffer<double> c(std::vector<double>(m * n, 1));
  const double alpha = 2, beta = 0.5;
  require(cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, a, k, b, k, &beta, c, m),
          "cublasDgemm");
  suite::check("doubles", c.read(), expected(true, false, m, n, k));
  const auto mixed = [&](const char* what, auto* element_type, cudaDataType ab, auto* result_type,
                         cudaDataType type) {
    using T = std::remove_pointer_t<decltype(element_type)>;
    using C = std::remove_pointer_t<decltype(result_type)>;
    const auto left = matrix<T>(m * k), right = matrix<T>(k * n);
    suite::Buffer<C> out(std::vector<C>(m * n, C(1.f)));
    const float two = 2, half = 0.5f;
    require(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &two, left, ab, m, right, ab, n,
                         &half, out, type, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            what);
    suite::check(what, out.read(), expected(false, true, m, n, k),
                 suite::kDigits<C> == 8 ? 0.5 : 0);
  };
  mixed("halves", (__half*)nullptr, CUDA_R_16F, (__half*)nullptr, CUDA_R_16F);
  mixed("halves_to_floats", (__half*)nullptr, CUDA_R_16F, (float*)nullptr, CUDA_R_32F);
  mixed("bfloats", (__nv_bfloat16*)nullptr, CUDA_R_16BF, (__nv_bfloat16*)nullptr, CUDA_R_16BF);
  mixed("bfloats_to_floats", (__nv_bfloat16*)nullptr, CUDA_R_16BF, (float*)nullptr, CUDA_R_32F);
  cublasDestroy(handle);
}

KERNEL_CASE(products_in_batches) {
  constexpr int m = 4, n = 5, k = 6, count = 3;
  cublasHandle_t handle = made_handle();
  const auto a = matrix<float>(m * k), b = matrix<float>(k * n);
  suite::Buffer<float> c(std::vector<float>(count * m * n, 1));
  suite::Buffer<const float*> left(std::vector<const float*>(count, a.data())),
      right(std::vector<const float*>(count, b.data()));
  suite::Buffer<float*> out(std::vector<float*>{c.data() + 2 * m * n, c.data(), c.data() + m * n});
  const float alpha = 2, beta = 0.5f;
  for (const bool is_transposed : {false, true}) {
    require(cublasSgemmBatched(handle, operation(is_transposed), CUBLAS_OP_N, m, n, k, &alpha, left,
                               is_transposed ? k : m, right, k, &beta, out, m, count),
            "cublasSgemmBatched");
    std::vector<float> want = expected(is_transposed, false, m, n, k);
    if (is_transposed) {  // on top of the results of the first
      const std::vector<float> before = expected(false, false, m, n, k);
      for (size_t i = 0; i < want.size(); ++i) want[i] += 0.5f * before[i] - 0.5f;
    }
    const size_t one = want.size();
    for (size_t i = one; i < count * one; ++i) want.push_back(want[i - one]);
    suite::check(is_transposed ? "again" : "pointers", c.read(), want);
  }
  suite::Buffer<float> strided(count * m * n);
  const float zero = 0;
  require(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 2, &alpha, a, m, m, b,
                                    k, 1, &zero, strided, m, m * n, count),
          "cublasSgemmStridedBatched");
  std::vector<float> want;
  for (int i = 0; i < count; ++i)
    for (int column = 0; column < n; ++column)
      for (int row = 0; row < m; ++row) {
        float sum = 0;
        for (int p = 0; p < 2; ++p)
          sum += element<float>(static_cast<size_t>(i * m + row + p * m))
                 * element<float>(static_cast<size_t>(i + p + column * k));
        want.push_back(2 * sum);
      }
  suite::check("overlapping", strided.read(), want);
  cublasDestroy(handle);
}

// Factors in the device's memory, and a result that is not read: what is there may be NaN.
KERNEL_CASE(factors_of_products) {
  constexpr int m = 3, n = 2, k = 4;
  cublasHandle_t handle = made_handle();
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  require(cublasSetStream(handle, stream), "cublasSetStream");
  require(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  const auto a = matrix<float>(m * k), b = matrix<float>(k * n);
  suite::Buffer<float> c(std::vector<float>(m * n, NAN)), factors(std::vector<float>{2, 0});
  require(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, factors, a, m, b, k,
                      factors.data() + 1, c, m),
          "cublasSgemm");
  suite::require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::vector<float> want = expected(false, false, m, n, k);
  for (float& value : want) value -= 0.5f;
  suite::check("of_the_device", c.read(), want);
  require(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
  const float one = 1;
  const cublasStatus_t status =
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m - 1, b, k, &one, c, m);
  suite::check("wrong_stride", std::vector<int>{status},
               std::vector<int>{CUBLAS_STATUS_INVALID_VALUE});
  cublasDestroy(handle);
  cudaStreamDestroy(stream);
}
