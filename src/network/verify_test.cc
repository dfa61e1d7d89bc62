#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/test_op.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

struct VerifyTest : ::testing::Test {
  Network network;
  Value* x = &network.add_input("x", DataType::kFLOAT, {2});
  Node* a = &add(network, {x}, "a");
  Node* b = &add(network, {a->outputs[0]}, "b");

  VerifyTest() { network.mark_output(*b->outputs[0]); }

  std::string complaint() const {
    try {
      verify(network);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kINTERNAL_ERROR);
      return e.what();
    }
    return "";
  }
};

TEST_F(VerifyTest, AcceptsAProperNetwork) {
  EXPECT_EQ(complaint(), "");
}

TEST_F(VerifyTest, FindsTensorsOfOtherNetworks) {
  Network other;
  b->inputs[0] = &other.add_input("x", DataType::kFLOAT, {2});
  EXPECT_THAT(complaint(), HasSubstr("layer b (Repeat) uses a tensor outside the network"));
}

TEST_F(VerifyTest, FindsLinksThatDisagree) {
  a->outputs[0]->producer = b;
  EXPECT_THAT(complaint(), HasSubstr("is not output 0 of layer b"));
}

TEST_F(VerifyTest, FindsTensorsThatNothingProduces) {
  network.remove_input(*x);
  EXPECT_THAT(complaint(), HasSubstr("'x', which nothing produces"));
}

TEST_F(VerifyTest, FindsUnknownShapes) {
  b->outputs[0]->known = false;
  EXPECT_THAT(complaint(), HasSubstr("'b_output_0', an output of layer b (Repeat), are not known"));
}

TEST_F(VerifyTest, FindsWrongOutputMarks) {
  a->outputs[0]->is_output = true;
  EXPECT_THAT(complaint(), HasSubstr("'a_output_0' is not among the outputs"));
}

TEST_F(VerifyTest, FindsEqualNames) {
  network.mark_output(*a->outputs[0]);
  a->outputs[0]->name = b->outputs[0]->name;
  EXPECT_THAT(complaint(), HasSubstr("two outputs are called 'b_output_0'"));
}

TEST_F(VerifyTest, FindsConstantsOfAnotherShape) {
  Value& weight = network.add_weight(floats({1, 2}), "w");
  weight.constant = floats({1, 2, 3});
  EXPECT_THAT(complaint(), HasSubstr("'w' and its constant differ"));
}

TEST_F(VerifyTest, FindsCycles) {
  a->inputs[0] = b->outputs[0];
  EXPECT_THROW(verify(network), Error);
}

}  // namespace
}  // namespace tenon
