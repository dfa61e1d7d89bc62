// InverseTRT 1 (BEVFormer_tensorrt): torch.inverse.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Gauss-Jordan elimination with pivots, of the matrix in `left` beside its inverse in `y`.
struct InvertMatrix {
  const float* x;
  float *y, *left;
  int64_t n;

  TENON_HD void operator()(int64_t matrix) const {
    const float* from = x + matrix * n * n;
    float *a = left + matrix * n * n, *b = y + matrix * n * n;
    for (int64_t i = 0; i < n * n; ++i) {
      a[i] = from[i];
      b[i] = i / n == i % n ? 1.f : 0.f;
    }
    for (int64_t column = 0; column < n; ++column) {
      int64_t pivot = column;
      for (int64_t row = column + 1; row < n; ++row)
        if (fabsf(a[row * n + column]) > fabsf(a[pivot * n + column])) pivot = row;
      const float factor = 1 / a[pivot * n + column];
      for (int64_t i = 0; i < n; ++i) {
        swap(a[pivot * n + i], a[column * n + i]);
        swap(b[pivot * n + i], b[column * n + i]);
        a[column * n + i] *= factor;
        b[column * n + i] *= factor;
      }
      for (int64_t row = 0; row < n; ++row) {
        if (row == column) continue;
        const float times = a[row * n + column];
        for (int64_t i = 0; i < n; ++i) {
          a[row * n + i] -= times * a[column * n + i];
          b[row * n + i] -= times * b[column * n + i];
        }
      }
    }
  }

 private:
  TENON_HD static void swap(float& a, float& b) {
    const float kept = a;
    a = b;
    b = kept;
  }
};

struct Inverse {
  static constexpr Spec spec{.name = "InverseTRT",
                             .inputs = {{"x", kFloat}},
                             .outputs = {{"y", kFloat}},
                             .protocol = Protocol::kV2,
                             .text = "torch.inverse of matrices (..., n, n).",
                             .differs =
                                 "Pivots are chosen, and there is no limit to n. A matrix without "
                                 "an inverse gives infinities or NaNs."};

  void check(std::span<const Shape> in) const {
    const Shape& x = in[0];
    if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2])
      throw std::invalid_argument("x must be of square matrices (..., n, n), found " + text_of(x));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[0].volume()) * sizeof(float);
  }
  template <class E> void run(const Device& device, Tensor<const float> x, Tensor<float> y) const {
    const int64_t n = x.shape[x.shape.rank() - 1];
    if (x.shape.volume() == 0) return;
    device.parallel_for(x.shape.volume() / (n * n),
                        InvertMatrix{x.data, y.data, static_cast<float*>(device.workspace), n});
  }
};
TENON_PLUGIN(Inverse);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
