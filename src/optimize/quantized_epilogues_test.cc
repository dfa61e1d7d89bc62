#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;

// What is computed stays the same, to the bit, but for what the last operation of floats rounds.
constexpr double kEpiloguesTolerance = 1e-6;

Value& convolved_floats(QuantizedModel& m) {
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f}, nullptr, 0);
  return m.convolution_with(x, kernel, 3, &m.weight({3}));
}

Value& silu(QuantizedModel& m, Value& x) {
  return m.product(x, m.activation(x, ActivationType::kSIGMOID));
}

// As the pipeline has them when the pass runs.
std::vector<std::string> kinds_with_epilogues(const Network& network,
                                              bool (*accepts)(const PointwiseProgram&) = nullptr) {
  auto copy = clone(network);
  copy->infer();
  for (const Pass pass : {quantized_products, pointwise_chains})
    if (auto patch = pass(*copy, FusingTarget())) std::move(*patch).apply(*copy);
  FusingTarget target;
  if (accepts != nullptr) target.accepts = accepts;
  auto after = rewritten(*copy, quantized_epilogues, target, kEpiloguesTolerance);
  if (auto patch = dead_layers(*after, FusingTarget())) std::move(*patch).apply(*after);
  return kinds(*after);
}

TEST(QuantizedEpilogues, TakeAnActivationAndItsQuantize) {
  for (const DataType type : {DataType::kINT8, DataType::kUINT8}) {
    QuantizedModel m;
    m.output(
        m.through(silu(m, convolved_floats(m)), type, 0.02f, type == DataType::kINT8 ? 0 : 14));
    EXPECT_THAT(kinds_with_epilogues(m.network),
                ElementsAre("Quantize", "QuantizedConvolution", "Dequantize"));
  }
  QuantizedModel m;  // one layer, of a matrix product
  Value& x = m.through(m.input({2, 8}), DataType::kINT8, 0.01f, 0);
  Value& w = m.dequantize(m.bytes(DataType::kINT8, {8, 4}), {0.01f});
  Value& y = m.activation(m.matrix_product(x, w), ActivationType::kTANH);
  m.output(m.through(y, DataType::kINT8, 0.02f, -4));
  EXPECT_THAT(kinds_with_epilogues(m.network),
              ElementsAre("Quantize", "QuantizedMatrixMultiply", "Dequantize"));
}

TEST(QuantizedEpilogues, TakeASumWithBytesBehindAnActivation) {
  for (const bool is_first : {false, true}) {
    QuantizedModel m;
    Value& y = silu(m, convolved_floats(m));
    Value& shortcut = m.through(m.input({1, 3, 5, 5}, "z"), DataType::kUINT8, 0.015f, 9);
    Value& sum = is_first ? m.sum(shortcut, y) : m.sum(y, shortcut);
    m.output(m.through(sum, DataType::kINT8, 0.03f, -3));
    EXPECT_THAT(kinds_with_epilogues(m.network),
                ElementsAre("Quantize", "Quantize", "QuantizedConvolution", "Dequantize"));
  }
  {  // floats would be read from memory
    QuantizedModel m;
    Value& y = silu(m, convolved_floats(m));
    m.output(m.through(m.sum(y, m.input({1, 3, 5, 5}, "z")), DataType::kINT8, 0.03f, 0));
    EXPECT_THAT(kinds_with_epilogues(m.network), Contains("Pointwise"));
  }
  {  // matrix products have no kernel for it
    QuantizedModel m;
    Value& x = m.through(m.input({2, 8}), DataType::kINT8, 0.01f, 0);
    Value& w = m.dequantize(m.bytes(DataType::kINT8, {8, 4}), {0.01f});
    Value& y = m.activation(m.matrix_product(x, w), ActivationType::kTANH);
    Value& other = m.through(m.input({2, 4}, "z"), DataType::kINT8, 0.01f, 0);
    m.output(m.through(m.sum(y, other), DataType::kINT8, 0.02f, 0));
    EXPECT_THAT(kinds_with_epilogues(m.network), Contains("Pointwise"));
  }
}

TEST(QuantizedEpilogues, LeaveWhatOthersNeedOrTheTargetDoesNotTake) {
  {  // the numbers are used elsewhere
    QuantizedModel m;
    Value& y = convolved_floats(m);
    m.output(m.through(silu(m, y), DataType::kINT8, 0.02f, 0), "y");
    m.output(y, "z");
    EXPECT_THAT(kinds_with_epilogues(m.network), Contains("Pointwise"));
  }
  {  // the layer reads another tensor, too
    QuantizedModel m;
    Value& y = m.sum(silu(m, convolved_floats(m)), m.input({1, 3, 5, 5}, "b"));
    m.output(m.through(y, DataType::kINT8, 0.02f, 0));
    EXPECT_THAT(kinds_with_epilogues(m.network), Contains("Pointwise"));
  }
  {  // several matrices of weights
    QuantizedModel m;
    Value& x = m.through(m.input({2, 3, 8}), DataType::kINT8, 0.01f, 0);
    Value& w = m.dequantize(m.bytes(DataType::kINT8, {2, 8, 4}), {0.01f});
    Value& y = m.activation(m.matrix_product(x, w), ActivationType::kTANH);
    m.output(m.through(y, DataType::kINT8, 0.02f, -4));
    EXPECT_THAT(kinds_with_epilogues(m.network), Contains("Activation"));
  }
  {
    QuantizedModel m;
    m.output(m.through(silu(m, convolved_floats(m)), DataType::kINT8, 0.02f, 0));
    EXPECT_THAT(
        kinds_with_epilogues(m.network, [](const PointwiseProgram& p) { return p.empty(); }),
        Contains("Pointwise"));
  }
}

}  // namespace
}  // namespace tenon
