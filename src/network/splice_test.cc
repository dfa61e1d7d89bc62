#include "network/splice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/test_op.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Splice, LayersOfABodyTakeWhatIsOutside) {
  Network body;
  Value& in = body.add_input("in", DataType::kFLOAT, {-1});
  Value& weight = body.add_weight(floats({1, 2}), "w");
  Node& first = add(body, {&in, &weight}, "first");
  Node& second = add(body, {first.outputs[0], nullptr}, "second");
  second.precision = DataType::kHALF;
  body.mark_output(*second.outputs[0]);

  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, {5});
  Value* const inputs[] = {&x};
  const auto here = splice(body, inputs, network);
  EXPECT_EQ(here.at(&in), &x);
  const Value& result = *here.at(second.outputs[0]);
  EXPECT_EQ(result.dims, x.dims);  // inferred anew
  EXPECT_FALSE(result.is_output);
  EXPECT_EQ(result.producer->name, "second");
  EXPECT_EQ(result.producer->precision, DataType::kHALF);
  EXPECT_EQ(result.producer->inputs[1], nullptr);
  const Node& twin = *result.producer->inputs[0]->producer;
  EXPECT_EQ(twin.inputs[0], &x);
  EXPECT_EQ(twin.inputs[1]->constant->numbers(), weight.constant->numbers());
  EXPECT_EQ(body.nodes().size(), 2u);
  EXPECT_THROW(splice(body, {}, network), Error);
}

}  // namespace
}  // namespace tenon
