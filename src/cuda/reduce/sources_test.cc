// What is generated for layers that look at neighbours compiles. Needs no GPU.
#include "cuda/reduce/sources.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "common/suites/float_types_testing.h"
#include "cuda/nvrtc/compiler.h"
#include "cuda/reduce/reduce_source.h"

namespace tenon::cuda {
namespace {

constexpr DataType kNumbers[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,
                                 DataType::kINT8,  DataType::kUINT8, DataType::kINT32,
                                 DataType::kINT64};

void expect_compiles(const std::string& source) {
  try {
    EXPECT_GT(compile_cuda(source, "sm_90").size(), 1000u);
  } catch (const Error& e) {
    FAIL() << e.what();
  }
}

TEST(NeighbourSourceTest, ReductionsOfEveryOperationAndType) {
  for (const DataType type : kNumbers)
    for (int operation = 0; operation < 5; ++operation) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), operation));
      expect_compiles(reduce_source(static_cast<nvinfer1::ReduceOperation>(operation), type));
    }
}

TEST(NeighbourSourceTest, RunningSumsAndProducts) {
  for (const DataType type : kNumbers)
    for (const auto operation : {CumulativeKind::kSum, CumulativeKind::kProduct}) {
      Cumulative op;
      op.operation = operation;
      op.exclusive = op.reverse = type == DataType::kHALF;
      expect_compiles(cumulative_source(op, type));
    }
}

TEST(NeighbourSourceTest, WindowsOfChannels) {
  for (const DataType type : kFloatTypes)
    for (const float beta : {0.75f, 0.5f}) {
      Lrn op;
      op.window = 5;
      op.beta = beta;
      expect_compiles(lrn_source(op, type));
    }
}

TEST(NeighbourSourceTest, ScalesOfBlocks) {
  for (const DataType type : kFloatTypes)
    for (const DataType scale :
         {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kFP8, DataType::kE8M0}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), name_of(scale)));
      DynamicQuantize op;
      op.scale_type = scale;
      expect_compiles(block_scales_source(op, type, std::nullopt));
      expect_compiles(block_scales_source(op, type, DataType::kFLOAT));
    }
}

}  // namespace
}  // namespace tenon::cuda
