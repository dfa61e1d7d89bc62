#include "network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Adds its inputs, all of the shape of the first; content is propagated.
struct Sum final : OpOf<Sum, static_cast<LayerType>(20001)> {
  static constexpr std::string_view kName = "TestSum";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  bool broken = false;
  void visit(FieldVisitor& v) override { v("broken", broken); }
  void infer(Inference& c) const override {
    require(!broken, "it is broken");
    c.set_output(0, c.type(0), c.dims(0));
    if (const Content* known = c.content(0)) c.set_content(0, *known);
  }
  void reference(const ReferenceCall&) const override {}
};
TENON_REGISTER_OP(Sum);

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

Node& add_sum(Network& n, std::vector<Value*> inputs, std::string name) {
  return n.add_node(std::make_unique<Sum>(), std::move(inputs), std::move(name));
}

// A layer kind that leaves one of its traits out does not compile.
template <class T>
concept MayLeaveOneOut = requires {
  T{.runs = Runs::kKernel,
    .reduced_precision = ReducedPrecision::kNone,
    .magnitude = Magnitude::kOfInputs,
    .implicit_batch = ImplicitBatch::kUnsupported};
};
static_assert(!MayLeaveOneOut<Traits>);

TEST(Op, IsMadeByName) {
  const auto op = make_op("TestSum");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->name(), "TestSum");
  EXPECT_EQ(op->kind(), static_cast<LayerType>(20001));
  EXPECT_EQ(make_op("Nothing"), nullptr);
}

TEST(Op, ClonesKeepAttributes) {
  Sum sum;
  sum.broken = true;
  EXPECT_EQ(fields_of(*sum.clone()), fields_of(sum));
}

TEST(Network, EqualDimensionNamesAreOneSymbol) {
  Network n;
  const Value& a = n.add_input("a", DataType::kFLOAT, {-1, 3}, {"batch"});
  const Value& b = n.add_input("b", DataType::kFLOAT, {-1, -1}, {"batch"});
  EXPECT_EQ(a.dims[0], b.dims[0]);
  EXPECT_NE(b.dims[0], b.dims[1]);
  EXPECT_THAT(n.symbol_names(), ElementsAre("batch", "b.1"));
}

TEST(Network, SmallQuantizedInputsAreKnownAsSymbols) {
  Network n;
  const Value& shape = n.add_input("shape", DataType::kINT32, {2});
  ASSERT_TRUE(shape.content.has_value());
  EXPECT_EQ(shape.content->size(), 2u);
  EXPECT_THAT(n.symbol_names(), ElementsAre("shape[0]", "shape[1]"));
  EXPECT_FALSE(n.add_input("image", DataType::kFLOAT, {2}).content.has_value());
}

TEST(Network, InputsAreChecked) {
  Network n;
  n.add_input("a", DataType::kFLOAT, {1});
  EXPECT_THAT(message([&] { n.add_input("a", DataType::kFLOAT, {1}); }), HasSubstr("called 'a'"));
  EXPECT_THAT(message([&] { n.add_input("b", DataType::kFLOAT, {-2}); }), HasSubstr("-2"));
  EXPECT_THAT(message([&] { n.add_input("", DataType::kFLOAT, {1}); }), HasSubstr("name"));
}

TEST(Network, SortsByUseThenByAge) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1});
  Node& last = add_sum(n, {&x}, "last");
  Node& first = add_sum(n, {&x}, "first");
  last.inputs = {first.outputs[0], first.outputs[0]};
  Node& other = add_sum(n, {&x}, "other");
  EXPECT_THAT(n.sorted(), ElementsAre(&first, &last, &other));
}

TEST(Network, CyclesAreErrors) {
  Network n;
  Node& a = add_sum(n, {nullptr}, "a");
  Node& b = add_sum(n, {a.outputs[0]}, "b");
  a.inputs = {b.outputs[0]};
  EXPECT_THAT(message([&] { n.infer(); }), HasSubstr("a (TestSum) is part of a cycle"));
}

TEST(Network, InferenceGoesInOrderAndNamesTheLayerThatFails) {
  Network n;
  Value& x = n.add_input("x", DataType::kINT64, {3});
  Node& a = add_sum(n, {&x}, "a");
  Node& b = add_sum(n, {a.outputs[0]}, "b");
  n.infer();
  EXPECT_EQ(b.outputs[0]->dims, x.dims);
  EXPECT_EQ(b.outputs[0]->content, x.content);
  b.as<Sum>()->broken = true;
  EXPECT_EQ(message([&] { n.infer(); }), "layer b (TestSum): it is broken");
  b.as<Sum>()->broken = false;
  b.inputs = {nullptr};
  EXPECT_THAT(message([&] { n.infer(); }), HasSubstr("input 0 is missing"));
}

TEST(Network, ReplacedOutputsKeepTheirNames) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1});
  Node& a = add_sum(n, {&x}, "a");
  Node& b = add_sum(n, {a.outputs[0]}, "b");
  b.outputs[0]->name = "result";
  n.mark_output(*b.outputs[0]);
  n.replace_uses(*b.outputs[0], *a.outputs[0]);
  n.remove_nodes({&b});
  EXPECT_THAT(n.outputs(), ElementsAre(a.outputs[0]));
  EXPECT_EQ(a.outputs[0]->name, "result");
  EXPECT_EQ(n.nodes().size(), 1u);
  EXPECT_EQ(n.values().size(), 2u);
}

TEST(Network, WeightsAreKnownOnTheHostWhenSmall) {
  Network n;
  const Value& small =
      n.add_weight(Tensor::of<int64_t>(DataType::kINT64, {2}, std::vector<int64_t>{4, 5}));
  ASSERT_TRUE(small.content.has_value());
  EXPECT_EQ(text_of((*small.content)[1]), "5");
  EXPECT_TRUE(small.is_weight());
  EXPECT_FALSE(n.add_weight(Tensor(DataType::kFLOAT, {5000})).content.has_value());
}

TEST(Network, BooleanWeightsOfAnyBytesAreTrueOrFalse) {
  Network n;
  Tensor flags(DataType::kBOOL, {3});
  const uint8_t bytes[] = {0, 1, 0x82};
  std::memcpy(flags.mutable_data<uint8_t>(), bytes, sizeof bytes);
  const Value& weight = n.add_weight(flags);
  EXPECT_EQ(text_of((*weight.content)[2]), "1");
  EXPECT_EQ(weight.constant->data<uint8_t>()[2], 1);
}

TEST(Network, UsersAreListedOnce) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1});
  Node& a = add_sum(n, {&x, &x}, "a");
  EXPECT_THAT(n.users()[static_cast<size_t>(x.id)], ElementsAre(&a));
}

TEST(Network, VerifyFindsBrokenLinks) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1});
  Node& a = add_sum(n, {&x}, "a");
  n.mark_output(*a.outputs[0]);
  n.infer();
  verify(n);
  a.outputs[0]->producer = nullptr;
  EXPECT_THROW(verify(n), Error);
}

TEST(Network, DumpNamesLayersTypesAndShapes) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {-1, 3}, {"batch"});
  Node& a = add_sum(n, {&x}, "a");
  n.mark_output(*a.outputs[0]);
  n.infer();
  const std::string text = dump(n);
  EXPECT_THAT(text, HasSubstr("a: TestSum(x)"));
  EXPECT_THAT(text, HasSubstr("float32[batch, 3]"));
  EXPECT_THAT(dump_json(n), HasSubstr("\"TestSum\""));
}

}  // namespace
}  // namespace tenon
