#include "plan/packed_from.h"

#include <gtest/gtest.h>

#include "ops/identity.h"

namespace tenon {
namespace {

class IdleKernel final : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    return nullptr;
  }
};

TEST(PackedFrom, KnowsTheRequestAndTheMemoryOfConstants) {
  const Identity op;
  auto weights = std::make_unique<Tensor>(DataType::kFLOAT, Shape{2, 3});
  const Tensor same = *weights, other(DataType::kFLOAT, {2, 3}), reshaped = weights->reshaped({6});
  const std::vector<TensorSpec> inputs = {{DataType::kFLOAT, Layout::kLinear, {4, 2}},
                                          {DataType::kFLOAT, Layout::kLinear, {2, 3}}};
  const std::vector<TensorSpec> outputs = {{DataType::kFLOAT, Layout::kLinear, {4, 3}}};
  std::vector<const Tensor*> constants = {nullptr, weights.get()};
  const KernelRequest request{op, inputs, outputs, constants};
  IdleKernel answer;
  answer.input_layouts = {Layout::kBlocked8, Layout::kLinear};
  answer.output_layouts = {Layout::kBlocked8};
  const PackedFrom from(request, answer);
  EXPECT_EQ(from.input_layouts(), answer.input_layouts);
  EXPECT_EQ(from.output_layouts(), answer.output_layouts);
  EXPECT_TRUE(from.is(request));
  constants[1] = &same;
  EXPECT_TRUE(from.is(request)) << "copies share their memory";
  for (const Tensor* tensor : {&other, &reshaped, static_cast<const Tensor*>(nullptr)}) {
    constants[1] = tensor;
    EXPECT_FALSE(from.is(request));
  }
  constants = {&same, &same};
  EXPECT_FALSE(from.is(request)) << "it was no constant";
  constants = {nullptr, &same};
  std::vector<TensorSpec> more_rows = inputs, blocked = outputs;
  more_rows[0].shape = {5, 2};
  blocked[0].layout = Layout::kBlocked8;
  EXPECT_FALSE(from.is({op, more_rows, outputs, constants}));
  EXPECT_FALSE(from.is({op, inputs, blocked, constants}));
  EXPECT_FALSE(from.is({op, inputs, outputs, constants, true})) << "TF32";
}

// The same address may be that of other weights by then.
TEST(PackedFrom, ConstantsThatAreGoneAreNoneOfTheLayers) {
  const Identity op;
  const std::vector<TensorSpec> specs = {{DataType::kFLOAT, Layout::kLinear, {2}}};
  const auto memory = std::make_shared<std::vector<float>>(2);
  auto owner = std::make_shared<int>();
  auto before = std::make_unique<Tensor>(DataType::kFLOAT, Shape{2}, owner, memory->data());
  const Tensor* constant = before.get();
  const PackedFrom from({op, specs, specs, {&constant, 1}}, IdleKernel());
  EXPECT_TRUE(from.is({op, specs, specs, {&constant, 1}}));
  before.reset();
  owner.reset();
  const Tensor after(DataType::kFLOAT, {2}, std::make_shared<int>(), memory->data());
  constant = &after;
  EXPECT_FALSE(from.is({op, specs, specs, {&constant, 1}}));
}

}  // namespace
}  // namespace tenon
