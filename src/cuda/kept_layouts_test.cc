// Kernels of the CUDA target take data as it lies, channels last too, so that nothing is reordered
// around them; and what they read on the host.
#include "backend/testing.h"
#include "ops/cast.h"
#include "ops/cumulative.h"
#include "ops/lrn.h"
#include "ops/pooling.h"
#include "ops/quantize.h"

namespace tenon::cuda {
namespace {

void expect_kept(const Op& op, std::vector<TestInput> inputs, std::string_view candidate) {
  for (const Layout layout : tested().layouts) {
    SCOPED_TRACE(fmt::format("{} {}", candidate, name_of(layout)));
    inputs[0].layout = layout;
    LayerTest test(op, inputs);
    ASSERT_EQ(test.offer(candidate), "");
    EXPECT_EQ(test.kernel().input_layouts[0], layout);
    EXPECT_EQ(test.kernel().output_layouts[0], layout);
  }
}

TEST(CudaKeptLayoutsTest, DataStaysAsItLies) {
  const Shape shape{2, 16, 5, 7};
  Pooling pooling;
  pooling.window = {3, 3};
  pooling.stride = {2, 2};
  pooling.pre_padding = pooling.post_padding = {1, 1};
  Cast cast;
  cast.to = DataType::kHALF;
  Quantize quantize;
  quantize.layout.axis = 1;
  const TestInput scales = as_type(DataType::kHALF, constant({16}));
  for (const DataType type : tested().floats) {
    SCOPED_TRACE(name_of(type));
    expect_kept(pooling, {as_type(type, data(shape))}, "pooling");
    expect_kept(Lrn(), {as_type(type, data(shape))}, "lrn");
  }
  expect_kept(cast, {data(shape)}, "move");
  expect_kept(quantize, {as_type(DataType::kHALF, data(shape)), scales}, "quantize");
}

TEST(CudaCumulativeTest, TheAxisIsReadOnTheHost) {
  LayerTest test(Cumulative(), {data({3, 4}), integers<int32_t>(DataType::kINT32, {}, {1})});
  ASSERT_EQ(test.offer("cumulative"), "");
  EXPECT_TRUE(test.kernel().input_on_host[1]);
}

}  // namespace
}  // namespace tenon::cuda
