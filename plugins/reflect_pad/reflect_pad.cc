// ReflectPad 1: the last axes of x with mirrored borders. As torch.nn.functional.pad with mode
// "reflect", for 1 to 3 axes.
#include <tenon/kernels/reflect_pad.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct ReflectPad {
  std::vector<int32_t> padding;

  using T = Types<float, Half, int32_t, int8_t>;
  static constexpr auto attributes =
      std::tuple{attribute("padding", &ReflectPad::padding)
                     .required()
                     .says("elements before and after the last axis, then before and after the one "
                           "before it, as torch has it; a single number pads the last two axes")};
  static constexpr Spec spec{.name = "ReflectPad",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "Mirrored borders without the edge itself, as "
                                 "torch.nn.functional.pad with mode \"reflect\"."};

  // Elements before (side 0) or after (side 1) an axis, counted from the last.
  int64_t pad(size_t from_last, size_t side) const {
    if (padding.size() == 1) return from_last < 2 ? padding[0] : 0;
    return 2 * from_last < padding.size() ? padding[2 * from_last + side] : 0;
  }
  size_t axes() const { return padding.size() == 1 ? 2 : padding.size() / 2; }

  void require_axes(size_t found) const {
    if (found < axes())
      throw std::invalid_argument("padding is for " + std::to_string(axes()) + " axes, but x has "
                                  + std::to_string(found));
  }

  void prepare() const {
    if (padding.empty() || padding.size() > 6 || (padding.size() != 1 && padding.size() % 2 != 0))
      throw std::invalid_argument("padding has " + std::to_string(padding.size())
                                  + " elements; expected 1, 2, 4 or 6");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes(in[0].size());
    out[0] = in[0];
    for (size_t i = 0; i < axes(); ++i) {
      Extent& extent = out[0][out[0].size() - 1 - i];
      extent = extent + pad(i, 0) + pad(i, 1);
    }
  }
  void check(std::span<const Shape> in) const {
    require_axes(static_cast<size_t>(in[0].rank()));
    for (size_t i = 0; i < axes(); ++i) {
      const int64_t size = in[0][in[0].rank() - 1 - static_cast<int>(i)];
      for (const int64_t p : {pad(i, 0), pad(i, 1)})
        if (p < 0 || p >= std::max<int64_t>(size, 1))
          throw std::invalid_argument("an axis of " + std::to_string(size)
                                      + " elements cannot be mirrored by " + std::to_string(p)
                                      + "; padding must be 0 or more, and less than the axis");
    }
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    kernels::ReflectPad geometry{1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    const int rank = x.shape.rank();
    for (int axis = 0; axis < rank; ++axis) {
      const int from_last = rank - 1 - axis;
      if (from_last > 2) {
        geometry.planes *= x.shape[axis];
        continue;
      }
      geometry.in[2 - from_last] = x.shape[axis];
      geometry.out[2 - from_last] = y.shape[axis];
      geometry.first[2 - from_last] = pad(static_cast<size_t>(from_last), 0);
    }
    kernels::reflect_pad(device, x.data, y.data, geometry);
  }
};
TENON_PLUGIN(ReflectPad);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
