#include "ops/pooling.h"
#include "ops/slice.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;

Value& padded(Model& m, Value& x, Shape start, Shape size, Value* fill = nullptr) {
  auto op = std::make_unique<Slice>();
  op->start = start;
  op->size = size;
  op->stride = Shape::filled(start.rank(), 1);
  op->mode = nvinfer1::SampleMode::kFILL;
  return m.add(std::move(op), {&x, nullptr, nullptr, nullptr, fill});
}

TEST(PaddingIntoConvolution, AddsToThePaddingOfAConvolution) {
  Model m;
  Value& x = padded(m, m.input({1, 3, 4, 5}), {0, 0, -1, -2}, {1, 3, 5, 9}, &m.number(0, 1));
  m.output(m.convolution(x, 2));
  const auto after = rewritten(m.network, padding_into_convolution);
  ASSERT_EQ(after->nodes().size(), 1u);
  const auto* op = after->nodes()[0]->as<Convolution>();
  EXPECT_EQ(op->pre_padding, (Shape{2, 3}));
  EXPECT_EQ(op->post_padding, (Shape{1, 3}));
}

TEST(PaddingIntoConvolution, AddsToThePaddingOfAnAverage) {
  for (const bool excludes : {false, true}) {
    Model m;
    Value& x = padded(m, m.input({1, 3, 4, 5}), {0, 0, -1, -1}, {1, 3, 6, 7});
    auto op = std::make_unique<Pooling>();
    op->type = nvinfer1::PoolingType::kAVERAGE;
    op->window = {3, 3};
    op->stride = {1, 1};
    op->pre_padding = op->post_padding = {0, 0};
    op->average_excludes_padding = excludes;
    m.output(m.add(std::move(op), {&x}));
    const auto after = rewritten(m.network, padding_into_convolution);
    EXPECT_EQ(after->nodes().size(), excludes ? 2u : 1u);
  }
}

TEST(PaddingIntoConvolution, LeavesOtherSlices) {
  const auto layers_after = [](Shape start, Shape size, float fill) {
    Model m;
    Value& x = padded(m, m.input({1, 3, 4, 5}), start, size, &m.number(fill, 1));
    m.output(m.convolution(x, 2));
    return rewritten(m.network, padding_into_convolution)->nodes().size();
  };
  EXPECT_EQ(layers_after({0, 0, -1, 0}, {1, 3, 5, 5}, 0), 1u);
  EXPECT_EQ(layers_after({0, 0, -1, 0}, {1, 3, 5, 5}, 1), 2u) << "not zeros";
  EXPECT_EQ(layers_after({0, 0, -1, 1}, {1, 3, 5, 4}, 0), 2u) << "takes away too";
  EXPECT_EQ(layers_after({0, -1, 0, 0}, {1, 4, 4, 5}, 0), 2u) << "adds channels";
}

}  // namespace
}  // namespace tenon
