// What cases of sparse convolution cannot say: pairs that do not fit the features.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace tenon::plugins {
namespace {

using kit::DataType;
using kit::testing::PluginCase;
using ::testing::HasSubstr;

TEST(SparseConvolutionTest, PairsOfRowsThatAreNotThereAreErrors) {
  EXPECT_THAT(PluginCase("ImplicitGemm")
                  .in("features", {2, 1}, {1, 2})
                  .in("filters", {1, 1, 1, 1, 1}, {3})
                  .in("pair_fwd", DataType::kINT32, {1, 3}, {0, 2, 1})
                  .in("pair_mask", DataType::kINT32, {3, 1}, {1, 1, 1})
                  .in("mask_argsort", DataType::kINT32, {3}, {0, 1, 2})
                  .out("out_features", {3, 1}, {3, 0, 6})
                  .check(),
              HasSubstr("the pairs name rows behind the 2 of the features"));
}

TEST(SparseConvolutionTest, PairsWithoutAnEndAreNone) {
  EXPECT_EQ(PluginCase("IndiceConv")
                .in("features", {2, 1}, {1, 2})
                .in("filters", {1, 1, 1, 1, 1}, {3})
                .in("indice_pairs", DataType::kINT32, {2, 1, 3}, {1, 0, -1, 2, 9, -1})
                .in("indice_pair_num", DataType::kINT32, {1}, {2})
                .in("num_act_out", DataType::kINT32, {}, {3})
                .out("out_features", {3, 1}, {0, 0, 6})
                .check(),
            "");
}

}  // namespace
}  // namespace tenon::plugins
