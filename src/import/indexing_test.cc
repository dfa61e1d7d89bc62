// What operators of selection, placing and filling refuse, and how they say it.
#include <onnx_schema.pb.h>

#include "import/one_node.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using testing::OneNode;

constexpr int32_t kInt64 = onnx::TensorProto::INT64;

TEST(IndexingImport, Selection) {
  EXPECT_THAT(OneNode("TopK", 11).input({2, 3}).constant({4}).error(),
              HasSubstr("expected k from 0 to the extent of axis 1, 3, found 4"));
  EXPECT_THAT(OneNode("TopK", 11).input({2, 3}).constant({1, 1}).error(),
              HasSubstr("k has 2 elements; expected 1"));
  EXPECT_THAT(OneNode("TopK", 11).input({2, 3}).error(), HasSubstr("input 1 (k) is missing"));
  EXPECT_THAT(OneNode("ArgMax", 13).input({2, 3}).set("axis", 2).error(),
              HasSubstr("axis is 2; expected -2 to 1"));
  EXPECT_THAT(OneNode("Hardmax", 13).input({}).error(), HasSubstr("rank 0"));
  EXPECT_THAT(OneNode("Compress", 11).input({3}).input({3, 1}, onnx::TensorProto::BOOL).error(),
              HasSubstr("the condition has 2 dimensions; expected 1"));
  EXPECT_THAT(OneNode("OneHot", 11).input({3}).constant({-1}).input({2}).error(),
              HasSubstr("expected a depth of at least 0, found -1"));
  EXPECT_THAT(OneNode("ReverseSequence", 10).input({3, 2}).constant({1, 2, 3}).error(),
              HasSubstr("expected 2 elements in the lengths"));
}

TEST(IndexingImport, Placing) {
  const auto scatter = [](const char* reduction, const std::vector<int64_t>& updates) {
    return OneNode("ScatterElements", 18)
        .input({3, 2})
        .input({1, 2}, kInt64)
        .input(updates)
        .set("reduction", reduction)
        .error();
  };
  EXPECT_EQ(scatter("max", {1, 2}), "");
  EXPECT_THAT(scatter("mean", {1, 2}), HasSubstr("expected none, add, mul, min or max"));
  EXPECT_THAT(scatter("add", {1, 3}), HasSubstr("expected extent 2 along axis 1 of the updates"));
  EXPECT_THAT(OneNode("BitShift", 11).input({1}, kInt64).input({1}, kInt64).error(),
              HasSubstr("attribute 'direction' is ''; expected LEFT or RIGHT"));
  EXPECT_THAT(OneNode("BitwiseAnd", 18).input({1}).input({1}).error(),
              HasSubstr("expected integers of 8 bits or more, found float32"));
}

TEST(IndexingImport, Filling) {
  EXPECT_THAT(OneNode("Range", 11).constant({0}).constant({9}).constant({0}).error(),
              HasSubstr("delta is 0"));
  EXPECT_THAT(OneNode("Range", 11).constant({0}).constant({int64_t{1} << 60}).constant({1}).error(),
              HasSubstr("the range would have"));
  EXPECT_THAT(OneNode("Range", 11).constant({0, 1}).constant({9}).constant({1}).error(),
              HasSubstr("start has 2 elements; expected 1"));
  EXPECT_THAT(OneNode("EyeLike", 9).input({3}).error(), HasSubstr("expected 2"));
  EXPECT_THAT(OneNode("Trilu", 14).input({3}).error(), HasSubstr("expected 2 or more"));
  EXPECT_THAT(OneNode("RandomUniform", 1).set("shape", std::vector<int64_t>{2, -1}).error(),
              HasSubstr("attribute 'shape' has the negative extent -1"));
  EXPECT_THAT(OneNode("RandomNormal", 1)
                  .set("shape", std::vector<int64_t>{2})
                  .set("dtype", onnx::TensorProto::INT32)
                  .error(),
              HasSubstr("random numbers of type int32 are not supported"));
}

TEST(IndexingImport, SlicesAndPads) {
  const auto slice = [](const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
    return OneNode("Slice", 13)
        .input({3, 4})
        .constant({0, 0})
        .constant({1, 1})
        .constant(axes)
        .constant(steps)
        .error();
  };
  EXPECT_EQ(slice({0, 1}, {1, -1}), "");
  EXPECT_THAT(slice({1, -1}, {1, 1}), HasSubstr("axis -1 is given twice"));
  EXPECT_THAT(slice({0, 2}, {1, 1}), HasSubstr("axis is 2; expected -2 to 1"));
  EXPECT_THAT(slice({0, 1}, {1, 0}), HasSubstr("a step is 0"));
  EXPECT_THAT(slice({0}, {1, 1}), HasSubstr("it has 2 starts, 1 axes and 2 steps"));
  EXPECT_THAT(OneNode("Pad", 13).input({3, 4}).constant({1, 1}).error(),
              HasSubstr("it has 2 pads for 2 axes; expected two for each"));
  EXPECT_THAT(OneNode("Pad", 13).input({3}).constant({-2, -2}).error(),
              HasSubstr("axis 0 would have size -1 after padding"));
  EXPECT_THAT(OneNode("Pad", 13).input({3}).constant({1, 1}).set("mode", "mirror").error(),
              HasSubstr("expected constant, edge, reflect or wrap"));
  EXPECT_THAT(OneNode("CenterCropPad", 18).input({3, 4}).constant({1}).error(),
              HasSubstr("the shape has 1 entries for 2 axes"));
}

TEST(IndexingImport, NGrams) {
  const auto n_grams = [](const char* mode, const std::vector<int64_t>& begins) {
    return OneNode("TfIdfVectorizer", 9)
        .input({2, 6}, onnx::TensorProto::INT64)
        .set("mode", mode)
        .set("min_gram_length", 1)
        .set("max_gram_length", 2)
        .set("max_skip_count", int64_t{0})
        .set("ngram_counts", begins)
        .set("ngram_indexes", std::vector<int64_t>{0, 1, 2})
        .set("pool_int64s", std::vector<int64_t>{4, 5, 4, 5})
        .error();
  };
  EXPECT_EQ(n_grams("TF", {0, 2}), "");
  EXPECT_THAT(n_grams("IF", {0, 2}), HasSubstr("'mode' is 'IF'; expected TF, IDF or TFIDF"));
  EXPECT_THAT(n_grams("TF", {0}), HasSubstr("expected 1 to 1, the number of 'ngram_counts'"));
  EXPECT_THAT(n_grams("TF", {0, 1}), HasSubstr("n-grams of 2 tokens have 3 tokens"));
  EXPECT_THAT(n_grams("TF", {0, 4}), HasSubstr("'ngram_indexes' has 3 entries for 4 n-grams"));
  EXPECT_THAT(n_grams("TF", {0, 7}), HasSubstr("n-grams of 1 tokens have 7 tokens"));
}

}  // namespace
}  // namespace tenon
