// Thrust: vectors, iterators and algorithms.
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include "suite.h"

struct Halved {
  __host__ __device__ float operator()(float x) const { return x / 2; }
};
struct Added {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};
struct ByTens {
  __host__ __device__ bool operator()(int a, int b) const { return a / 10 < b / 10; }
};
struct Scaled {
  int* out;
  __host__ __device__ void operator()(int i) const { out[i] = 3 * i; }
};

template <class T> static std::vector<T> read(const thrust::device_vector<T>& values) {
  std::vector<T> result(values.size());
  thrust::copy(values.begin(), values.end(), result.begin());
  return result;
}

KERNEL_CASE(vectors_of_thrust) {
  thrust::host_vector<float> on_host(5);
  for (size_t i = 0; i < 5; ++i) on_host[i] = static_cast<float>(i) + 0.5f;
  thrust::device_vector<float> x = on_host, y(5, 2.f), z(5);
  thrust::transform(thrust::device, x.begin(), x.end(), y.begin(), z.begin(), Added());
  thrust::transform(thrust::device, z.begin(), z.end(), z.begin(), Halved());
  suite::check("transformed", read(z), std::vector<float>{1.25f, 1.75f, 2.25f, 2.75f, 3.25f});
  thrust::inclusive_scan(thrust::device, x.begin(), x.end(), y.begin());
  suite::check("inclusive", read(y), std::vector<float>{0.5f, 2, 4.5f, 8, 12.5f});
  thrust::exclusive_scan(thrust::device, x.begin(), x.end(), y.begin(), 10.f);
  suite::check("exclusive", read(y), std::vector<float>{10, 10.5f, 12, 14.5f, 18});
  const float sum =
      thrust::transform_reduce(thrust::device, x.begin(), x.end(), Halved(), 1.f, Added());
  suite::check("sum", std::vector<float>{sum}, std::vector<float>{7.25f});
}

KERNEL_CASE(sorts_of_thrust) {
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  const auto policy = thrust::cuda::par.on(stream);
  suite::Buffer<int> keys(std::vector<int>{31, 12, 35, 17, 1, 19}), values(size_t{6});
  thrust::sequence(policy, values.data(), values.data() + 6);
  thrust::stable_sort_by_key(policy, keys.data(), keys.data() + 6, values.data(), ByTens());
  suite::check("keys", keys.read(), std::vector<int>{1, 12, 17, 19, 31, 35});
  suite::check("values", values.read(), std::vector<int>{4, 1, 3, 5, 0, 2});
  thrust::device_ptr<int> first = thrust::device_pointer_cast(keys.data());
  thrust::sort(policy, first, first + 6, thrust::greater<int>());
  suite::check("descending", keys.read(), std::vector<int>{35, 31, 19, 17, 12, 1});
  cudaStreamDestroy(stream);
}

KERNEL_CASE(iterators_of_thrust) {
  suite::Buffer<int> out(size_t{6}), sums(size_t{3}), keys(std::vector<int>{1, 1, 5, 5, 5, 2}),
      found(size_t{3});
  thrust::for_each(thrust::device, thrust::counting_iterator<int>(0),
                   thrust::counting_iterator<int>(6), Scaled{out.data()});
  suite::check("counted", out.read(), std::vector<int>{0, 3, 6, 9, 12, 15});
  thrust::reduce_by_key(thrust::device, keys.data(), keys.data() + 6,
                        thrust::make_constant_iterator(1), found.data(), sums.data(),
                        thrust::equal_to<int>(), thrust::plus<int>());
  suite::check("keys", found.read(), std::vector<int>{1, 5, 2});
  suite::check("counts", sums.read(), std::vector<int>{2, 3, 1});
  const auto halves =
      thrust::make_transform_iterator(thrust::device_pointer_cast(out.data()), Halved());
  suite::Buffer<float> copied(size_t{6});
  thrust::copy(thrust::device, halves, halves + 6, thrust::device_pointer_cast(copied.data()));
  suite::check("halved", copied.read(), std::vector<float>{0, 1.5f, 3, 4.5f, 6, 7.5f});
  const auto first = thrust::device_pointer_cast(keys.data());
  const auto most = thrust::max_element(thrust::device, first, first + 6);
  suite::check(
      "searched",
      std::vector<int>{static_cast<int>(most - first),
                       static_cast<int>(thrust::count(thrust::device, first, first + 6, 5)),
                       thrust::reduce(first, first + 6)},
      std::vector<int>{2, 3, 19});
  suite::Buffer<int> map(std::vector<int>{5, 0, 3});
  const auto indices = thrust::device_pointer_cast(map.data());
  thrust::gather(indices, indices + 3, first, thrust::device_pointer_cast(sums.data()));
  suite::check("gathered", sums.read(), std::vector<int>{2, 1, 5});
}

KERNEL_CASE(algorithms_of_thrust) {
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  suite::Buffer<int> values(std::vector<int>{4, 1, 3, 2});
  const auto policy = thrust::cuda::par.on(stream);
  const int total =
      thrust::reduce(policy, values.data(), values.data() + 4, 10, thrust::plus<int>());
  thrust::sort(policy, values.data(), values.data() + 3);
  thrust::fill_n(policy, values.data() + 3, 1, 9);
  cudaStreamSynchronize(stream);
  std::vector<int> got = values.read();
  got.push_back(total);
  suite::check("thrust", got, std::vector<int>{1, 3, 4, 9, 20});
}
