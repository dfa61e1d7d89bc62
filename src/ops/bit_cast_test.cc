#include "ops/bit_cast.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BitCast, KeepsBits) {
  BitCast op;
  op.to = DataType::kINT32;
  EXPECT_THAT(run(op, {input(make<float>({3}, {1, -2, 0}))})[0].integers(),
              ElementsAre(0x3f800000, static_cast<int32_t>(0xc0000000), 0));
  op.to = DataType::kUINT8;
  EXPECT_THAT(run(op, {input(make<int8_t>({2, 1}, {-1, 5}))})[0].integers(), ElementsAre(255, 5));
  EXPECT_THAT(run(op, {input(make<bool>({2}, {true, false}))})[0].integers(), ElementsAre(1, 0));
}

TEST(BitCast, SizesMustBeEqual) {
  BitCast op;
  op.to = DataType::kINT64;
  EXPECT_THAT(infer_error(op, {input(make<float>({1}, {1}))}),
              HasSubstr("expected elements of 64 bits, as int64 has, found float32"));
  op.to = DataType::kBOOL;
  EXPECT_THAT(infer_error(op, {input(make<int8_t>({1}, {1}))}), HasSubstr("another type"));
}

}  // namespace
}  // namespace tenon
