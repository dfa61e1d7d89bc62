// What the CPU target's attention kernel does beyond the suite, in sizes and layouts of its own.
#include "ops/attention.h"

#include "cpu/bfloat_testing.h"
#include "cpu/simd/bfloat_product.h"

namespace tenon::cpu {
namespace {

void check_attention(LayerTest& test) {
  ASSERT_EQ(test.offer("attention"), "");
  expect_close(test.run(), test.reference(), 5e-6);
}

// Calls check(op, inputs) for some sizes, one of `queries` queries, with each combination of
// options.
template <class Check> void for_each_attention(int64_t queries, const Check& check) {
  struct Sizes {
    int64_t batch, heads, shared, queries, keys, size, width;
  };
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{2, 3, 1, 5, 7, 8, 8}, Sizes{1, 2, 4, 33, 50, 16, 20},
        Sizes{2, 2, 2, queries, 64, 40, 33}, Sizes{1, 2, 1, 0, 4, 8, 8}})
    for (int options = 0; options < 16; ++options) {
      SCOPED_TRACE(fmt::format("{} queries, {} keys, options {}", s.queries, s.keys, options));
      Attention op;
      op.scale = 0.3f;
      op.causal = (options & 1) != 0;
      op.softcap = (options & 2) != 0 ? 1.5f : 0;
      op.left_window = (options & 4) != 0 ? 3 : -1;
      std::vector<TestInput> inputs{data({s.batch, s.heads * s.shared, s.queries, s.size}, 1),
                                    data({s.batch, s.heads, s.keys, s.size}, 2),
                                    data({s.batch, s.heads, s.keys, s.width}, 3)};
      if ((options & 8) != 0) inputs.push_back(data({s.batch, 1, 1, s.keys}, 4));
      check(op, inputs);
    }
}

TEST(AttentionKernelTest, EqualsReference) {
  for_each_attention(16, [](const Attention& op, const std::vector<TestInput>& inputs) {
    LayerTest test(op, inputs);
    check_attention(test);
  });
}

// Scores and shares are rounded on the way.
TEST(AttentionKernelTest, MultipliesInBfloat16) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  for_each_attention(70, [](const Attention& op, const std::vector<TestInput>& inputs) {
    LayerTest test = bfloat_layer(op, inputs);
    ASSERT_EQ(test.offer("bfloat_attention"), "");
    expect_close(test.run(), test.reference(), 1. / 256);
    expect_identical_with(test, {1, 2, 5});
  });
}

// What lies behind the valid keys may be anything.
TEST(AttentionKernelTest, BfloatsOfOtherKeysDoNotMatter) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  Attention op;
  TestInput key = data({2, 2, 40, 8}, 2), value = data({2, 2, 40, 8}, 3);
  const TestInput clean_key = data({2, 2, 40, 8}, 2), clean_value = data({2, 2, 40, 8}, 3);
  for (int64_t i = 0; i < 2 * 40 * 8; ++i)  // of the first of two batches
    if (i / 8 % 40 >= 33)
      for (Tensor* t : {&*key.tensor, &*value.tensor}) t->mutable_data<float>()[i] = NAN;
  const TestInput lengths = integers<int64_t>(DataType::kINT64, {2}, {33, 40});
  LayerTest test(op, {data({2, 2, 9, 8}, 1), key, value, absent(), lengths});
  LayerTest clean(op, {data({2, 2, 9, 8}, 1), clean_key, clean_value, absent(), lengths});
  test.allow_bf16();
  ASSERT_EQ(test.offer("bfloat_attention"), "");
  expect_close(test.run(), clean.reference(), 1. / 256);
}

TEST(AttentionKernelTest, HalfPrecisionIsWidened) {
  Attention op;
  op.scale = 0.3f;
  std::vector<TestInput> inputs;
  for (const Shape& shape : {Shape{2, 3, 17, 8}, {2, 3, 20, 8}, {2, 3, 20, 8}, {2, 1, 1, 20}})
    inputs.push_back(as_type(DataType::kHALF, data(shape, static_cast<uint32_t>(inputs.size()))));
  LayerTest test(op, inputs);
  ASSERT_EQ(test.offer("attention_16bit"), "");
  expect_close(test.run(), test.reference(), 1e-3);
}

TEST(AttentionKernelTest, WithoutSoftmax) {
  Attention op;
  op.normalization = nvinfer1::AttentionNormalizationOp::kNONE;
  op.causal = true;
  LayerTest test(op, {data({2, 2, 9, 8}, 1), data({2, 2, 9, 8}, 2), data({2, 2, 9, 8}, 3)});
  check_attention(test);
}

TEST(AttentionKernelTest, ThreadsDoNotMatter) {
  Attention op;
  op.causal = true;
  for (const int64_t heads : {1, 3}) {
    LayerTest test(op, {data({1, 2 * heads, 50, 8}, 1), data({1, heads, 40, 8}, 2),
                        data({1, heads, 40, 8}, 3)});
    ASSERT_EQ(test.offer("attention"), "");
    expect_identical_with(test, {1, 2, 7});
  }
}

// As they come out of one product: query, key and value of all heads beside each other.
TEST(AttentionKernelTest, VectorsWithinOtherTensors) {
  constexpr int64_t kBatch = 2, kHeads = 3, kRows = 21, kSize = 8, kWidth = kHeads * kSize;
  Attention op;
  op.scale = 0.3f;
  for (int64_t i = 0; i < 3; ++i)
    op.vectors[i] = {
        {kBatch, kHeads, kRows, kSize}, {kRows * 3 * kWidth, kSize, 3 * kWidth, 1}, i * kWidth};
  op.vectors[Attention::kResult] = {
      {kBatch, kHeads, kRows, kSize}, {kWidth, kSize, kBatch * kWidth, 1}, 0};
  op.result_shape = {kRows, kBatch, kWidth};
  const TestInput all = data({kBatch, kRows, 3 * kWidth}, 1);
  LayerTest test(op, {all, all, all});
  check_attention(test);
  LayerTest masked(op, {all, all, all, data({kBatch, 1, kRows, kRows}, 2)});
  check_attention(masked);
  // Two heads of queries for one of keys, which has the first head's place.
  Attention shared = op;
  for (const size_t i : {Attention::kKey, Attention::kValue}) shared.vectors[i].extents[1] = 1;
  LayerTest few(shared, {all, all, all});
  check_attention(few);
  op.vectors[Attention::kKey].steps[3] = 2;
  LayerTest apart(op, {all, all, data({kBatch, kRows, 6 * kWidth}, 1)});
  EXPECT_EQ(apart.offer("attention"), "only neighbouring elements are supported");
}

}  // namespace
}  // namespace tenon::cpu
