#include "cpu/convolution/winograd_split.h"

#include <gtest/gtest.h>

namespace tenon::cpu {
namespace {

Machine machine_of(int64_t threads) {
  return {.first_level = 32 << 10, .second_level = 1 << 20, .threads = threads};
}

WinogradForm form_of(int64_t channels, int64_t output_channels) {
  Convolution op;
  op.output_channels = output_channels;
  op.kernel = {3, 3};
  op.stride = {1, 1};
  return {op, channels, simd_kernels().winograd.tiles[1], simd_kernels().winograd.lanes};
}

// Whatever the sizes are, each tile and each vector of output channels is in one task.
TEST(WinogradSplitTest, CoversTilesAndMaps) {
  for (const int64_t output_channels : {1, 17, 64, 500})
    for (const int64_t tiles : {0, 1, 7, 100, 5000})
      for (const int64_t threads : {1, 2, 7}) {
        const WinogradForm form = form_of(64, output_channels);
        const WinogradSplit split = split_winograd(form, tiles, machine_of(threads));
        const int64_t vectors = form.padded(output_channels) / form.lanes;
        EXPECT_GE(split.block * split.blocks, tiles);
        EXPECT_LT(split.block * (split.blocks - 1), std::max<int64_t>(tiles, 1));
        EXPECT_GE(split.per_slice * split.slices, vectors);
        EXPECT_LT(split.per_slice * (split.slices - 1), vectors);
        EXPECT_GE(split.kept_vectors, 1);
        EXPECT_LE(split.kept_vectors, split.per_slice);
        EXPECT_EQ(split.per_slice % WinogradForm::kPair, 0);
      }
}

// Weights that come from memory are read once: by one thread, for all tiles, although the registers
// hold fewer at a time.
TEST(WinogradSplitTest, ThreadsDivideTheMapsOfFewTiles) {
  for (const int64_t tiles : {4, 16}) {
    const WinogradSplit split = split_winograd(form_of(512, 512), tiles, machine_of(2));
    EXPECT_EQ(split.blocks, 1);
    EXPECT_EQ(split.slices, 2);
  }
}

TEST(WinogradSplitTest, ThreadsDivideTheTilesOfLargeImages) {
  const WinogradSplit split = split_winograd(form_of(64, 64), 5000, machine_of(2));
  EXPECT_EQ(split.slices, 1);
  EXPECT_GT(split.blocks, 2);
  const int64_t floats = 64 + split.kept_vectors * simd_kernels().winograd.lanes;
  EXPECT_LE(36 * split.block * floats * int64_t{sizeof(float)}, machine_of(2).near_bytes());
}

}  // namespace
}  // namespace tenon::cpu
