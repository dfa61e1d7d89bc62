#include "ops/assertion.h"
#include "ops/constant.h"
#include "ops/dequantize.h"
#include "ops/gather.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Value& constant_layer(Model& m, const Shape& shape) {
  auto op = std::make_unique<Constant>();
  op->dimensions = shape;
  return m.add(std::move(op), {&m.weight(shape)});
}

TEST(ConstantFolding, FoldsAWholeTreeInOneSweep) {
  Model m;
  Value& x = m.input({2, 3});
  Value& a = constant_layer(m, {2, 3});
  Value& b = m.product(a, m.activation(constant_layer(m, {1, 3}), ActivationType::kTANH));
  m.output(m.sum(x, b));
  auto copy = clone(m.network);
  copy->infer();
  auto patch = constant_folding(*copy, FusingTarget());
  ASSERT_TRUE(patch);
  std::move(*patch).apply(*copy);
  EXPECT_EQ(copy->nodes().size(), 1u);
  EXPECT_TRUE(copy->nodes()[0]->inputs[1]->is_weight());
  EXPECT_EQ(copy->values().size(), 3u) << "weights that nobody uses are gone";
  expect_same_results(m.network, *copy);
}

TEST(ConstantFolding, ReshapesShareTheWeightsBytes) {
  for (const bool moves_an_axis : {false, true}) {
    Model m;
    Value& weight = m.weight({24, 6});  // more than what shapes are computed from
    auto op = std::make_unique<Shuffle>();
    if (moves_an_axis) op->first_transpose = {1, 0};
    op->has_reshape = true;
    op->reshape = {1, 12, 12};
    m.output(m.matrix_product(m.input({1, 5, 12}), m.add(std::move(op), {&weight})));
    const void* const data = weight.constant->data();
    const auto after = rewritten(m.network, constant_folding);
    ASSERT_EQ(after->nodes().size(), 1u);
    EXPECT_EQ(after->nodes()[0]->inputs[1]->constant->data() == data, !moves_an_axis);
  }
}

class StoringTarget final : public FusingTarget {
 public:
  bool stores_int4_weights() const override { return true; }
};

// x (5, 8) times a dequantized matrix (8, 4), which comes through a reshape.
std::unique_ptr<Network> with_quantized_matrix(DataType type, const Target& target,
                                               bool is_output = false) {
  Model m;
  Tensor integers(type, {8, 4});
  std::fill_n(integers.mutable_data<uint8_t>(), integers.bytes(), uint8_t{0x21});
  auto op = std::make_unique<Dequantize>();
  op->layout.axis = 1;
  Value& matrix =
      m.add(std::move(op), {&m.network.add_weight(std::move(integers)), &m.weight({4})});
  auto reshape = std::make_unique<Shuffle>();
  reshape->has_reshape = true;
  reshape->reshape = {1, 8, 4};
  Value& reshaped = m.add(std::move(reshape), {&matrix});
  m.output(m.matrix_product(m.input({1, 5, 8}), reshaped));
  if (is_output) m.output(matrix, "matrix");
  auto copy = clone(m.network);
  copy->infer();
  while (auto patch = constant_folding(*copy, target)) std::move(*patch).apply(*copy);
  expect_same_results(m.network, *copy);
  return copy;
}

TEST(ConstantFolding, RemembersWhatWeightsWereDequantizedFrom) {
  for (const DataType type : {DataType::kINT8, DataType::kINT4}) {
    const auto after = with_quantized_matrix(type, StoringTarget());
    ASSERT_EQ(after->nodes().size(), 1u);
    const Value& matrix = *after->nodes()[0]->inputs[1];
    ASSERT_NE(matrix.folded, nullptr);
    EXPECT_EQ(matrix.folded->inputs[0].type(), type);
    EXPECT_EQ(matrix.folded->inputs[1].count(), 4);
    EXPECT_NE(dynamic_cast<const Dequantize*>(matrix.folded->op.get()), nullptr);
    EXPECT_EQ(clone(*after)->nodes()[0]->inputs[1]->folded, matrix.folded);
  }
}

TEST(ConstantFolding, LeavesInt4WhereNoKernelStoresIt) {
  EXPECT_EQ(with_quantized_matrix(DataType::kINT4, FusingTarget())->nodes().size(), 3u);
  EXPECT_EQ(with_quantized_matrix(DataType::kINT4, StoringTarget(), true)->nodes().size(), 3u)
      << "what is not multiplied alone";
}

TEST(ConstantFolding, MakesKernelsOfConstantLayersWeights) {
  Model m;
  Value& x = m.input({1, 4, 3});
  m.output(m.matrix_product(x, constant_layer(m, {1, 3, 5})));
  EXPECT_EQ(rewritten(m.network, constant_folding)->nodes().size(), 1u);
}

// An assertion has no outputs that could say that its input is needed.
TEST(ConstantFolding, KeepsWhatAnAssertionReads) {
  Model m;
  Value& a = constant_layer(m, {2});
  m.network.add_node(std::make_unique<Assertion>(),
                     {&m.elementwise(a, ElementWiseOperation::kEQUAL, a)}, "check");
  m.output(m.activation(m.input({2, 3}), ActivationType::kTANH));
  const auto after = rewritten(m.network, constant_folding);
  ASSERT_EQ(after->nodes().size(), 2u);
  const Node& check = *after->nodes()[after->nodes()[0]->outputs.empty() ? 0 : 1];
  EXPECT_TRUE(check.inputs[0]->is_weight());
}

TEST(ConstantFolding, KnowsShapes) {
  Model m;
  Value& x = m.input({2, 3});
  Value& shape = m.add(std::make_unique<ShapeOf>(), {&x});
  m.output(m.add(std::make_unique<Shuffle>(), {&x, &shape}));
  const auto after = rewritten(m.network, constant_folding);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_THAT(after->nodes()[0]->inputs[1]->constant->integers(), ElementsAre(2, 3));
}

TEST(ConstantFolding, LeavesShapesThatAreKnownOnlyAtRunTime) {
  Model m;
  Value& x = m.input({-1, 3});
  Value& shape = m.add(std::make_unique<ShapeOf>(), {&x});
  m.output(m.add(std::make_unique<Shuffle>(), {&x, &shape}));
  EXPECT_EQ(rewritten(m.network, constant_folding)->nodes().size(), 2u);
}

TEST(ConstantFolding, GivesConstantOutputsALayer) {
  Model m;
  m.input({2});
  Value& sum = m.sum(m.weight({2}), m.weight({2}));
  m.output(sum, "constant");
  const auto after = rewritten(m.network, constant_folding);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_NE(after->nodes()[0]->as<Constant>(), nullptr);
}

TEST(ConstantFolding, LeavesWhatWouldBeLarge) {
  Model m;
  Value& column = m.weight({1 << 13, 1});
  m.output(m.sum(m.sum(column, m.weight({1, 1 << 13})), m.input({1, 1})));
  m.network.infer();
  EXPECT_FALSE(constant_folding(m.network, FusingTarget()));
}

TEST(ConstantFolding, NamesTheLayerThatCannotBeComputed) {
  Model m;
  Value& data = m.weight({3});
  Value& index =
      m.network.add_weight(Tensor::of<int32_t>(DataType::kINT32, {1}, std::vector<int32_t>{7}));
  Node& node = m.network.add_node(std::make_unique<Gather>(), {&data, &index}, "pick");
  m.network.mark_output(*node.outputs[0]);
  try {
    m.network.infer();
    constant_folding(m.network, FusingTarget());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("pick (Gather)"));
  }
}

}  // namespace
}  // namespace tenon
