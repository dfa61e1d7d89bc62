#include "optimize/choose_branches.h"

#include "ops/conditional.h"
#include "ops/gather.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "optimize/pass_test.h"

namespace tenon::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Network> body(std::unique_ptr<Op> op) {
  auto network = std::make_shared<Network>();
  Value& x = network->add_input("inside", DataType::kFLOAT, {-1, 3});
  Node& node = network->add_node(std::move(op), {&x}, "layer");
  network->infer(node);
  network->mark_output(*node.outputs[0]);
  return network;
}

Value& integer(Model& m, int64_t value) {
  const int64_t values[] = {value};
  return m.network.add_weight(Tensor::of<int64_t>(DataType::kINT64, {1}, values));
}

// Where x (n, 3) has one row, that row as a tensor of one dimension; else the absolute values of x.
struct RowModel : Model {
  Value& x = input({-1, 3});

  RowModel() {
    Value& shape = add(std::make_unique<ShapeOf>(), {&x}, "shape");
    Value& rows = add(std::make_unique<Gather>(), {&shape, &integer(*this, 0)}, "rows");
    auto equal = std::make_unique<ElementWise>();
    equal->operation = ElementWiseOperation::kEQUAL;
    Value& condition = add(std::move(equal), {&rows, &integer(*this, 1)}, "condition");
    auto row = std::make_unique<Shuffle>();
    row->has_reshape = true;
    row->reshape = {3};
    auto absolute = std::make_unique<Unary>();
    absolute->operation = nvinfer1::UnaryOperation::kABS;
    auto op = std::make_unique<Conditional>();
    op->bodies = {body(std::move(row)), body(std::move(absolute))};
    op->outputs.add({DataType::kFLOAT, {BodyExtent::of(3)}});
    op->otherwise.add({DataType::kFLOAT, {BodyExtent(), BodyExtent::of(3)}});
    op->refusal = "x has one row only now";
    output(add(std::move(op), {&condition, &x}, "if"));
  }
  void fix_rows(int64_t rows) {
    x.declared = {rows, 3};
    network.infer();
    choose_branches(network);
    verify(network);
  }
  Shape result(const Shape& shape) {
    const Tensor inputs[] = {random_tensor(shape, 1)};
    return run_reference(network, inputs)[0].shape();
  }
};

TEST(ChooseBranches, ExtentsThatAreFixedDecide) {
  RowModel one, two;
  one.fix_rows(1);
  EXPECT_EQ(one.network.outputs()[0]->dims.size(), 1u);
  EXPECT_EQ(one.network.outputs()[0]->name, "y");
  EXPECT_EQ(one.result({1, 3}), Shape({3}));
  two.fix_rows(2);
  EXPECT_EQ(two.network.outputs()[0]->dims.size(), 2u);
  EXPECT_EQ(two.result({2, 3}), Shape({2, 3}));
  for (const Model* m : {static_cast<Model*>(&one), static_cast<Model*>(&two)}) {
    for (const auto& node : m->network.nodes()) EXPECT_EQ(node->as<Conditional>(), nullptr);
    for (const Symbol& symbol : m->network.symbols()) EXPECT_FALSE(symbol.is_data_dependent());
  }
}

TEST(ChooseBranches, OtherExtentsDecideForTheSecondBody) {
  RowModel m;
  m.fix_rows(-1);
  EXPECT_EQ(m.result({4, 3}), Shape({4, 3}));
  try {
    m.result({1, 3});
    ADD_FAILURE() << "one row was taken";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("x has one row only now"));
  }
}

// Bodies of one rank need no decision.
TEST(ChooseBranches, ABodyMayBeChosenWhenTheNetworkRuns) {
  Model m;
  Value& x = m.input({-1, 3});
  Value& b = m.network.add_input("b", DataType::kBOOL, Shape());
  auto op = std::make_unique<Conditional>();
  for (const auto operation : {nvinfer1::UnaryOperation::kABS, nvinfer1::UnaryOperation::kNEG}) {
    auto unary = std::make_unique<Unary>();
    unary->operation = operation;
    op->bodies.push_back(body(std::move(unary)));
  }
  op->outputs.add({DataType::kFLOAT, {BodyExtent::of_input(1, 0), BodyExtent::of(3)}});
  m.output(m.add(std::move(op), {&b, &x}, "if"));
  choose_branches(m.network);
  EXPECT_THAT(layers_of(m.network), ElementsAre("if"));
}

}  // namespace
}  // namespace tenon::testing
