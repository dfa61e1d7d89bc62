#include "tenon/serve/view.h"

#include <utility>

#include "guard.h"

namespace tenon::serve {
namespace {

View checked_view(const void* data, size_t count, DataType type, Shape shape, auto make) {
  int64_t wanted = 1;
  for (const int64_t extent : shape) {
    if (extent < 0)
      throw Error{"a view of shape " + session::shape_text(shape) + ": no such extent"};
    if (__builtin_mul_overflow(wanted, extent, &wanted))
      throw Error{"a view of shape " + session::shape_text(shape) + ": too many elements"};
  }
  if (static_cast<uint64_t>(wanted) != count)
    throw Error{"a view of shape " + session::shape_text(shape) + ": expected "
                + std::to_string(wanted) + " elements, found " + std::to_string(count)};
  return make(data, type, std::move(shape), wanted);
}

}  // namespace

View::View(const void* data, DataType type, Shape shape, int64_t count)
    : data_(data), type_(type), shape_(std::move(shape)), count_(count) {}

Result<View> View::of(std::span<const float> elements, Shape shape) noexcept {
  return session::guard([&] {
    return checked_view(elements.data(), elements.size(), DataType::kFLOAT, std::move(shape),
                        [](auto... of) { return View(of...); });
  });
}

Result<View> View::of(std::span<const _Float16> elements, Shape shape) noexcept {
  return session::guard([&] {
    return checked_view(elements.data(), elements.size(), DataType::kHALF, std::move(shape),
                        [](auto... of) { return View(of...); });
  });
}

Result<View> View::of_item(Tensor& tensor, int64_t index) noexcept {
  return session::guard([&] {
    if (tensor.type() != DataType::kFLOAT && tensor.type() != DataType::kHALF)
      throw Error{"post-processing: expected a tensor of float32 or float16, found "
                  + tensor.descriptor()};
    if (tensor.head() == DataHead::kInit) throw Error{"post-processing: the tensor has no data"};
    if (index < 0 || index >= tensor.batch())
      throw Error{"post-processing: item " + std::to_string(index) + " of " + tensor.descriptor()};
    const auto* const begin = static_cast<const std::byte*>(session::value_of(tensor.cpu()));
    const Shape& shape = tensor.shape();
    return View(begin + static_cast<size_t>(index) * tensor.bytes(1), tensor.type(),
                Shape(shape.begin() + 1, shape.end()), tensor.count(1));
  });
}

int64_t View::size(int axis) const {
  return axis >= 0 && axis < rank() ? shape_[static_cast<size_t>(axis)] : 0;
}

std::string View::text() const {
  return session::type_name(type_) + " " + session::shape_text(shape_);
}

}  // namespace tenon::serve
