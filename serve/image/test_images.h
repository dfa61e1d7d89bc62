// What the tests of pre-processing share: goldens, and tensors to compare.
#ifndef TENON_SERVE_IMAGE_TEST_IMAGES_H
#define TENON_SERVE_IMAGE_TEST_IMAGES_H

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tenon/serve/preprocess.h"
#include "tenon/serve/tensor_file.h"
#include "tenon_source_dir.h"

namespace tenon::serve::testing {

inline Tensor golden(const std::string& name) {
  auto loaded = load_from_file(TENON_SOURCE_DIR "/serve/image/goldens/" + name + ".tensor");
  if (!loaded) ADD_FAILURE() << loaded.error();
  return loaded ? *std::move(loaded) : Tensor();
}

template <class T, size_t n> std::array<T, n> golden_values(const std::string& name) {
  Tensor tensor = golden(name);
  std::array<T, n> values;
  EXPECT_EQ(tensor.numel(), static_cast<int64_t>(n));
  std::copy_n(*tensor.cpu<T>(), n, values.begin());
  return values;
}

/// A tensor (height, width, channels) of bytes as an image.
inline Image image_of(Tensor& pixels, PixelFormat format) {
  return Image::packed(format, *pixels.cpu<uint8_t>(), pixels.size(1), pixels.size(0));
}

/// The elements as floats.
inline std::vector<float> numbers_of(Tensor& tensor) {
  const auto array = tensor.to_array();
  const auto numbers = session::numbers(*array);
  return {numbers->begin(), numbers->end()};
}

/// The largest difference of elements; a failure where there are not as many.
inline float difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace tenon::serve::testing

#endif  // TENON_SERVE_IMAGE_TEST_IMAGES_H
