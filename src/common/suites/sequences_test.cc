// Layers on sequences against the reference.
#include "common/suites/float_types_testing.h"
#include "ops/cache_update.h"
#include "ops/reverse_sequence.h"
#include "ops/rotary_embedding.h"

namespace tenon {
namespace {

constexpr DataType kSequencesTypes[] = {DataType::kUINT8, DataType::kHALF, DataType::kFLOAT,
                                        DataType::kINT64};

TestInput counted_bytes(DataType type, const Shape& shape, uint8_t first = 0) {
  Tensor t(type, shape);
  for (size_t i = 0; i < t.bytes(); ++i)
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(first + i * 41 % 239);
  return {t, false, Layout::kLinear};
}

TEST(ReverseSequenceTest, EveryPairOfAxes) {
  for (const DataType type : kSequencesTypes)
    for (const auto& [batch, sequence] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{2, 0}}) {
      ReverseSequence op;
      op.batch_axis = batch;
      op.sequence_axis = sequence;
      const Shape shape{6, 5, 6};
      std::vector<int32_t> lengths{0, 1, 5, 3, 2, 4};
      lengths.resize(static_cast<size_t>(shape[batch]));
      expect_as_reference(
          op, {counted_bytes(type, shape), integers(DataType::kINT32, {shape[batch]}, lengths)});
    }
}

TEST(CacheUpdateTest, PlacesOfEachBatch) {
  for (const DataType type : kSequencesTypes)
    for (const bool circular : {false, true}) {
      CacheUpdate op;
      op.circular = circular;
      const std::vector<int64_t> places{circular ? 15 : 4, 0, circular ? 20 : 7};
      expect_as_reference(
          op, {counted_bytes(type, {3, 2, 10, 24}), counted_bytes(type, {3, 2, 3, 24}, 9),
               integers(DataType::kINT64, {3}, places)});
    }
  CacheUpdate op;
  op.axis = 1;
  expect_as_reference(op, {data({3, 10}), data({3, 4})});
}

TEST(RotaryEmbeddingTest, PairsAndPositions) {
  for (const DataType type : kFloatTypes)
    for (const bool interleaved : {false, true})
      for (const int32_t dimension : {0, 6}) {
        const double tolerance = type == DataType::kFLOAT ? 2e-7 : 8e-3;
        RotaryEmbedding op;
        op.interleaved = interleaved;
        op.dimension = dimension;
        const int64_t pairs = dimension == 0 ? 5 : 3;
        expect_as_reference(
            op,
            {as_type(type, data({2, 3, 4, 10}, 1)), as_type(type, data({2, 4, pairs}, 2)),
             as_type(type, data({2, 4, pairs}, 3))},
            tolerance);
        expect_as_reference(op,
                            {as_type(type, data({2, 3, 4, 10}, 1)),
                             as_type(type, data({9, pairs}, 2)), as_type(type, data({9, pairs}, 3)),
                             integers<int32_t>(DataType::kINT32, {2, 4}, {0, 8, 3, 3, 1, 2, 7, 5})},
                            tolerance);
      }
}

}  // namespace
}  // namespace tenon
