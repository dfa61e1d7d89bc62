// Models for a server under load: FailsBelowZero 1: y = x, and an exception where the first element
// is below zero. Sleeps 1: y = x after 4 ms, which take no processor's time from the load.
#include <tenon/plugin.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace faults::TENON_TARGET {

using namespace tenon::kit;

struct FailsBelowZero {
  using T = Types<float>;
  static constexpr Spec spec{
      .name = "FailsBelowZero", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  template <class E> void run(const Device&, Tensor<const E> x, Tensor<E> y) const {
    if (x.data[0] < 0) throw std::runtime_error("the first element is below zero");
    std::copy_n(x.data, x.shape.volume(), y.data);
  }
};
TENON_PLUGIN(FailsBelowZero);

struct Sleeps {
  using T = Types<float>;
  static constexpr Spec spec{.name = "Sleeps", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  template <class E> void run(const Device&, Tensor<const E> x, Tensor<E> y) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    std::copy_n(x.data, x.shape.volume(), y.data);
  }
};
TENON_PLUGIN(Sleeps);

}  // namespace faults::TENON_TARGET
