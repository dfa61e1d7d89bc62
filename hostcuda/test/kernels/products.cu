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
