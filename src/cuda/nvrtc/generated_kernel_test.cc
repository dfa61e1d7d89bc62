// Every kind of kernel whose code is generated takes it from the build's cache, and keeps it there.
#include "cuda/nvrtc/generated_kernel.h"

#include "backend/code_cache_testing.h"
#include "backend/testing.h"
#include "cuda/cuda_target.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/cumulative.h"
#include "ops/dynamic_quantize.h"
#include "ops/lrn.h"
#include "ops/quantize.h"
#include "ops/reduce.h"

namespace tenon::cuda {
namespace {

void expect_cached(const Op& op, std::vector<TestInput> inputs, std::string_view candidate,
                   size_t programs = 1) {
  SCOPED_TRACE(candidate);
  LayerTest test(op, std::move(inputs), cuda_target());
  KeptCode cache;
  ASSERT_EQ(test.offer(candidate, &cache), "");
  EXPECT_EQ(cache.kept.size(), programs);
  // At other addresses than what the process remembers.
  for (auto& [key, code] : cache.kept)
    code = Tensor::of<std::byte>(code.type(), code.shape(), {code.data<std::byte>(), code.bytes()});
  ASSERT_EQ(test.offer(candidate, &cache), "");
  EXPECT_EQ(cache.kept.size(), programs);
  EXPECT_EQ(test.kernel().packed.size(), programs);
  for (const Tensor& packed : test.kernel().packed)
    EXPECT_TRUE(std::any_of(cache.kept.begin(), cache.kept.end(),
                            [&](const auto& kept) { return kept.second.data() == packed.data(); }));
}

TEST(CudaGeneratedKernelTest, CodeIsThatOfTheBuildsCache) {
  expect_cached(Activation(), {data({2, 8})}, "pointwise");
  Cast to_half;
  to_half.to = DataType::kHALF;
  expect_cached(to_half, {data({2, 8})}, "move");
  Reduce sum;
  sum.axes = 2;
  expect_cached(sum, {data({2, 8})}, "reduce");
  expect_cached(Lrn(), {data({1, 4, 3, 3})}, "lrn");
  const TestInput axis = integers<int32_t>(DataType::kINT32, {}, {1});
  expect_cached(Cumulative(), {data({2, 8}), axis}, "cumulative");
  Quantize quantize;
  quantize.to = DataType::kINT8;
  expect_cached(quantize, {data({2, 8}), {random_tensor({}, 2, 0.01f, 0.02f)}}, "quantize");
  DynamicQuantize blocks;
  blocks.to = DataType::kFP4;
  blocks.scale_type = DataType::kFP8;
  blocks.block_size = 16;
  expect_cached(blocks, {data({6, 64}), absent()}, "dynamic_quantize", 2);
}

}  // namespace
}  // namespace tenon::cuda
