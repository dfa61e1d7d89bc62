#include "tenon/session/format.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tenon::session {
namespace {

using nvinfer1::DataType;
using nvinfer1::TensorFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int8_t> packed(TensorFormat format, const Shape& shape) {
  Array array = *make_array(DataType::kINT8, shape);
  std::iota(array.as<int8_t>(), array.as<int8_t>() + array.count(), int8_t{1});
  const Format f(format);
  std::vector<int8_t> bytes(*f.bytes(DataType::kINT8, shape));
  EXPECT_TRUE(f.pack(array, reinterpret_cast<std::byte*>(bytes.data())));
  Array back = *make_array(DataType::kINT8, shape);
  EXPECT_TRUE(f.unpack(reinterpret_cast<const std::byte*>(bytes.data()), back));
  EXPECT_EQ(back.bytes, array.bytes);
  return bytes;
}

TEST(Format, VectorsOfChannels) {
  EXPECT_THAT(packed(TensorFormat::kLINEAR, {1, 3, 1, 2}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(packed(TensorFormat::kHWC, {1, 3, 1, 2}), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(packed(TensorFormat::kCHW2, {1, 3, 1, 2}), ElementsAre(1, 3, 2, 4, 5, 0, 6, 0));
  EXPECT_THAT(packed(TensorFormat::kCHW4, {2, 1, 1, 1}), ElementsAre(1, 0, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(packed(TensorFormat::kDHWC, {1, 2, 1, 1, 2}), ElementsAre(1, 3, 2, 4));
  // The channel axis is the third from the last, also where there is no batch.
  EXPECT_THAT(packed(TensorFormat::kHWC, {3, 1, 2}), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_EQ(*Format(TensorFormat::kHWC8).bytes(DataType::kHALF, {1, 3, 2, 2}), 64u);
}

TEST(Format, OfOtherTensorsIsAnError) {
  EXPECT_THAT(Format(TensorFormat::kHWC).bytes(DataType::kFLOAT, {2, 3}).error(),
              HasSubstr("kHWC needs a tensor of 3 dimensions or more, found shape 2x3"));
  EXPECT_THAT(Format(TensorFormat::kDLA_HWC4).bytes(DataType::kFLOAT, {1, 2, 3, 4}).error(),
              HasSubstr("DLA"));
}

}  // namespace
}  // namespace tenon::session
