// Products of bfloat16 by every instruction set that the processor has, against sums in float64.
#include "cpu/simd/bfloat_product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/testing.h"

namespace tenon::cpu {
namespace {

struct BfloatCase {
  int64_t rows, depth, columns;
};
// Tiles, steps and pairs of them that are full and not.
constexpr BfloatCase kBfloatCases[] = {{1, 1, 1},    {16, 32, 16},  {32, 64, 32}, {5, 20, 9},
                                       {37, 70, 52}, {48, 100, 31}, {33, 33, 80}};

constexpr float kFactor = 0.5f, kLower = -0.75f, kUpper = 2;

class BfloatProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (supported_bfloat_kernels().empty()) GTEST_SKIP() << "no AVX512_BF16";
  }

  static Tensor bfloats(const Shape& shape, uint32_t seed) {
    Tensor t = random_tensor(shape, seed);
    for (int64_t i = 0; i < t.count(); ++i)
      t.mutable_data<float>()[i] = static_cast<float>(BFloat16(t.data<float>()[i]));
    return t;
  }

  // Rows times kFactor, by columns, plus a bias.
  static double sum(const Tensor& rows, const Tensor& columns, const Tensor& bias, int64_t row,
                    int64_t column) {
    const int64_t depth = rows.shape()[1], width = columns.shape()[1];
    double total = bias.data<float>()[column];
    for (int64_t k = 0; k < depth; ++k)
      total += double{kFactor} * rows.data<float>()[row * depth + k]
               * columns.data<float>()[k * width + column];
    return total;
  }
};

TEST_F(BfloatProductTest, EqualsSums) {
  for (const BfloatKernels* kernels : supported_bfloat_kernels())
    for (const auto& [rows, depth, columns] : kBfloatCases)
      for (const bool is_transposed : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{}: {} x {} x {}", kernels->instruction_set, rows, depth, columns));
        const Tensor left = bfloats({rows, depth}, 1), right = bfloats({depth, columns}, 2);
        const Tensor bias = random_tensor({columns + kBfloatTile}, 3);
        Tensor turned(DataType::kFLOAT, {columns, depth});
        for (int64_t i = 0; i < columns * depth; ++i)
          turned.mutable_data<float>()[i] = right.data<float>()[i % depth * columns + i / depth];
        Tensor packed_rows(DataType::kBF16, {bfloat_elements(rows, depth)});
        Tensor packed_columns(DataType::kBF16, {bfloat_elements(columns, depth)});
        Tensor result(DataType::kFLOAT, {rows, columns});
        kernels->pack_rows({left.data<float>(), depth, kBfloatTile, rows, depth}, kFactor,
                           packed_rows.mutable_data<uint16_t>());
        const auto pack = is_transposed ? kernels->pack_transposed : kernels->pack_columns;
        pack((is_transposed ? turned : right).data<float>(), is_transposed ? depth : columns,
             columns, depth, packed_columns.mutable_data<uint16_t>());
        kernels->product({packed_rows.data<uint16_t>(), rows, bfloat_steps(depth),
                          packed_offsets(depth).data(), bfloat_elements(kBfloatTile, depth)},
                         {packed_columns.data<uint16_t>(), columns, nullptr},
                         {result.mutable_data<float>(), columns, kBfloatTile, bias.data<float>()});
        for (int64_t i = 0; i < result.count(); ++i)
          ASSERT_NEAR(result.data<float>()[i], sum(left, right, bias, i / columns, i % columns),
                      2e-5)
              << i;
      }
}

// Lines of five rows, of which three are used, the first one from its second row on.
TEST_F(BfloatProductTest, LeavesUnusedRowsOut) {
  constexpr int64_t kRows = 44, kDepth = 40, kColumns = 48, kLine = 5, kUsed = 3, kPosition = 1;
  for (const BfloatKernels* kernels : supported_bfloat_kernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    const Tensor left = bfloats({kRows, kDepth}, 1), right = bfloats({kDepth, kColumns}, 2);
    const Tensor bias = random_tensor({kColumns}, 3);
    Tensor packed_rows(DataType::kBF16, {bfloat_elements(kRows, kDepth)});
    Tensor packed_columns(DataType::kBF16, {bfloat_elements(kColumns, kDepth)});
    kernels->pack_rows({left.data<float>(), kDepth, kBfloatTile, kRows, kDepth}, kFactor,
                       packed_rows.mutable_data<uint16_t>());
    kernels->pack_columns(right.data<float>(), kColumns, kColumns, kDepth,
                          packed_columns.mutable_data<uint16_t>());
    constexpr int64_t kResults = (kPosition + kRows) / kLine * kUsed;
    // Panels of columns, one after the other, each with all rows.
    Tensor result = random_tensor({kResults * kColumns}, 4);
    const Tensor addend = random_tensor({kResults * kColumns}, 5);
    Tensor expected =
        Tensor::of<float>(DataType::kFLOAT, result.shape(),
                          {result.data<float>(), static_cast<size_t>(result.count())});
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t of_lines = kPosition + row;
      if (of_lines % kLine >= kUsed) continue;
      for (int64_t column = 0; column < kColumns; ++column) {
        const int64_t at =
            (column / kBfloatTile * kResults + of_lines / kLine * kUsed + of_lines % kLine)
                * kBfloatTile
            + column % kBfloatTile;
        const double exact = sum(left, right, bias, row, column) + addend.data<float>()[at];
        expected.mutable_data<float>()[at] =
            static_cast<float>(std::clamp<double>(exact, kLower, kUpper));
      }
    }
    kernels->product(
        {packed_rows.data<uint16_t>(), kRows, bfloat_steps(kDepth), packed_offsets(kDepth).data(),
         bfloat_elements(kBfloatTile, kDepth), kLine, kUsed, kPosition},
        {packed_columns.data<uint16_t>(), kColumns, packed_columns.data<uint16_t>()},
        {result.mutable_data<float>(), kBfloatTile, kResults * kBfloatTile, bias.data<float>(),
         addend.data<float>(), kLower, kUpper});
    expect_close(result, expected);
  }
}

TEST_F(BfloatProductTest, KeepsNaN) {
  for (const BfloatKernels* kernels : supported_bfloat_kernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    const float row[] = {1, NAN}, columns[] = {1, INFINITY, 1, 1};
    alignas(64) uint16_t packed_row[kBfloatTile * kBfloatStep] = {};
    alignas(64) uint16_t packed_columns[kBfloatTile * kBfloatStep];
    float result[2];
    kernels->pack_rows({row, 2, kBfloatTile, 1, 2}, 1, packed_row);
    kernels->pack_columns(columns, 2, 2, 2, packed_columns);
    const int64_t offset = 0;
    kernels->product({packed_row, 1, 1, &offset, 0}, {packed_columns, 2, nullptr},
                     {result, 2, kBfloatTile, nullptr, nullptr, 0, 6});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << result[0] << ' ' << result[1];
  }
}

}  // namespace
}  // namespace tenon::cpu
