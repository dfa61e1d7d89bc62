#include "ops/shuffle.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Shuffle, AgreesWithOnnx) {
  run_cases("shuffle");
}

// A reshape of (N,C,7,7) with one symbolic extent to `wanted`.
std::vector<std::string> reshaped(const Shape& input, const Shape& wanted) {
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, input, {"N", "C", "H"});
  Shuffle op;
  op.has_reshape = true;
  op.reshape = wanted;
  Node& node = network.add_node(op.clone(), {&x});
  network.infer();
  std::vector<std::string> dims;
  for (Dim d : node.outputs[0]->dims) dims.push_back(text_of(d, network.symbol_names()));
  return dims;
}

TEST(Shuffle, SymbolsCancelInTheComputedExtent) {
  using ::testing::ElementsAre;
  EXPECT_THAT(reshaped({-1, 64, 7, 7}, {0, -1}), ElementsAre("N", "3136"));
  EXPECT_THAT(reshaped({-1, 64, 7, 7}, {-1, 3136}), ElementsAre("N", "3136"));
  EXPECT_THAT(reshaped({-1, -1, 8}, {0, 0, 4, -1}), ElementsAre("N", "C", "4", "2"));
  EXPECT_THAT(reshaped({-1, -1, 8}, {-1, 8}), ElementsAre("(N * C)", "8"));
  EXPECT_THAT(reshaped({-1, 6}, {-1, 4}), ElementsAre("((N * 3) // 2)", "4"));
}

TEST(Shuffle, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given x = input(make<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  Shuffle op;
  op.has_reshape = true;
  op.reshape = {4, -1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("cannot reshape 2x3 (6 elements) to 4x-1"));
  op.reshape = {-1, -1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("at most one -1"));
  op.reshape = {6, 1, 0};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("has only 2"));
  op.has_reshape = false;
  op.first_transpose = {0, 0};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("not a permutation of the axes 0 to 1"));
  // A shape that is computed on the device cannot decide how much memory is needed.
  EXPECT_THAT(infer_error(Shuffle(), {x, input(make<int64_t>({1, 1}, {6}))}),
              HasSubstr("one-dimensional"));
}

}  // namespace
}  // namespace tenon
