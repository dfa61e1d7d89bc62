// FailsBelowZero 1: y = x, and an exception where the first element is below zero: a model that
// fails while it serves.
#include <tenon/plugin.h>

#include <stdexcept>

namespace faults::TENON_TARGET {

using namespace tenon::kit;

struct FailsBelowZero {
  using T = Types<float>;
  static constexpr Spec spec{
      .name = "FailsBelowZero", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  template <class E> void run(const Device&, Tensor<const E> x, Tensor<E> y) const {
    if (x.data[0] < 0) throw std::runtime_error("the first element is below zero");
    for (int64_t i = 0; i < x.shape.volume(); ++i) y.data[i] = x.data[i];
  }
};
TENON_PLUGIN(FailsBelowZero);

}  // namespace faults::TENON_TARGET
