// Products of bytes by every instruction set that the processor has, against plain sums.
#include "cpu/simd/byte_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tenon::cpu {
namespace {

struct ByteProductCase {
  int64_t rows, pixels, channels, window;  // window x window elements, stride 1
  int64_t output_channels;
};
// Segments, dot groups and panels that are full and not.
constexpr ByteProductCase kByteProductCases[] = {
    {1, 1, 1, 1, 1},    {3, 7, 4, 1, 32}, {2, 5, 3, 3, 33}, {4, 13, 17, 2, 7},
    {1, 50, 64, 1, 16}, {5, 6, 8, 3, 48}, {2, 9, 8, 1, 24}};

// All values of unsigned bytes, and what a ReLU and an upper bound leave of signed ones.
constexpr ByteRounding kWhole{-10, 245, 10, false}, kBounded{2, 90, -2, true};

class Layer {
 public:
  Layer(const ByteProductCase& of, const ByteProductKernels& by) : c(of), kernels(by) {
    const int64_t height = c.rows + c.window - 1, width = c.pixels + c.window - 1;
    data.resize(static_cast<size_t>(height * width * c.channels));
    for (auto& x : data) x = static_cast<uint8_t>(random());
    weights.resize(static_cast<size_t>(c.output_channels * c.window * c.window * c.channels));
    for (auto& w : weights) w = static_cast<int8_t>(random() % 5 == 0 ? -128 : random());
    for (int64_t m = 0; m < c.output_channels; ++m) {
      add.push_back(static_cast<int32_t>(random() % 2001) - 1000);
      scale.push_back(1e-4f * static_cast<float>(random() % 100));
      shift.push_back(static_cast<float>(random() % 9) - 4);
    }
  }

  int32_t sum(int64_t y, int64_t x, int64_t output_channel, uint8_t flip) const {
    const int64_t width = c.pixels + c.window - 1, run = c.window * c.channels;
    int32_t total = add[static_cast<size_t>(output_channel)];
    for (int64_t i = 0; i < c.window; ++i)
      for (int64_t k = 0; k < run; ++k)
        total += (data[static_cast<size_t>(((y + i) * width + x) * c.channels + k)] ^ flip)
                 * weights[static_cast<size_t>((output_channel * c.window + i) * run + k)];
    return total;
  }

  template <class T>
  std::vector<T> run(ByteResult::To to, uint8_t flip, const ByteRounding& rounding = kWhole) const {
    const int64_t bytes = kernels.element_bytes, run = c.window * c.channels;
    const int64_t dot_groups = (run + kernels.dot_group() - 1) / kernels.dot_group();
    std::vector<std::byte> copied(
        data.size() * static_cast<size_t>(bytes)
        + static_cast<size_t>(kernels.segment * c.channels * bytes + kDotGroupBytes));
    kernels.copy(data.data(), static_cast<int64_t>(data.size()), flip, copied.data());
    const int64_t row = (c.pixels + c.window - 1) * c.channels * bytes;
    const ByteWindows windows = {reinterpret_cast<const uint8_t*>(copied.data()),
                                 c.rows,
                                 c.pixels,
                                 row,
                                 c.channels * bytes,
                                 c.window,
                                 row,
                                 dot_groups};
    ByteResult result{to, add.data(), scale.data(), shift.data(), rounding, nullptr};
    std::vector<T> out(static_cast<size_t>(c.rows * c.pixels * c.output_channels), T{77});
    for (int64_t first = 0; first < c.output_channels; first += kernels.panel_channels) {
      const int64_t output_channels = std::min(kernels.panel_channels, c.output_channels - first);
      kernels.product(windows, {panel(first, output_channels, dot_groups).data(), 0, nullptr},
                      result, output_channels, out.data() + first,
                      {.row = c.pixels * c.output_channels, .pixel = c.output_channels});
      result.add += output_channels;
      result.scale += output_channels;
      result.shift += output_channels;
    }
    return out;
  }

  const ByteProductCase& c;
  const ByteProductKernels& kernels;
  std::vector<uint8_t> data;
  std::vector<int8_t> weights;
  std::vector<int32_t> add;
  std::vector<float> scale, shift;

 private:
  std::vector<int8_t> panel(int64_t first, int64_t output_channels, int64_t dot_groups) const {
    const int64_t bytes = kernels.element_bytes, dot_group = kernels.dot_group();
    const int64_t run = c.window * c.channels;
    std::vector<int8_t> made(
        static_cast<size_t>(c.window * dot_groups * kernels.panel_channels * kDotGroupBytes), 0);
    for (int64_t m = 0; m < output_channels; ++m)
      for (int64_t i = 0; i < c.window; ++i)
        for (int64_t k = 0; k < run; ++k) {
          const int64_t column = (i * dot_groups + k / dot_group) * kernels.panel_channels + m;
          const int8_t w = weights[static_cast<size_t>(((first + m) * c.window + i) * run + k)];
          const auto at = static_cast<size_t>((column * dot_group + k % dot_group) * bytes);
          made[at] = w;
          if (bytes == 2) made[at + 1] = w < 0 ? -1 : 0;
        }
    return made;
  }

  static uint32_t random() {
    static std::mt19937 generator(3);
    return generator();
  }
};

// SaturatingPack ones among them.
std::vector<const ByteProductKernels*> all_kernels() {
  std::vector<const ByteProductKernels*> all = supported_byte_product_kernels();
  for (const ByteProductKernels* kernels : supported_byte_product_kernels())
    all.push_back(kernels->int8);
  return all;
}

TEST(ByteProduct, IsExactWithEveryInstructionSet) {
  for (const ByteProductKernels* kernels : all_kernels()) {
    if (kernels->complements) continue;  // int8_panels_test.cc
    for (const ByteProductCase& c : kByteProductCases)
      for (const uint8_t flip : {0, 128}) {
        SCOPED_TRACE(testing::Message() << c.rows << "x" << c.pixels << "x" << c.channels << ", "
                                        << kernels->element_bytes << " bytes");
        const Layer layer(c, *kernels);
        const auto sums = layer.run<int32_t>(ByteResult::To::kInteger, flip);
        const auto numbers = layer.run<float>(ByteResult::To::kFloat, flip);
        const auto bytes = layer.run<uint8_t>(ByteResult::To::kByte, flip);
        const auto bounded = layer.run<int8_t>(ByteResult::To::kByte, flip, kBounded);
        for (int64_t i = 0; i < c.rows * c.pixels * c.output_channels; ++i) {
          const auto at = static_cast<size_t>(i),
                     output_channel = static_cast<size_t>(i % c.output_channels);
          const int64_t pixel = i / c.output_channels;
          const int32_t sum =
              layer.sum(pixel / c.pixels, pixel % c.pixels, i % c.output_channels, flip);
          ASSERT_EQ(sums[at], sum);
          const volatile float scaled = static_cast<float>(sum) * layer.scale[output_channel];
          const float number = scaled + layer.shift[output_channel];
          ASSERT_EQ(numbers[at], number);
          ASSERT_EQ(bytes[at],
                    static_cast<int>(std::clamp(std::nearbyint(number), -10.f, 245.f)) + 10);
          ASSERT_EQ(bounded[at],
                    static_cast<int>(std::clamp(std::nearbyint(number), 2.f, 90.f)) - 2);
        }
      }
  }
}

TEST(ByteProduct, ElementsAreCopiedAndRepeated) {
  for (const ByteProductKernels* kernels : all_kernels())
    for (const int64_t n : {0, 1, 15, 16, 31, 64, 100}) {
      std::vector<uint8_t> bytes(static_cast<size_t>(n));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i + 200);
      const auto size = static_cast<size_t>(kernels->element_bytes);
      std::vector<uint8_t> copied((bytes.size() + 1) * size, 99), filled = copied;
      kernels->copy(bytes.data(), n, 128, copied.data());
      kernels->fill(130, n, filled.data());
      for (size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(copied[i * size], bytes[i] ^ 128);
        EXPECT_EQ(filled[i * size], 130);
        for (size_t high = 1; high < size; ++high)
          EXPECT_EQ(copied[i * size + high] + filled[i * size + high], 0);
      }
      EXPECT_EQ(copied[bytes.size() * size] + filled[bytes.size() * size], 2 * 99);
    }
}

}  // namespace
}  // namespace tenon::cpu
