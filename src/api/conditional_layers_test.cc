// Conditionals: attributes come back, and networks do what C++ does.
#include <NvOnnxParser.h>
#include <onnx_schema.pb.h>

#include "api/flow_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConditionalLayers, ConditionalsKeepTheirAttributes) {
  Model m;
  ITensor &x = m.input("x", {2}), &b = m.input("b", {}, DataType::kBOOL);
  IIfConditional* c = m.network->addIfConditional();
  ASSERT_NE(c, nullptr);
  EXPECT_THAT(c->getName(), HasSubstr("Conditional"));
  c->setName("choice");
  IConditionLayer* condition = c->setCondition(b);
  IIfConditionalInputLayer* in = c->addInput(x);
  IIfConditionalOutputLayer* out = c->addOutput(*in->getOutput(0), x);
  EXPECT_STREQ(c->getName(), "choice");
  for (IIfConditionalBoundaryLayer* l :
       std::vector<IIfConditionalBoundaryLayer*>{condition, in, out})
    EXPECT_EQ(l->getConditional(), c);
  EXPECT_EQ(condition->getType(), LayerType::kCONDITION);
  EXPECT_EQ(condition->getNbOutputs(), 0);
  EXPECT_EQ(in->getType(), LayerType::kCONDITIONAL_INPUT);
  EXPECT_EQ(out->getType(), LayerType::kCONDITIONAL_OUTPUT);
  EXPECT_EQ(list(out->getOutput(0)->getDimensions()), (List{2}));
  EXPECT_THAT(m.logger.take_errors(), IsEmpty());
  EXPECT_EQ(c->setCondition(b), nullptr);
  EXPECT_THAT(m.logger.take_errors(), HasSubstr("conditional 'choice' has a condition already"));
}

// Branches of several outputs; one of them passes its input on, another is a constant.
TEST(ConditionalLayers, Conditional) {
  Model m;
  ITensor &x = m.input("x", {2}), &b = m.input("b", {}, DataType::kBOOL);
  ITensor& two = m.constant<float>(DataType::kFLOAT, {1}, {2});
  IIfConditional& c = *m.network->addIfConditional();
  c.setCondition(b);
  ITensor& inside = *c.addInput(x)->getOutput(0);
  ITensor& first = *c.addOutput(m.product(inside, two), m.sum(inside, two))->getOutput(0);
  ITensor& second =
      *c.addOutput(inside, m.constant<float>(DataType::kFLOAT, {2}, {7, 8}))->getOutput(0);
  ITensor* both[] = {&first, &second};
  ASSERT_TRUE(m.compile(*m.network->addConcatenation(both, 2)->getOutput(0)))
      << m.logger.take_errors();
  const Floats in{3, 5};
  for (const bool yes : {true, false, true})
    EXPECT_THAT(m.run({{"x", in}, {"b", yes}}),
                yes ? ElementsAre(6, 10, 3, 5) : ElementsAre(5, 7, 7, 8));
}

// Only the branch taken runs: the other would read beyond the tensor. Their extents differ.
TEST(ConditionalLayers, ConditionalOfDifferentExtents) {
  Model m;
  ITensor &x = m.input("x", {2}), &i = m.input("i", {3}, DataType::kINT32);
  ITensor& b = m.input("b", {1}, DataType::kBOOL);
  IIfConditional& c = *m.network->addIfConditional();
  c.setCondition(b);
  ITensor &data = *c.addInput(x)->getOutput(0), &index = *c.addInput(i)->getOutput(0);
  ITensor& picked = *m.network->addGather(data, index, 0)->getOutput(0);
  ITensor& result = *c.addOutput(picked, m.product(data, data))->getOutput(0);
  EXPECT_EQ(list(result.getDimensions()), (List{-1}));
  ASSERT_TRUE(m.compile(result)) << m.logger.take_errors();
  const Floats in{3, 5};
  const std::vector<int32_t> right{1, 0, 1}, wrong{0, 1, 2};
  bool yes = true;
  EXPECT_THAT(m.run({{"x", in}, {"i", right}, {"b", yes}}), ElementsAre(5, 3, 5));
  yes = false;
  EXPECT_THAT(m.run({{"x", in}, {"i", wrong}, {"b", yes}}), ElementsAre(9, 25));
}

// The number of steps of the Collatz sequence: a conditional in a while loop, in a conditional.
TEST(ConditionalLayers, Collatz) {
  Model m;
  ITensor& first = m.input("n", {}, DataType::kINT32);
  ITensor &one = m.number(1), &two = m.number(2), &three = m.number(3);
  IIfConditional& positive = *m.network->addIfConditional();
  positive.setCondition(m.apply(Op::kGREATER, first, m.number(0)));
  ILoop& loop = *m.network->addLoop();
  IRecurrenceLayer& n = *loop.addRecurrence(*positive.addInput(first)->getOutput(0));
  ITensor& steps = m.counter(loop, 0);
  ITensor& value = *n.getOutput(0);
  loop.addTripLimit(m.apply(Op::kGREATER, value, one), TripLimit::kWHILE);
  IIfConditional& even = *m.network->addIfConditional();
  ITensor& half = m.apply(Op::kFLOOR_DIV, value, two);
  even.setCondition(m.apply(Op::kEQUAL, m.product(half, two), value));
  ITensor& odd = *even.addInput(value)->getOutput(0);
  n.setInput(1, *even.addOutput(half, m.sum(m.product(odd, three), one))->getOutput(0));
  ITensor& result = *positive.addOutput(m.last(loop, steps), m.number(-1))->getOutput(0);
  ASSERT_TRUE(m.compile(result)) << m.logger.take_errors();
  for (const auto& [start, count] : {std::pair(1, 0), {2, 1}, {6, 8}, {27, 111}, {0, -1}, {-5, -1}})
    EXPECT_THAT(m.run<int32_t>({{"n", start}}), ElementsAre(count)) << start;
}

TEST(ConditionalLayers, ConditionalsThatAreWrong) {
  Model m;
  ITensor &x = m.input("x", {2}), &b = m.input("b", {}, DataType::kBOOL);
  IIfConditional& c = *m.network->addIfConditional();
  c.setName("choice");
  ITensor& inside = *c.addInput(x)->getOutput(0);
  ITensor& twice = m.sum(inside, inside);
  ITensor& result = *c.addOutput(twice, x)->getOutput(0);
  EXPECT_THAT(m.refusal(result), HasSubstr("conditional 'choice': it has 0 conditions"));
  c.setCondition(b);
  m.network->markOutput(twice);
  EXPECT_THAT(m.refusal(result), HasSubstr("return it by IIfConditional::addOutput"));
  m.network->unmarkOutput(twice);
  ITensor& number = *c.addOutput(x, m.number(2))->getOutput(0);
  EXPECT_EQ(number.getDimensions().nbDims, -1);
  EXPECT_THAT(m.logger.take_errors(), HasSubstr("one branch makes float32, the other int32"));
}

// Input "b", the condition, gets so many elements at the build.
void expect_built_with_one(Model& m, int64_t elements) {
  IOptimizationProfile& profile = *m.builder->createOptimizationProfile();
  for (const auto point :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    EXPECT_TRUE(profile.setDimensions("b", point, dims({elements})));
  m.config->addOptimizationProfile(&profile);
  const bool is_built = m.build() != nullptr;
  const std::string errors = m.logger.take_errors();
  EXPECT_EQ(is_built, elements == 1) << errors;
  EXPECT_THAT(errors, HasSubstr(elements > 1 ? "in the condition (input 0), found 24" : ""));
}

TEST(ConditionalLayers, AConditionIsOneElementWhenTheLayerIsAdded) {
  Model m;
  ITensor &x = m.input("x", {2}), &b = m.input("b", {24}, DataType::kBOOL);
  IIfConditional& c = *m.network->addIfConditional();
  c.setCondition(b);
  ITensor& inside = *c.addInput(x)->getOutput(0);
  EXPECT_THAT(m.refusal(*c.addOutput(inside, m.sum(inside, inside))->getOutput(0)),
              HasSubstr("expected 1 elements in the condition (input 0), found 24"));
}

TEST(ConditionalLayers, AConditionIsOneElementWhenThePlanIsBuilt) {
  for (const int64_t elements : {1, 24}) {
    Model m;
    ITensor &x = m.input("x", {2}), &b = m.input("b", {-1}, DataType::kBOOL);
    IIfConditional& c = *m.network->addIfConditional();
    c.setCondition(b);
    ITensor& inside = *c.addInput(x)->getOutput(0);
    m.network->markOutput(*c.addOutput(inside, m.sum(inside, inside))->getOutput(0));
    expect_built_with_one(m, elements);
  }
}

// The same of ONNX's If: y = b ? relu(x) : neg(x).
TEST(ConditionalLayers, AConditionOfAModelIsOneElement) {
  namespace onnx = tenon_onnx;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  const auto add_input = [&](const char* name, int32_t type) {
    auto& input = *graph.add_input();
    input.set_name(name);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
  };
  add_input("x", onnx::TensorProto::FLOAT)->set_dim_value(2);
  add_input("b", onnx::TensorProto::BOOL)->set_dim_param("n");
  auto& node = *graph.add_node();
  node.set_op_type("If");
  node.add_input("b");
  node.add_output("y");
  graph.add_output()->set_name("y");
  for (const auto& [name, op] : {std::pair("then_branch", "Relu"), {"else_branch", "Neg"}}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type(op);
    inner.add_input("x");
    inner.add_output(op);
    attribute.mutable_g()->add_output()->set_name(op);
  }
  const std::string bytes = model.SerializeAsString();
  for (const int64_t elements : {1, 24}) {
    Model m;
    const std::unique_ptr<nvonnxparser::IParser> parser(
        nvonnxparser::createParser(*m.network, m.logger));
    ASSERT_TRUE(parser->parse(bytes.data(), bytes.size())) << m.logger.take_errors();
    expect_built_with_one(m, elements);
  }
}

}  // namespace
}  // namespace tenon::testing
