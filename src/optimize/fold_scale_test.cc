#include "ops/deconvolution.h"
#include "ops/fully_connected.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(FoldScale, TakesBatchNormIntoAConvolution) {
  for (const bool with_bias : {false, true}) {
    Model m;
    Value& conv = m.convolution(m.input({1, 4, 6, 5}), 6, 3, 2, with_bias);
    m.output(m.batch_norm(conv));
    const auto after = rewritten(m.network, fold_scale);
    EXPECT_THAT(layers_of(*after), ElementsAre("Conv_1 + Scale_2"));
  }
}

TEST(FoldScale, TakesAllArithmeticWithChannelConstantsAtOnce) {
  Model m;
  Value* v = &m.convolution(m.input({2, 3, 5, 5}), 4);
  Value& by_channel = m.weight({1, 4, 1, 1});
  v = &m.elementwise(*v, ElementWiseOperation::kPROD, by_channel);
  v = &m.elementwise(by_channel, ElementWiseOperation::kSUM, *v);
  v = &m.elementwise(*v, ElementWiseOperation::kSUB, m.weight({1, 4, 1, 1}));
  v = &m.elementwise(by_channel, ElementWiseOperation::kSUB, *v);
  v = &m.elementwise(*v, ElementWiseOperation::kDIV, m.number(0.5f));
  m.output(*v);
  const auto after = rewritten(m.network, fold_scale);
  EXPECT_EQ(after->nodes().size(), 1u);
}

TEST(FoldScale, KnowsTheKernelsOfDeconvolutions) {
  Model m;
  auto op = std::make_unique<Deconvolution>();
  op->output_channels = 6;
  op->kernel = {2, 3};
  op->stride = {2, 1};
  op->dilation = {1, 1};
  op->pre_padding = op->post_padding = {0, 1};
  op->groups = 2;
  Value& v = m.add(std::move(op), {&m.input({1, 4, 3, 4}), &m.weight({4, 3, 2, 3}), nullptr});
  m.output(m.batch_norm(v));
  EXPECT_EQ(rewritten(m.network, fold_scale)->nodes().size(), 1u);
}

TEST(FoldScale, KnowsTheWeightsOfMatrixProducts) {
  for (const bool transposed : {false, true}) {
    Model m;
    Value& b = m.weight(transposed ? Shape{1, 5, 4} : Shape{1, 4, 5});
    Value& v = m.matrix_product(m.input({2, 3, 4}), b, transposed);
    Value& scaled = m.product(v, m.weight({1, 1, 5}));
    m.output(m.sum(scaled, m.weight({1, 1, 5})));
    EXPECT_EQ(rewritten(m.network, fold_scale)->nodes().size(), 1u);
  }
}

TEST(FoldScale, AShiftLeavesTheWeightsAsTheyAre) {
  Model m;
  Value& b = m.weight({1, 4, 5});
  const void* const data = b.constant->data();
  Value& v = m.matrix_product(m.input({2, 3, 4}), b, false);
  m.output(m.sum(v, m.weight({1, 1, 5})));
  const auto after = rewritten(m.network, fold_scale);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->inputs[1]->constant->data(), data) << "they are not copied";
}

TEST(FoldScale, KnowsFullyConnectedLayers) {
  Model m;
  auto op = std::make_unique<FullyConnected>();
  op->outputs = 5;
  Value& v = m.add(std::move(op), {&m.input({2, 3, 2, 2}), &m.weight({5, 12}), &m.weight({5})});
  m.output(m.batch_norm(v));
  EXPECT_EQ(rewritten(m.network, fold_scale)->nodes().size(), 1u);
}

TEST(FoldScale, KeepsHalfWeightsHalf) {
  Model m;
  m.type = DataType::kHALF;
  Value& conv = m.convolution(m.input({1, 4, 5, 5}), 3);
  m.output(m.batch_norm(conv));
  const auto after = rewritten(m.network, fold_scale, FusingTarget(), 2e-3);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->inputs[1]->type, DataType::kHALF);
}

TEST(FoldScale, RoundsHalfWeightsOnceWhereScalesAreFloats) {
  Model m;
  m.type = DataType::kHALF;
  Value& conv = m.convolution(m.input({1, 1, 5, 5}), 1, 1);
  const auto weight = static_cast<float>(conv.producer->inputs[1]->constant->numbers()[0]);
  const float scale = 1.f / 3, shift = 1e-3f;  // neither is a float16
  const auto one = [&](float number) -> Value& {
    return m.network.add_weight(Tensor::of<float>(DataType::kFLOAT, {1}, {&number, 1}));
  };
  auto op = std::make_unique<Scale>();
  op->mode = nvinfer1::ScaleMode::kCHANNEL;
  m.output(m.add(std::move(op), {&conv, &one(shift), &one(scale)}));
  const auto after = rewritten(m.network, fold_scale, FusingTarget(), 2e-3);
  ASSERT_EQ(after->nodes().size(), 1u);
  const Node& node = *after->nodes()[0];
  EXPECT_EQ(node.inputs[1]->constant->numbers()[0],
            static_cast<float>(static_cast<Half>(weight * scale)));
}

TEST(FoldScale, LeavesTensorsThatOthersUse) {
  Model m;
  Value& conv = m.convolution(m.input({1, 4, 5, 5}), 3);
  m.output(m.batch_norm(conv));
  m.output(m.relu(conv), "z");
  EXPECT_EQ(rewritten(m.network, fold_scale)->nodes().size(), 3u);

  Model n;
  Value& shown = n.convolution(n.input({1, 4, 5, 5}), 3);
  n.output(shown, "conv");
  n.output(n.batch_norm(shown));
  EXPECT_EQ(rewritten(n.network, fold_scale)->nodes().size(), 2u);
}

TEST(FoldScale, LeavesScalesAlongOtherAxesAndPowers) {
  Model m;
  Value& conv = m.convolution(m.input({1, 4, 5, 5}), 5);
  m.output(m.product(conv, m.weight({1, 1, 1, 5})));
  EXPECT_EQ(rewritten(m.network, fold_scale)->nodes().size(), 2u);

  Model n;
  auto op = std::make_unique<Scale>();
  op->mode = nvinfer1::ScaleMode::kUNIFORM;
  Value& v = n.convolution(n.input({1, 4, 5, 5}), 5);
  Value& squared = n.add(std::move(op), {&v, nullptr, nullptr, &n.number(2, 1)});
  n.output(squared);
  EXPECT_EQ(rewritten(n.network, fold_scale)->nodes().size(), 2u);
}

}  // namespace
}  // namespace tenon
