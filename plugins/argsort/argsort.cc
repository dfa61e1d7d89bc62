// Argsort and CustomUnique 1 (Autoware): torch.argsort and torch.unique of a row of integers.
#include <tenon/kernels/order_of_keys.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

constexpr int kBits = 64;

// Integers in the order of keys without a sign.
struct SignedKey {
  const int64_t* x;
  TENON_HD uint64_t operator()(int64_t i) const {
    return static_cast<uint64_t>(x[i]) ^ uint64_t { 1 } << 63;
  }
};

struct WidenIndex {
  const int32_t* from;
  int64_t* to;
  TENON_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

// Numbers what differs from the one before, in order.
struct NumberUnique {
  const int64_t* x;
  const int32_t* order;
  int64_t *unique, *inverse, *found;
  int32_t* first;  // in the order, of each unique one
  int64_t count;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    team.each(1, [&](int64_t) { *found = 0; });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    const auto is_new = [&](int64_t i) { return i == 0 || x[order[i]] != x[order[i - 1]]; };
    team.scan(
        count, int32_t{0}, [](int32_t a, int32_t b) { return a + b; },
        [&](int64_t i) { return static_cast<int32_t>(is_new(i)); },
        [&](int64_t i, int32_t so_far) {
          inverse[order[i]] = so_far - 1;
          if (is_new(i)) {
            unique[so_far - 1] = x[order[i]];
            first[so_far - 1] = static_cast<int32_t>(i);
          }
          if (i + 1 == count) *found = so_far;
        });
  }
};

struct CountUnique {
  const int32_t* first;
  const int64_t* found;
  int64_t* counts;
  int64_t count;

  TENON_HD void operator()(int64_t i) const {
    if (i >= *found) return;
    counts[i] = (i + 1 < *found ? first[i + 1] : count) - first[i];
  }
};

// What both require.
struct Row {
  void check(std::span<const Shape> in) const {
    if (in[0][0] > INT32_MAX)
      throw std::invalid_argument("x must have at most 2^31 - 1 elements, found " + text_of(in[0]));
  }
};

}  // namespace

struct Argsort : Row {
  static constexpr Spec spec{
      .name = "Argsort",
      .inputs = {{"x", kInt64}},
      .outputs = {{"y", kInt64}},
      .text =
          "torch.argsort of a row of integers: the smallest comes first, equal ones as they are.",
      .differs = "On a CPU and any GPU."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N");
    out[0] = in[0];
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    KeyOrder(carver, in[0].volume());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const int64_t> x, Tensor<int64_t> y) const {
    Carver carver(device.workspace);
    KeyOrder keys(carver, x.shape[0]);
    order_keys(device, keys, kBits, SignedKey{x.data});
    device.parallel_for(keys.count, WidenIndex{keys.order, y.data});
  }
};
TENON_PLUGIN(Argsort);

struct CustomUnique : Row {
  static constexpr Spec spec{
      .name = "CustomUnique",
      .inputs = {{"x", kInt64}},
      .outputs = {{"unique", kInt64}, {"inverse", kInt64}, {"counts", kInt64}, {"num_out", kInt64}},
      .text =
          "torch.unique of a row of integers, sorted, with the position of each element among "
          "them, "
          "how often each is there, and how many there are.",
      .differs = "On a CPU and any GPU; no elements have none."};

  void shapes(const ShapeQuery& query, std::span<Extents> out) const {
    require_axes("x", query.in[0], "N");
    const Extent count = query.in[0][0], found = query.size_from(3, count, count);
    out[0] = out[2] = {found};
    out[1] = {count};
    out[3] = {};
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    KeyOrder(carver, in[0].volume());
    carver.array<int32_t>(in[0].volume());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const int64_t> x, Tensor<int64_t> unique,
           Tensor<int64_t> inverse, Tensor<int64_t> counts, Tensor<int64_t> found) const {
    Carver carver(device.workspace);
    KeyOrder keys(carver, x.shape[0]);
    int32_t* const first = carver.array<int32_t>(keys.count);
    order_keys(device, keys, kBits, SignedKey{x.data});
    device.parallel_rows(1, NumberUnique{x.data, keys.order, unique.data, inverse.data, found.data,
                                         first, keys.count});
    device.parallel_for(keys.count, CountUnique{first, found.data, counts.data, keys.count});
  }
};
TENON_PLUGIN(CustomUnique);

}  // namespace tenon::plugins::TENON_TARGET
