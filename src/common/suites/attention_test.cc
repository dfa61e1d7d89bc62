#include "ops/attention.h"

#include "common/suites/float_types_testing.h"

namespace tenon {
namespace {

struct Sizes {
  int64_t batch, heads, shared, queries, keys, size, width;
};

const Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},        {1, 1, 1, 1, 1, 8, 8},       {2, 3, 1, 5, 7, 16, 16},
    {1, 2, 4, 33, 50, 32, 32},    {2, 2, 2, 16, 64, 40, 24},   {1, 2, 1, 0, 4, 8, 8},
    {1, 3, 1, 197, 197, 64, 64},  {2, 1, 1, 130, 129, 80, 80}, {1, 2, 1, 65, 200, 96, 96},
    {1, 1, 2, 70, 300, 128, 128}, {2, 2, 1, 9, 20, 13, 13},    {1, 1, 1, 20, 40, 256, 200},
    {1, 2, 3, 1, 256, 64, 64},    {2, 2, 1, 3, 45, 32, 20},    {1, 1, 4, 1, 3, 16, 5},
};

std::vector<TestInput> operands(const Sizes& s) {
  return {data({s.batch, s.heads * s.shared, s.queries, s.size}, 1),
          data({s.batch, s.heads, s.keys, s.size}, 2),
          data({s.batch, s.heads, s.keys, s.width}, 3)};
}

void check_attention(const Attention& op, std::vector<TestInput> inputs, DataType type) {
  expect_as_reference(op, in_type(type, std::move(inputs)), tolerance_of(type));
}

// Which keys are seen, in the form of a mask: element i of a fixed pattern.
TestInput bool_mask(const Shape& shape) {
  Tensor t(DataType::kBOOL, shape);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<bool>()[i] = i % 7 % 3 != 0;
  return {t, false, Layout::kLinear};
}

class AttentionOf : public ::testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Types, AttentionOf, ::testing::ValuesIn(kFloatTypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_P(AttentionOf, EqualsReference) {
  for (const Sizes& s : kSizes)
    for (int options = 0; options < 8; ++options) {
      SCOPED_TRACE(fmt::format("{} queries, {} keys, size {}, width {}, options {}", s.queries,
                               s.keys, s.size, s.width, options));
      Attention op;
      op.scale = 0.3f;
      op.causal = (options & 1) != 0;
      op.softcap = (options & 2) != 0 ? 1.5f : 0;
      op.left_window = (options & 4) != 0 ? 3 : -1;
      check_attention(op, operands(s), GetParam());
    }
}

TEST(AttentionTest, Masks) {
  for (const DataType type : kFloatTypes)
    for (const Sizes& s : {Sizes{2, 2, 2, 21, 90, 32, 32}, Sizes{1, 3, 1, 70, 70, 64, 64}}) {
      const int64_t heads = s.heads * s.shared;
      for (const Shape& shape :
           {Shape{s.batch, 1, 1, s.keys}, Shape{s.queries, s.keys}, Shape{1, heads, s.queries, 1},
            Shape{s.batch, heads, s.queries, s.keys}, Shape{s.queries, s.keys - 5}}) {
        SCOPED_TRACE(fmt::format("{} {}", name_of(type), shape));
        Attention op;
        op.scale = 0.2f;
        auto inputs = operands(s);
        inputs.push_back(bool_mask(shape));
        check_attention(op, inputs, type);
        inputs.back() = data(shape, 4);
        inputs.back().tensor->mutable_data<float>()[0] = -INFINITY;
        check_attention(op, inputs, type);
      }
    }
}

// Numbers of valid keys, whose rest may be anything, and offsets of the queries.
TEST(AttentionTest, LengthsAndOffsets) {
  for (const DataType type : kFloatTypes)
    for (const bool causal : {false, true})
      for (const Sizes& s : {Sizes{3, 2, 1, 17, 150, 64, 64}, Sizes{3, 1, 2, 5, 40, 24, 20},
                             Sizes{3, 2, 2, 2, 45, 32, 20}}) {
        Attention op;
        op.scale = 0.2f;
        op.causal = causal;
        auto inputs = operands(s);
        inputs.push_back(absent());
        inputs.push_back(integers<int64_t>(DataType::kINT64, {3}, {0, 1, s.keys}));
        inputs.push_back(integers<int64_t>(DataType::kINT64, {3}, {0, -3, s.keys - s.queries}));
        check_attention(op, inputs, type);
        inputs[Attention::kLengths] = integers<int64_t>(DataType::kINT64, {3}, {33, 9, 30});
        for (int64_t i : {1, 2})
          for (int64_t head = 0; head < s.heads; ++head) {  // of the second batch
            const int64_t width = i == 1 ? s.size : s.width;
            Tensor& t = *inputs[static_cast<size_t>(i)].tensor;
            t.mutable_data<float>()[((s.heads + head) * s.keys + 20) * width] = NAN;
          }
        check_attention(op, inputs, type);
      }
}

// Offsets of the queries, without numbers of keys: kernels that know no lengths see them, too.
TEST(AttentionTest, OffsetsWithoutLengths) {
  for (const DataType type : kFloatTypes)
    for (const Sizes& s : {Sizes{3, 2, 1, 17, 150, 64, 64}, Sizes{3, 1, 4, 70, 131, 64, 48}})
      for (int options = 0; options < 8; ++options)
        for (const bool is_one : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {} queries, options {}, one offset {}", name_of(type),
                                   s.queries, options, is_one));
          Attention op;
          op.scale = 0.2f;
          op.causal = (options & 1) != 0;
          op.left_window = (options & 2) != 0 ? 9 : -1;
          op.right_window = (options & 4) != 0 ? 5 : -1;
          auto inputs = operands(s);
          inputs.push_back(absent());
          inputs.push_back(absent());
          inputs.push_back(
              is_one ? integers<int64_t>(DataType::kINT64, {1}, {40})
                     : integers<int64_t>(DataType::kINT64, {3}, {0, -3, s.keys - s.queries}));
          check_attention(op, inputs, type);
        }
}

// Keys are bound on one side alone, and queries of several heads share theirs.
TEST(AttentionTest, RightWindows) {
  for (const DataType type : kFloatTypes)
    for (const Sizes& s : {Sizes{1, 2, 3, 70, 200, 64, 64}, Sizes{2, 1, 2, 9, 45, 13, 11}})
      for (const int64_t right : {0, 1, 7, 90, 500}) {
        SCOPED_TRACE(fmt::format("{} {} keys, {} to the right", name_of(type), s.keys, right));
        Attention op;
        op.scale = 0.3f;
        op.right_window = right;
        check_attention(op, operands(s), type);
      }
}

// The largest score is the least product then.
TEST(AttentionTest, NegativeScales) {
  for (const DataType type : kFloatTypes)
    for (const Sizes& s : {Sizes{1, 2, 1, 70, 200, 64, 64}, Sizes{2, 1, 3, 17, 150, 128, 128},
                           Sizes{2, 2, 1, 9, 20, 13, 13}})
      for (const bool causal : {false, true})
        for (const float softcap : {0.f, 1.5f}) {
          SCOPED_TRACE(
              fmt::format("{} {} keys, causal {}, cap {}", name_of(type), s.keys, causal, softcap));
          Attention op;
          op.scale = -0.7f;
          op.softcap = softcap;
          op.causal = causal;
          check_attention(op, operands(s), type);
        }
}

// Vectors whose elements no vector of 16 bytes divides, of queries that share keys.
TEST(AttentionTest, OddWidthsOfSharedHeads) {
  for (const DataType type : kFloatTypes)
    for (const auto& [size, width] : {std::pair{1, 3}, {13, 64}, {64, 13}, {33, 65}, {127, 129}}) {
      SCOPED_TRACE(fmt::format("{} size {}, width {}", name_of(type), size, width));
      Attention op;
      op.scale = 0.2f;
      op.causal = true;
      check_attention(op, operands({2, 2, 3, 67, 140, size, width}), type);
    }
}

// As decoders have it: one key for 2, 4 or 8 heads, with and without a mask of each head.
TEST(AttentionTest, GroupsOfQueries) {
  for (const DataType type : kFloatTypes)
    for (const int64_t shared : {2, 4, 8})
      for (const int64_t queries : {1, 5, 130}) {
        SCOPED_TRACE(fmt::format("{} {} heads, {} queries", name_of(type), shared, queries));
        Attention op;
        op.scale = 0.2f;
        op.causal = queries > 1;
        const Sizes s = {2, 2, shared, queries, 150, 64, 64};
        auto inputs = operands(s);
        check_attention(op, inputs, type);
        inputs.push_back(data({s.batch, s.heads * shared, queries, s.keys}, 4));
        check_attention(op, inputs, type);
      }
}

TEST(AttentionTest, WithoutSoftmax) {
  for (const DataType type : kFloatTypes) {
    Attention op;
    op.scale = 0.1f;
    op.normalization = nvinfer1::AttentionNormalizationOp::kNONE;
    op.causal = true;
    check_attention(op, operands({2, 2, 1, 19, 45, 16, 16}), type);
  }
}

TEST(AttentionTest, LeavesScoresToTheReference) {
  Attention op;
  op.scores = AttentionScores::kShares;
  LayerTest test(op, operands({1, 1, 1, 2, 2, 8, 8}));
  EXPECT_EQ(test.offer("attention"), "the scores are wanted as well");
}

// More heads than persistent blocks take at a time.
TEST(AttentionTest, ManyHeads) {
  Attention op;
  op.scale = 0.3f;
  check_attention(op, operands({20, 12, 1, 70, 150, 64, 64}), DataType::kHALF);
}

// As a Quantize behind it has them, of the numbers that it gives.
TEST(AttentionTest, GivesBytes) {
  const QuantizedBytes rules[] = {{true, 0.01f, 0, DataType::kINT8, {}},
                                  {true, 0.007f, 131, DataType::kUINT8, {}},
                                  {true, 0.01f, -3, DataType::kINT8, {-3, 90}},
                                  {true, 0.002f, 0, DataType::kFP8, {}}};
  for (const DataType type : kFloatTypes)
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(fmt::format("{} {} queries, {} keys, size {}, width {}", name_of(type),
                               s.queries, s.keys, s.size, s.width));
      const QuantizedBytes& rule = rules[(s.queries + s.width) % std::size(rules)];
      Attention op;
      op.scale = 0.3f;
      LayerTest plain(op, in_type(type, operands(s)));
      op.bytes = rule;
      LayerTest test(op, in_type(type, operands(s)));
      for_each_candidate(test, [&] {
        ASSERT_EQ(plain.offer(test.kernel().name), "");
        expect_bytes_of(test.run(), plain.run(), rule);
      });
    }
}

// Some keys are hidden, all of them from the third query, and the last from all where a mask is
// shorter; for each query, for all, and for all keys of a query.
TEST(AttentionTest, MasksHideKeys) {
  const int64_t queries = 5, keys = 45;
  for (const Shape& shape : {Shape{queries, keys},
                             {2, 1, queries, keys},
                             {1, 1, 1, keys},
                             {queries, keys - 4},
                             {2, 3, queries, 1}})
    for (const bool is_bool : {false, true})
      for (const int64_t window : {-1, 20}) {
        SCOPED_TRACE(fmt::format("mask {}, bool {}, window {}", shape, is_bool, window));
        Attention op;
        op.left_window = op.right_window = window;
        const int64_t rows = shape.rank() > 1 ? shape[shape.rank() - 2] : 1;
        const Tensor noise = random_tensor(shape, 4);
        std::vector<float> added;
        std::vector<uint8_t> seen;
        for (int64_t i = 0; i < noise.count(); ++i) {
          const float x = noise.data<float>()[i];
          const bool is_hidden = x < -0.3f || (rows > 1 && i / shape.back() % rows == 2);
          added.push_back(is_hidden ? -INFINITY : x);
          seen.push_back(is_hidden ? 0 : 1);
        }
        expect_as_reference(
            op,
            {data({2, 3, queries, 8}, 1), data({2, 3, keys, 8}, 2), data({2, 3, keys, 8}, 3),
             is_bool ? integers(DataType::kBOOL, shape, seen)
                     : integers(DataType::kFLOAT, shape, added)},
            "attention", 5e-6);
      }
}

// What a hidden key's score is does not matter.
TEST(AttentionTest, HiddenScoresAreNotRead) {
  for (const bool is_bool : {false, true}) {
    TestInput key = data({1, 1, 3, 2}, 2);
    key.tensor->mutable_data<float>()[3] = NAN;
    LayerTest test(Attention(),
                   {data({1, 1, 2, 2}, 1), key, data({1, 1, 3, 2}, 3),
                    is_bool ? integers<uint8_t>(DataType::kBOOL, {3}, {1, 0, 1})
                            : integers<float>(DataType::kFLOAT, {3}, {0.5f, -INFINITY, 0})});
    expect_as_reference(test, "attention", 5e-6);
    const Tensor result = test.run();
    for (int64_t i = 0; i < result.count(); ++i)
      EXPECT_TRUE(std::isfinite(result.data<float>()[i]));
  }
}

// Vectors without elements may be any number.
TEST(AttentionTest, NoResultsWantNothing) {
  constexpr int64_t kMany = int64_t{1} << 60;
  LayerTest test(Attention(),
                 {data({1, 1, 3, 0}, 1), data({1, 1, kMany, 0}, 2), data({1, 1, kMany, 0}, 3)});
  ASSERT_EQ(test.offer("attention"), "");
  EXPECT_EQ(test.run().count(), 0);
}

}  // namespace
}  // namespace tenon
