// Maxima of bytes against the reference; those of floats are with the other kernels'.
#include "ops/pooling.h"

#include "cpu/convolution/integer_testing.h"

namespace tenon::cpu {
namespace {

TEST(OnednnBytePoolingTest, EqualsReference) {
  for (const DataType type : {DataType::kINT8, DataType::kUINT8})
    for (const int64_t channels : {3, 16, 70}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), channels));
      Pooling op;
      op.window = {3, 2};
      op.stride = {2, 2};
      op.pre_padding = {1, 0};
      op.post_padding = {1, 1};
      Layer layer(op, {bytes(type, {2, channels, 9, 12})}, {false});
      ASSERT_EQ(layer.offer("onednn_pooling"), "");
      EXPECT_EQ(layer.run(), layer.reference());
    }
}

}  // namespace
}  // namespace tenon::cpu
