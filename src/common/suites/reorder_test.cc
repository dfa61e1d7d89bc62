#include "ops/reorder.h"

#include "backend/testing.h"

namespace tenon {
namespace {

TEST(ReorderTest, AnyTypeInBothDirections) {
  const Shape shapes[] = {{2, 3, 5, 7},   {1, 1, 4, 4},   {2, 40, 33, 35}, {3, 64, 1, 1},
                          {1, 17, 1, 19}, {0, 3, 4, 4},   {2, 8, 3, 4, 5}, {2, 33, 65},
                          {5, 7},         {1, 100, 2, 2}, {1, 4, 300, 10}, {2, 3, 16, 4},
                          {3, 2, 8, 8},   {1, 100, 66, 2}};
  for (const Shape& shape : shapes)
    for (const DataType type :
         {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT64, DataType::kBOOL})
      for (const bool to_last : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", shape, name_of(type), to_last));
        Reorder op;
        op.from = to_last ? Layout::kLinear : Layout::kChannelsLast;
        op.to = to_last ? Layout::kChannelsLast : Layout::kLinear;
        Tensor t(type, shape);
        for (size_t i = 0; i < t.bytes(); ++i)
          t.mutable_data<uint8_t>()[i] =
              static_cast<uint8_t>(type == DataType::kBOOL ? i % 3 == 0 : i * 37 + i / 251);
        LayerTest test(op, {{t, false, op.from}});
        ASSERT_EQ(test.offer("reorder"), "");
        expect_identical(test.run(), t);
      }
}

TEST(ReorderTest, FormatsOfInputsAndOutputs) {
  const Shape shapes[] = {{2, 3, 5, 7},  {1, 1, 4, 4}, {1, 33, 9, 11},
                          {2, 64, 3, 5}, {0, 3, 4, 4}, {2, 12, 3, 4, 5}};
  const Layout formats[] = {Layout::kBlocked2,  Layout::kBlocked4,      Layout::kBlocked16,
                            Layout::kBlocked32, Layout::kChannelsLast8, Layout::kChannelsLast16};
  for (const Shape& shape : shapes)
    for (const DataType type :
         {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT64})
      for (const Layout format : formats)
        for (const Layout other : {Layout::kLinear, Layout::kChannelsLast})
          for (const bool is_input : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", shape, name_of(type), name_of(format),
                                     name_of(other), is_input));
            Reorder op;
            op.from = is_input ? format : other;
            op.to = is_input ? other : format;
            Tensor t(type, shape);
            for (size_t i = 0; i < t.bytes(); ++i)
              t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 251);
            LayerTest test(op, {{t, false, op.from}});
            ASSERT_EQ(test.offer("reorder"), "");
            expect_identical(test.run(), t);
          }
}

}  // namespace
}  // namespace tenon
