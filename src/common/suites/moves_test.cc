#include "backend/accuracy_testing.h"
#include "ops/bit_cast.h"
#include "ops/cast.h"
#include "ops/identity.h"
#include "ops/select.h"

namespace tenon {
namespace {

constexpr DataType kAll[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,  DataType::kINT8,
                             DataType::kUINT8, DataType::kINT32, DataType::kINT64, DataType::kBOOL,
                             DataType::kFP8,   DataType::kE8M0,  DataType::kINT4,  DataType::kFP4};

// Numbers of every size and sign, an odd count of them, as a type holds them.
TestInput moves_numbers(DataType type, const Shape& shape, bool is_positive = false) {
  Tensor t = random_tensor(shape, 5, is_positive ? 0.f : -9.f, 9);
  float* p = t.mutable_data<float>();
  for (int64_t i = 0; i < t.count(); i += 5)
    p[i] = (is_positive ? std::abs(p[i]) : p[i]) * std::exp2(static_cast<float>(i % 90) - 20);
  if (type == DataType::kFLOAT) return {t};
  Cast op;
  op.to = type;
  Tensor out(type, shape);
  const TensorView in = view_of(t), to = view_of(out);
  op.reference({{&in, 1}, {&to, 1}});
  return {out};
}

// Of what is no number, every kind will do.
void expect_same_numbers(const Op& op, std::vector<TestInput> inputs) {
  LayerTest test(op, std::move(inputs));
  const Tensor expected = test.reference();
  const bool is_wide = is_float(expected.type()) && bits_of(expected.type()) >= 16;
  for_each_candidate(test, [&] {
    is_wide ? expect_accurate(test.run(), expected, 0, 1) : expect_identical(test.run(), expected);
  });
}

TEST(MoveTest, CastsBetweenAllTypes) {
  for (const DataType from : kAll)
    for (const DataType to : kAll) {
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      Cast op;
      op.to = to;
      // Negative scales are no numbers, which have many forms.
      expect_same_numbers(op, {moves_numbers(from, {3, 5, 11}, to == DataType::kE8M0)});
    }
}

TEST(MoveTest, CastsWithOtherRules) {
  for (const auto rounding : {PowerRounding::kUp, PowerRounding::kDown, PowerRounding::kNearest}) {
    Cast op;
    op.to = DataType::kE8M0;
    op.power_rounding = rounding;
    op.saturate = false;
    expect_as_reference(op, {moves_numbers(DataType::kFLOAT, {5, 20}, true)});
  }
  Cast op;
  op.to = DataType::kFP8;
  op.saturate = false;
  expect_as_reference(op, {moves_numbers(DataType::kFLOAT, {5, 20})});
}

TEST(MoveTest, NumbersThatAreNone) {
  const float special[] = {NAN, INFINITY, -INFINITY, -0.f, 1e20f, -1e20f, 300, -300};
  const TestInput in = {Tensor::of<float>(DataType::kFLOAT, {8}, special)};
  for (const DataType to : {DataType::kINT8, DataType::kUINT8, DataType::kINT32, DataType::kINT64,
                            DataType::kBOOL, DataType::kINT4, DataType::kFP4}) {
    SCOPED_TRACE(name_of(to));
    Cast op;
    op.to = to;
    expect_as_reference(op, {in});
  }
}

TEST(MoveTest, SelectOfAllTypes) {
  std::vector<uint8_t> choice(66);
  for (size_t i = 0; i < choice.size(); ++i) choice[i] = i * i % 3 == 0;
  for (const DataType type : kAll) {
    if (bits_of(type) < 8 || type == DataType::kFP8 || type == DataType::kE8M0)
      continue;  // no reference
    SCOPED_TRACE(name_of(type));
    const TestInput which = integers<uint8_t>(DataType::kBOOL, {6, 11}, choice);
    expect_as_reference(Select(),
                        {which, moves_numbers(type, {6, 11}), moves_numbers(type, {6, 1})});
  }
}

TEST(MoveTest, Copies) {
  for (const DataType type : kAll) {
    SCOPED_TRACE(name_of(type));
    expect_as_reference(Identity(), {moves_numbers(type, {7, 13})});
  }
  BitCast op;
  op.to = DataType::kINT32;
  expect_as_reference(op, {moves_numbers(DataType::kFLOAT, {7, 13})});
}

TEST(MoveTest, ChannelsLast) {
  Cast op;
  op.to = DataType::kHALF;
  TestInput in = moves_numbers(DataType::kFLOAT, {2, 24, 3, 5});
  in.layout = Layout::kChannelsLast;
  expect_as_reference(op, {in});
}

}  // namespace
}  // namespace tenon
