#include "optimize/precision.h"

#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/conditional.h"
#include "ops/identity.h"
#include "ops/loop.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "optimize/float32_layers.h"
#include "optimize/quantized_model.h"

namespace tenon::testing {
namespace {

using nvinfer1::UnaryOperation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Precision kHalves{DataType::kHALF};

std::unique_ptr<Network> with(const Network& network, const Precision& precision) {
  auto copy = clone(network);
  copy->infer();
  apply_precision(*copy, precision, Log());
  verify(*copy);
  return copy;
}

// Name and type of what each layer gives first, casts apart.
std::vector<std::string> types_of(const Network& network) {
  std::vector<std::string> list;
  for (const Node* node : network.sorted())
    if (node->as<Cast>() == nullptr)
      list.push_back(fmt::format("{} {}", node->name, name_of(node->outputs[0]->type)));
  return list;
}

Value& reduce(Model& m, Value& x, nvinfer1::ReduceOperation operation) {
  auto op = std::make_unique<Reduce>();
  op->operation = operation;
  op->axes = 1u << (x.dims.size() - 1);
  op->keep_dimensions = true;
  return m.add(std::move(op), {&x});
}

Value& cast(Model& m, Value& x, DataType to) {
  auto op = std::make_unique<Cast>();
  op->to = to;
  return m.add(std::move(op), {&x});
}

TEST(Precision, LayersBecomeHalvesAndBindingsStay) {
  Model m;
  Value& x = m.input({2, 3, 8, 8});
  Value& a = m.relu(m.convolution(x, 8));
  m.output(m.sum(m.convolution(a, 8), a));
  const auto found = with(m.network, kHalves);
  EXPECT_EQ(found->inputs()[0]->type, DataType::kFLOAT);
  EXPECT_EQ(found->outputs()[0]->type, DataType::kFLOAT);
  EXPECT_THAT(types_of(*found), ElementsAre("Conv_1 float16", "Activation_2 float16",
                                            "Conv_3 float16", "ElementWise_4 float16"));
  for (const auto& node : found->nodes()) {
    if (node->as<Convolution>() == nullptr) continue;
    for (const Value* v : node->inputs) EXPECT_EQ(v->type, DataType::kHALF);
  }
  expect_same_results(m.network, *found, 2e-3);
}

TEST(Precision, OutputsThatTheCallerWantsNarrowNeedNoCast) {
  Model m;
  Value& y = m.relu(m.convolution(m.input({1, 3, 4, 4}), 4));
  m.output(y);
  y.requested_type = DataType::kHALF;
  const auto found = with(m.network, kHalves);
  EXPECT_EQ(found->outputs()[0]->type, DataType::kHALF);
  EXPECT_EQ(found->outputs()[0]->producer->kind(), LayerType::kACTIVATION);
}

TEST(Precision, OutputsKeepTheirOrderAndOtherUsers) {
  Model m;
  Value& x = m.input({1, 3, 4, 4});
  Value& a = m.relu(x);
  Value& b = m.relu(m.convolution(a, 3));
  m.output(a, "first");
  m.output(b, "second");
  expect_same_results(m.network, *with(m.network, kHalves), 2e-3);
}

TEST(Precision, WeightsBeyondTheRangeKeepTheirLayer) {
  Model m;
  Value& x = m.input({1, 1, 4, 4});
  Value& big = m.number(1e6f);
  m.output(m.relu(m.convolution(m.softmax(m.product(x, big)), 2)));
  EXPECT_THAT(types_of(*with(m.network, kHalves)),
              ElementsAre("ElementWise_1 float32", "Softmax_2 float32", "Conv_3 float16",
                          "Activation_4 float16"));
  EXPECT_THAT(types_of(*with(m.network, {DataType::kBF16})),
              ElementsAre("ElementWise_1 bfloat16", "Softmax_2 bfloat16", "Conv_3 bfloat16",
                          "Activation_4 bfloat16"));
}

// All of a row is masked: with minus infinities for -1e9 nothing would be left of it.
TEST(Precision, MaskedSoftmaxStaysFinite) {
  Model m;
  Value& scores = m.input({1, 1, 2, 4});
  auto mask = Tensor::of<float>(DataType::kFLOAT, {1, 1, 2, 4},
                                std::vector<float>{0, -1e9f, 0, 0, -1e9f, -1e9f, -1e9f, -1e9f});
  Value& masked = m.sum(scores, m.network.add_weight(std::move(mask)));
  Value& weights = m.softmax(masked);
  m.output(m.matrix_product(weights, m.weight({1, 1, 4, 3})));
  const auto found = with(m.network, kHalves);
  EXPECT_THAT(types_of(*found), ElementsAre("ElementWise_1 float32", "Softmax_2 float32",
                                            "MatrixMultiply_3 float16"));
  expect_same_results(m.network, *found, 2e-3);
}

TEST(Precision, DivisionsByAlmostNothingStayFinite) {
  Model m;
  Value& x = m.input({2, 4});
  Value& zero = m.product(x, m.number(0, 2));
  Value& largest = m.elementwise(zero, ElementWiseOperation::kMAX, m.number(1e-12f, 2));
  m.output(m.elementwise(zero, ElementWiseOperation::kDIV, largest));
  expect_same_results(m.network, *with(m.network, kHalves), 1e-3);
}

TEST(Precision, SquaresAndSumsStayUntilARootBringsThemBack) {
  Model m;
  Value& x = m.input({2, 8});
  Value& large = m.product(x, m.number(1000, 2));
  Value& root = m.unary(UnaryOperation::kSQRT,
                        reduce(m, m.product(large, large), nvinfer1::ReduceOperation::kSUM));
  m.output(m.relu(root));
  const auto found = with(m.network, kHalves);
  EXPECT_THAT(types_of(*found),
              ElementsAre("ElementWise_1 float16", "ElementWise_2 float32", "Reduce_3 float32",
                          "Unary_4 float32", "Activation_5 float16"));
  expect_same_results(m.network, *found, 2e-3);
}

TEST(Precision, PositionsAreCountedInFloat32) {
  Model m;
  Value& positions = m.network.add_input("x", DataType::kINT32, {1, 4});
  Value& scaled = m.product(cast(m, positions, DataType::kFLOAT), m.number(0.7f, 2));
  m.output(m.relu(m.unary(UnaryOperation::kSIN, scaled)));
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    EXPECT_THAT(types_of(*with(m.network, {type})),
                ElementsAre("ElementWise_2 float32", "Unary_3 float32",
                            fmt::format("Activation_4 {}", name_of(type))));
}

TEST(Precision, FiltersReadAFloat32Signal) {
  Model m;
  Value& signal = m.input({1, 1, 1, 256});
  auto filters = std::make_unique<Convolution>();
  filters->output_channels = 4;
  filters->kernel = {1, 64};
  filters->stride = filters->dilation = {1, 1};
  filters->pre_padding = filters->post_padding = {0, 0};
  Value& louder = m.product(signal, m.number(0.5f));
  Value& spectrum = m.add(std::move(filters), {&louder, &m.weight({4, 1, 1, 64})}, "Filters");
  m.output(m.relu(m.convolution(spectrum, 4)));
  EXPECT_THAT(types_of(*with(m.network, kHalves)),
              ElementsAre("ElementWise_1 float32", "Filters float32", "Conv_2 float16",
                          "Activation_3 float16"));
}

TEST(Precision, BytesAndBooleansFitIn16Bits) {
  Model m;
  Value& x = m.network.add_input("x", DataType::kUINT8, {1, 3, 4, 4});
  m.output(m.relu(cast(m, x, DataType::kFLOAT)));
  EXPECT_THAT(types_of(*with(m.network, kHalves)), ElementsAre("Activation_2 float16"));
}

TEST(Precision, InputsAreQuantizedAsTheyAre) {
  QuantizedModel m;
  Value& x = m.input({1, 3, 4, 4});
  m.output(m.relu(m.dequantize(m.quantize(x, DataType::kINT8, 0.5f, 0), {0.5f})));
  const auto found = with(m.network, kHalves);
  const Node* first = found->sorted().front();
  ASSERT_NE(first->as<Quantize>(), nullptr);
  EXPECT_EQ(first->inputs[0]->type, DataType::kFLOAT);
}

TEST(Precision, WhatTheCallerSetIsObeyed) {
  Model m;
  Value& x = m.input({1, 3, 4, 4});
  Value& a = m.convolution(x, 4);
  Value& b = m.unary(UnaryOperation::kEXP, a);
  m.output(m.relu(b));
  a.producer->precision = DataType::kFLOAT;
  b.producer->precision = DataType::kBF16;
  const Precision obey{std::nullopt, Precision::Constraints::kObey};
  const auto found = with(m.network, obey);
  EXPECT_THAT(types_of(*found),
              ElementsAre("Conv_1 float32", "Unary_2 bfloat16", "Activation_3 float32"));
  expect_same_results(m.network, *found, 2e-2);
  EXPECT_THAT(types_of(*with(m.network, {DataType::kHALF, Precision::Constraints::kObey})),
              ElementsAre("Conv_1 float32", "Unary_2 bfloat16", "Activation_3 float32"));
  EXPECT_THAT(types_of(*with(m.network, kHalves)),
              ElementsAre("Conv_1 float32", "Unary_2 float32", "Activation_3 float32"));
}

TEST(Precision, OutputTypesThatTheCallerSetAreRounded) {
  Model m;
  Value& x = m.input({1, 3, 4, 4});
  Value& a = m.convolution(x, 4);
  a.producer->output_types[0] = DataType::kBF16;
  m.output(m.relu(a));
  const auto found = with(m.network, {std::nullopt, Precision::Constraints::kPrefer});
  const std::vector<Tensor> inputs = random_inputs(m.network);
  const Tensor exact = run_reference(m.network, inputs)[0];
  const Tensor rounded = run_reference(*found, inputs)[0];
  for (int64_t i = 0; i < exact.count(); ++i)
    ASSERT_EQ(rounded.data<float>()[i], static_cast<float>(BFloat16(exact.data<float>()[i])));
}

TEST(Precision, WhatCannotBeObeyedIsAnErrorOrAWarning) {
  Model m;
  Value& x = m.input({1, 4});
  Value& big = m.network.add_weight(
      Tensor::of<float>(DataType::kFLOAT, {1, 4}, std::vector<float>{1, 2, 1e6f, 4}));
  Value& y = m.product(x, big);
  m.output(y);
  y.producer->precision = DataType::kHALF;
  try {
    with(m.network, {std::nullopt, Precision::Constraints::kObey});
    FAIL() << "it was obeyed";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("layer ElementWise_1 (ElementWise) must compute in float16"));
    EXPECT_THAT(e.what(), HasSubstr("beyond the range of float16"));
  }
  const auto found = with(m.network, {std::nullopt, Precision::Constraints::kPrefer});
  EXPECT_THAT(types_of(*found), ElementsAre("ElementWise_1 float32"));
}

TEST(Precision, PreferencesDoNotSpoilNumbers) {
  Model m;
  Value& x = m.input({1, 4});
  Value& y = m.relu(m.unary(UnaryOperation::kEXP, x));
  Value& z = m.softmax(y);
  m.output(z);
  for (const auto& node : m.network.nodes()) node->precision = DataType::kHALF;
  EXPECT_THAT(types_of(*with(m.network, {std::nullopt, Precision::Constraints::kPrefer})),
              ElementsAre("Unary_1 float32", "Activation_2 float32", "Softmax_3 float32"));
  EXPECT_THAT(types_of(*with(m.network, {std::nullopt, Precision::Constraints::kObey})),
              ElementsAre("Unary_1 float16", "Activation_2 float16", "Softmax_3 float16"));
}

class FastTarget final : public FusingTarget {
 public:
  bool is_fast_in(DataType type) const override { return type == DataType::kHALF; }
};

TEST(Precision, IsOnlyForTargetsThatAreFastInIt) {
  for (const bool fast : {false, true}) {
    Model m;
    m.output(m.relu(m.input({1, 4})));
    const OptimizeOptions options{Log(), kHalves, {}};
    fast ? optimize(m.network, FastTarget(), options)
         : optimize(m.network, FusingTarget(), options);
    EXPECT_THAT(types_of(m.network),
                ElementsAre(fast ? "Activation_1 float16" : "Activation_1 float32"));
  }
}

TEST(Precision, ProductsAreMarkedWhereNothingElseIsFaster) {
  Model m;
  Value& x = m.input({1, 4, 8, 8});
  Value& a = m.relu(m.convolution(x, 8));
  m.output(m.convolution(m.unary(UnaryOperation::kEXP, a), 8));
  m.network.nodes()[2]->precision = DataType::kBF16;  // hints change nothing
  Precision precision{DataType::kBF16};
  precision.only_products = true;
  const auto marked = [](const Network& network) {
    std::vector<std::string> list;
    for (const Node* node : network.sorted())
      if (node->precision)
        list.push_back(node->name + " " + std::string(name_of(*node->precision)));
    return list;
  };
  const auto found = with(m.network, precision);
  EXPECT_THAT(types_of(*found), ElementsAre("Conv_1 float32", "Activation_2 float32",
                                            "Unary_3 float32", "Conv_4 float32"));
  EXPECT_THAT(marked(*found), ElementsAre("Conv_1 bfloat16", "Conv_4 bfloat16"));
  // What the caller set is followed as ever.
  for (const auto& node : m.network.nodes())
    node->precision = node->name == "Conv_1" ? DataType::kFLOAT : DataType::kBF16;
  precision.constraints = Precision::Constraints::kObey;
  const auto followed = with(m.network, precision);
  EXPECT_THAT(types_of(*followed), ElementsAre("Conv_1 float32", "Activation_2 bfloat16",
                                               "Unary_3 bfloat16", "Conv_4 bfloat16"));
  EXPECT_THAT(marked(*followed), IsEmpty());
}

TEST(Precision, HintsAreNoMarks) {
  Model m;
  m.output(m.convolution(m.input({1, 4, 8, 8}), 8));
  m.network.nodes()[0]->precision = DataType::kBF16;
  optimize(m.network, FusingTarget(), {Log(), {}, {}});
  EXPECT_EQ(m.network.nodes()[0]->precision, std::nullopt);
}

TEST(Precision, BodiesOfConditionalsBecomeHalvesThoseOfLoopsDoNot) {
  const auto body_of = [](bool loops) {
    auto body = std::make_shared<Network>();
    if (loops) {
      body->add_input("iteration", DataType::kINT64, {});
      Value& go = body->add_input("go", DataType::kBOOL, {});
      body->mark_output(*body->add_node(std::make_unique<Identity>(), {&go}, "go on").outputs[0]);
    }
    Value& x = body->add_input("x", DataType::kFLOAT, {4});
    body->mark_output(*body->add_node(std::make_unique<Activation>(), {&x}, "relu").outputs[0]);
    body->infer();
    return body;
  };
  Model m;
  Value& x = m.input({4});
  auto loop = std::make_unique<Loop>();
  loop->state_count = 1;
  loop->bodies = {body_of(true)};
  loop->outputs.add({DataType::kFLOAT, {BodyExtent::of(4)}});
  auto conditional = std::make_unique<Conditional>();
  conditional->bodies = {body_of(false), body_of(false)};
  conditional->outputs.add({DataType::kFLOAT, {BodyExtent::of(4)}});
  Value& trips = m.network.add_input("trips", DataType::kINT64, {});
  Value& condition = m.network.add_input("condition", DataType::kBOOL, {});
  Value& looped = m.add(std::move(loop), {&trips, nullptr, &x});
  m.output(m.add(std::move(conditional), {&condition, &looped}));
  optimize(m.network, FastTarget(), {Log(), kHalves, {}});
  std::vector<std::string> types;
  for (const Node* node : m.network.sorted())
    if (const ControlFlow* layer = control_flow_of(*node))
      for (const std::string& type : types_of(*layer->bodies[0])) types.push_back(type);
  EXPECT_THAT(types, ElementsAre("go on bool", "relu float32", "relu float16"));
}

// Deep random networks: what is between layers is rounded, and nothing else happens.
TEST(Precision, RandomNetworksAgree) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Model m;
    std::vector<Value*> values{&m.input({2, 4, 6, 6})};
    const auto any = [&]() -> Value& { return *values[random() % values.size()]; };
    for (int layer = 0; layer < 12; ++layer) {
      Value* made = nullptr;
      switch (random() % 7) {
        case 0:
          made = &m.convolution(any(), 4);
          break;
        case 1:
          made = &m.relu(any());
          break;
        case 2:
          made = &m.sum(any(), any());
          break;
        case 3:
          made = &m.softmax(any());
          break;
        case 4:
          made = &m.unary(UnaryOperation::kEXP, m.softmax(any()));
          break;
        case 5:
          made = &m.activation(any(), ActivationType::kTANH);
          break;
        default:
          made = &m.batch_norm(any());
      }
      values.push_back(made);
    }
    m.output(m.activation(*values.back(), ActivationType::kSIGMOID));
    auto found = clone(m.network);
    found->infer();
    optimize(*found, FastTarget(), {Log(), kHalves, {}});
    verify(*found);
    expect_same_results(m.network, *found, 1e-2);
  }
}

}  // namespace
}  // namespace tenon::testing
