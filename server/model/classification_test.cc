#include "classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tenon::server {
namespace {

using ::testing::ElementsAre;

template <class T> Tensor output_of(const Shape& shape, std::vector<T> elements, DataType type) {
  Tensor tensor(shape, type);
  std::memcpy(*tensor.cpu(), elements.data(), elements.size() * sizeof(T));
  return tensor;
}

Tensor scores(const Shape& shape, const std::vector<float>& elements) {
  return output_of(shape, elements, DataType::kFLOAT);
}

// The strings, and their shape.
struct Classes {
  Shape shape;
  std::vector<std::string_view> strings;
};
Classes classes(Tensor& output, size_t count, bool has_batch,
                const std::vector<std::string>& labels = {}) {
  Shape shape = classify(output, count, has_batch, labels);
  return {std::move(shape), bytes_elements(output)};
}

TEST(Classification, TheBestClassesOfEachItemComeFirst) {
  auto output = scores({2, 4}, {0.25F, 0.5F, -1, 0.5F, 1e-7F, 3, 2, 1});
  const Classes best = classes(output, 2, true);
  EXPECT_THAT(best.strings, ElementsAre("0.5:1", "0.5:3", "3:1", "2:2"));
  EXPECT_EQ(best.shape, (Shape{2, 2}));
  EXPECT_EQ(output.type(), DataType::kUINT8);
  EXPECT_EQ(output.bytes(), 4u * 4 + 5 + 5 + 3 + 3);
}

TEST(Classification, WithoutABatchAllElementsAreOfOneItem) {
  auto output = scores({2, 2}, {1, 4, 2, 3});
  const Classes best = classes(output, 3, false);
  EXPECT_THAT(best.strings, ElementsAre("4:1", "3:3", "2:2"));
  EXPECT_EQ(best.shape, Shape{3});
}

TEST(Classification, LabelsAreByIndex) {
  auto output = scores({1, 4}, {1, 2, 3, 4});
  const Classes all = classes(output, 9, true, {"cat", "", "dog: brown"});
  EXPECT_THAT(all.strings, ElementsAre("4:3", "3:2:dog: brown", "2:1", "1:0:cat"));
  EXPECT_EQ(all.shape, (Shape{1, 4}));
}

TEST(Classification, WhatIsNoNumberIsLast) {
  auto output = scores({4}, {NAN, -INFINITY, INFINITY, NAN});
  EXPECT_THAT(classes(output, 4, false).strings, ElementsAre("inf:2", "-inf:1", "nan:0", "nan:3"));
}

TEST(Classification, EachTypeHasItsOrder) {
  auto large = output_of<int64_t>({2}, {INT64_MAX - 1, INT64_MAX}, DataType::kINT64);
  EXPECT_THAT(classes(large, 1, false).strings, ElementsAre("9223372036854775807:1"));
  auto small = output_of<int8_t>({2}, {-1, 1}, DataType::kINT8);
  EXPECT_THAT(classes(small, 2, false).strings, ElementsAre("1:1", "-1:0"));
  auto unsign = output_of<uint8_t>({2}, {255, 1}, DataType::kUINT8);
  EXPECT_THAT(classes(unsign, 1, false).strings, ElementsAre("255:0"));
  auto half = output_of<_Float16>({2}, {_Float16(0.5F), _Float16(-2.F)}, DataType::kHALF);
  EXPECT_THAT(classes(half, 1, false).strings, ElementsAre("0.5:0"));
  auto brain = output_of<uint16_t>({2}, {0xc000, 0x3f80}, DataType::kBF16);  // -2 and 1
  EXPECT_THAT(classes(brain, 2, false).strings, ElementsAre("1:1", "-2:0"));
  Tensor flags(Shape{2}, DataType::kBOOL);
  EXPECT_THROW(classify(flags, 1, false, {}), Error);
}

TEST(Classification, NothingHasNoClasses) {
  auto none = scores({0, 4}, {});
  EXPECT_EQ(classes(none, 2, true).shape, (Shape{0, 2}));
  auto empty = scores({2, 0}, {});
  EXPECT_EQ(classes(empty, 2, true).shape, (Shape{2, 0}));
  EXPECT_TRUE(bytes_elements(empty).empty());
}

}  // namespace
}  // namespace tenon::server
