// For tests: the heads and expected results that make_goldens.py wrote.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/tensor_file.h"
#include "tenon/serve/view.h"
#include "tenon_source_dir.h"

namespace tenon::serve {

/// A file of goldens/, as it was written.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : tensor_(std::move(
            *load_from_file(TENON_SOURCE_DIR "/serve/detect/goldens/" + name + ".tensor"))) {}

  View view() {
    const auto count = static_cast<size_t>(tensor_.numel());
    if (tensor_.type() == DataType::kHALF)
      return *View::of(std::span<const _Float16>(*tensor_.cpu<_Float16>(), count), tensor_.shape());
    return *View::of(std::span<const float>(*tensor_.cpu<float>(), count), tensor_.shape());
  }
  int64_t rows() const { return tensor_.size(0); }
  float at(int64_t row, int64_t column) { return *tensor_.at<float>({row, column}); }
  float at(int64_t row, int64_t i, int64_t k) { return *tensor_.at<float>({row, i, k}); }
  template <class T> std::span<const T> elements() {
    return {*tensor_.cpu<T>(), static_cast<size_t>(tensor_.numel())};
  }

 private:
  Tensor tensor_;
};

constexpr int64_t kGoldenInput = 64, kGoldenWidth = 100, kGoldenHeight = 75;

/// What the goldens were made for.
inline DetectOptions golden_options() {
  DetectOptions options;
  Golden matrix("to_picture");
  std::copy_n(matrix.elements<float>().data(), 6, options.to_picture.begin());
  options.width = kGoldenWidth;
  options.height = kGoldenHeight;
  return options;
}

/// A view of a vector, which must live as long.
inline View view_of(const std::vector<float>& elements, Shape shape) {
  return *View::of(std::span(elements), std::move(shape));
}

/// The first seven numbers of each row are a box's.
inline void expect_box(const Box& box, Golden& expected, int64_t row) {
  SCOPED_TRACE("box " + std::to_string(row));
  constexpr float kPixels = 2e-3F;
  EXPECT_NEAR(box.left, expected.at(row, 0), kPixels);
  EXPECT_NEAR(box.top, expected.at(row, 1), kPixels);
  EXPECT_NEAR(box.right, expected.at(row, 2), kPixels);
  EXPECT_NEAR(box.bottom, expected.at(row, 3), kPixels);
  EXPECT_NEAR(box.score, expected.at(row, 4), 1e-6F);
  EXPECT_EQ(static_cast<float>(box.class_label), expected.at(row, 5));
  EXPECT_EQ(static_cast<float>(box.index), expected.at(row, 6));
}

inline void expect_boxes(const Result<std::vector<Box>>& boxes, const std::string& name) {
  Golden expected(name);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_EQ(static_cast<int64_t>(boxes->size()), expected.rows());
  ASSERT_GT(expected.rows(), 3);
  for (int64_t i = 0; i < expected.rows(); ++i)
    expect_box((*boxes)[static_cast<size_t>(i)], expected, i);
}

}  // namespace tenon::serve
