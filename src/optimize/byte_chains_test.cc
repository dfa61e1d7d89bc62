#include "ops/byte_pointwise.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr float kByteStep = 0.02F;

Value& rounded(QuantizedModel& m, Value& x, int zero = 5) {
  return m.through(x, DataType::kINT8, kByteStep, zero);
}

// What is computed stays the same, to the bit.
std::unique_ptr<Network> with_byte_chains(const Network& network,
                                          const FusingTarget& target = FusingTarget()) {
  auto after = rewritten(network, byte_chains, target, 0);
  if (auto patch = dead_layers(*after, target)) std::move(*patch).apply(*after);
  return after;
}

std::vector<std::string> kinds_with_byte_chains(const Network& network) {
  return kinds(*with_byte_chains(network));
}

// The layers of that kind.
std::vector<const Node*> all_of(const Network& network, std::string_view kind) {
  std::vector<const Node*> found;
  for (const Node* node : network.sorted())
    if (node->op->name() == kind) found.push_back(node);
  return found;
}

// As quantizers of ONNX write GELU, of a tensor to which a bias was added.
TEST(ByteChains, WhatOneTensorOfBytesDecidesIsATable) {
  QuantizedModel m;
  Value& x = rounded(m, m.input({2, 8}));
  Value& sum = rounded(m, m.sum(x, m.weight({1, 8})), -7);
  Value& erf = rounded(m, m.unary(nvinfer1::UnaryOperation::kERF, sum));
  Value& more = rounded(m, m.sum(erf, m.number(1, 2)), -100);
  m.output(rounded(m, m.product(sum, more)));
  const auto after = with_byte_chains(m.network);
  EXPECT_THAT(kinds(*after), ElementsAre("BytePointwise", "BytePointwise", "Dequantize"));
  const auto layers = all_of(*after, "BytePointwise");
  EXPECT_EQ(layers[0]->inputs.size(), 2u);  // and the bias
  EXPECT_EQ(layers[1]->inputs.size(), 1u);
}

TEST(ByteChains, SeveralTensorsAndFloatsAreOneLayer) {
  QuantizedModel m;
  Value& product = m.matrix_product(m.input({4, 8}), m.weight({8, 8}));
  Value& shortcut = rounded(m, m.input({4, 8}, "z"));
  Value& sum = rounded(m, m.sum(rounded(m, product), shortcut), 3);
  m.output(m.softmax(sum));
  EXPECT_THAT(kinds_with_byte_chains(m.network),
              UnorderedElementsAre("MatrixMultiply", "BytePointwise", "Softmax"));
}

TEST(ByteChains, BytesThatOthersReadStay) {
  QuantizedModel m;
  Value& bytes = m.quantize(m.input({4, 8}), DataType::kUINT8, kByteStep, 9);
  Value& x = m.dequantize(bytes, {kByteStep}, &m.zero(DataType::kUINT8, 9));
  m.output(m.softmax(x), "floats");
  m.output(m.dequantize(bytes, {2 * kByteStep}), "others");
  m.output(rounded(m, m.activation(x, ActivationType::kTANH)), "table");
  m.output(m.sum(x, m.input({1, 8}, "z")), "sum");
  const auto after = with_byte_chains(m.network);
  EXPECT_EQ(all_of(*after, "Quantize").size(), 1u);
  const auto layers = all_of(*after, "BytePointwise");
  ASSERT_EQ(layers.size(), 2u);
  for (const Node* layer : layers) EXPECT_EQ(layer->inputs[0]->type, DataType::kUINT8);
}

// A new layer reads bytes of which a Dequantize makes floats for others.
TEST(ByteChains, WhatNewLayersReadIsNotTakenAway) {
  QuantizedModel m;
  Value& x = rounded(m, m.activation(m.input({4, 8}), ActivationType::kTANH));
  m.output(m.softmax(x), "floats");
  m.output(m.sum(x, m.input({4, 8}, "z")), "sum");
  EXPECT_THAT(kinds_with_byte_chains(m.network),
              UnorderedElementsAre("BytePointwise", "Dequantize", "Softmax", "BytePointwise"));
}

TEST(ByteChains, RoundingBetweenOtherScalesStays) {
  QuantizedModel m;
  Value& x = m.activation(m.input({4, 8}), ActivationType::kTANH);
  Value& bytes = m.quantize(x, DataType::kINT8, kByteStep, 0);
  m.output(m.activation(m.dequantize(bytes, {2 * kByteStep}), ActivationType::kTANH));
  EXPECT_THAT(kinds_with_byte_chains(m.network), ElementsAre("BytePointwise", "BytePointwise"));
}

TEST(ByteChains, LeavesFloatsAndLayersAlone) {
  {  // nothing is quantized
    QuantizedModel m;
    Value& x = m.activation(m.input({4, 8}), ActivationType::kTANH);
    m.output(m.sum(x, m.input({4, 8}, "z")));
    EXPECT_FALSE(byte_chains(m.network, FusingTarget()));
  }
  {  // each of them is a layer in any case
    QuantizedModel m;
    m.output(m.softmax(m.through(m.softmax(m.input({4, 8})), DataType::kINT8, kByteStep, 0)));
    m.output(m.quantize(m.input({4, 8}, "z"), DataType::kINT8, kByteStep, 0), "bytes");
    EXPECT_EQ(all_of(*with_byte_chains(m.network), "Quantize").size(), 1u);
  }
  {  // the target has no kernel
    QuantizedModel m;
    m.output(rounded(m, m.activation(rounded(m, m.input({4, 8})), ActivationType::kTANH)));
    FusingTarget target;
    target.accepts = [](const PointwiseProgram&) { return false; };
    EXPECT_FALSE(byte_chains(m.network, target));
  }
}

}  // namespace
}  // namespace tenon
