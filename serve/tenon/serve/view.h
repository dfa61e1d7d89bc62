// Elements of an output that post-processing reads: whose they are stays with the caller.
#ifndef TENON_SERVE_VIEW_H
#define TENON_SERVE_VIEW_H

#include <cstdint>
#include <span>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

/// Rows of float32 or float16 on the host, without the axis of the batch. It owns nothing: the
/// elements must live, and stay as they are, as long as it is used.
class View {
 public:
  /// An error when an extent is negative or the elements are not as many as the shape says.
  static Result<View> of(std::span<const float> elements, Shape shape) noexcept;
  static Result<View> of(std::span<const _Float16> elements, Shape shape) noexcept;
  /// Item `index` of the tensor's axis 0, on the host: copied there if it is newer on the device.
  /// An error when there is no such item or no data, or when the type is another one.
  static Result<View> of_item(Tensor& tensor, int64_t index) noexcept;

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  /// The extent of an axis; 0 where there is no such axis.
  int64_t size(int axis) const;
  int64_t count() const { return count_; }
  /// "float16 84x8400".
  std::string text() const;

  const void* data() const { return data_; }

 private:
  View(const void* data, DataType type, Shape shape, int64_t count);

  const void* data_;
  DataType type_;
  Shape shape_;
  int64_t count_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_VIEW_H
