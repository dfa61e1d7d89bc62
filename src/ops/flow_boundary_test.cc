// The shape rules of boundary layers; that they do not run alone.
#include "ops/flow_boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/network.h"
#include "ops/support/infer.h"

namespace tenon::testing {
namespace {

using ::testing::HasSubstr;

class FlowBoundaryOps : public ::testing::Test {
 protected:
  Value& tensor(DataType type, const Shape& shape) {
    return network_.add_input("t" + std::to_string(network_.inputs().size()), type, shape);
  }
  template <class Kind> const Node& add(Kind op, std::vector<Value*> inputs) {
    Node& node = network_.add_node(std::make_unique<Kind>(op), std::move(inputs));
    network_.infer(node);
    return node;
  }
  template <class Kind> std::string dims(Kind op, std::vector<Value*> inputs) {
    return text_of(add(op, std::move(inputs)).outputs[0]->dims);
  }
  template <class Kind> std::string error(Kind op, std::vector<Value*> inputs) {
    try {
      add(op, std::move(inputs));
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  }
  Network network_;
};

TEST_F(FlowBoundaryOps, Shapes) {
  Value &x = tensor(DataType::kHALF, {2, 3, -1}), &y = tensor(DataType::kHALF, {4, 3, 5});
  EXPECT_EQ(dims(Recurrence(), {&x}), text_of(x.dims));
  EXPECT_EQ(dims(BranchInput(), {&x}), text_of(x.dims));
  LoopIterator iterator;
  iterator.axis = 1;
  EXPECT_EQ(dims(iterator, {&y}), "4x5");
  iterator.axis = 3;
  EXPECT_THAT(error(iterator, {&y}), HasSubstr("expected an axis from 0 to 2, found 3"));
  iterator.axis = -1;
  EXPECT_THAT(error(iterator, {&y}), HasSubstr("found -1"));
  LoopExit exit;
  EXPECT_EQ(dims(exit, {&y}), "4x3x5");
  exit.output = nvinfer1::LoopOutput::kCONCATENATE;
  exit.axis = 3;
  Value& length = network_.add_weight(Tensor(DataType::kINT64, Shape()));
  *length.constant->mutable_data<int64_t>() = 0;
  EXPECT_EQ(dims(exit, {&y, &network_.add_weight(Tensor::of<int32_t>(DataType::kINT32, Shape(),
                                                                     std::vector<int32_t>{7}))}),
            "4x3x5x7");
  EXPECT_THAT(error(exit, {&y}), HasSubstr("call setInput(1"));
  exit.axis = 4;
  EXPECT_THAT(error(exit, {&y, &length}), HasSubstr("expected an axis from 0 to 3, found 4"));
  const Dims both = add(BranchOutput(), {&x, &y}).outputs[0]->dims;
  EXPECT_FALSE(both[0]->is_constant());
  EXPECT_EQ(both[1]->value.integer, 3);
  EXPECT_FALSE(both[2]->is_constant());
}

TEST_F(FlowBoundaryOps, Errors) {
  Value &x = tensor(DataType::kFLOAT, {2}), &b = tensor(DataType::kBOOL, {2});
  LoopLimit limit;
  EXPECT_THAT(error(limit, {&x}), HasSubstr("the number of iterations"));
  limit.limit = nvinfer1::TripLimit::kWHILE;
  EXPECT_THAT(error(limit, {&x}), HasSubstr("expected a condition of type bool, found float32"));
  EXPECT_THAT(error(limit, {&b}), HasSubstr("the trip limit"));
  EXPECT_THAT(error(BranchCondition(), {&x}), HasSubstr("expected a condition of type bool"));
  EXPECT_THAT(error(BranchCondition(), {&b}), HasSubstr("the condition"));
  EXPECT_THAT(error(BranchOutput(), {&x, &b}), HasSubstr("one branch makes float32, the other"));
  EXPECT_THAT(error(BranchOutput(), {&x, &tensor(DataType::kFLOAT, {2, 1})}),
              HasSubstr("one branch makes 1 dimensions, the other 2"));
}

TEST_F(FlowBoundaryOps, DoNotRunAlone) {
  EXPECT_THROW(Recurrence().reference({}), Error);
  EXPECT_THROW(BranchOutput().reference({}), Error);
  EXPECT_EQ(make_op("Recurrence"), nullptr);  // no plan has one
}

}  // namespace
}  // namespace tenon::testing
