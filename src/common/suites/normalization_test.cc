#include "ops/normalization.h"

#include "backend/testing.h"
#include "common/suites/float_types_testing.h"

namespace tenon {
namespace {

struct NormalizationCase {
  Shape data;
  uint32_t axes;
  Shape scale, bias;  // rank 0: none
  int64_t groups = 1;
  bool subtracts_mean = true;
};

const NormalizationCase kNormalizationCases[] = {
    {{3, 7, 768}, 4, {1, 1, 768}, {1, 1, 768}},  // layer
    {{3, 7, 768}, 4, {1, 1, 768}, {}},
    {{2, 5, 8}, 4, {}, {}, 1, false},  // root mean square
    {{4, 33}, 2, {1, 33}, {1, 33}},    // not aligned
    {{2, 3, 4, 8}, 12, {1, 1, 4, 8}, {1, 1, 1, 8}},
    {{3, 2, 2048}, 4, {1, 1, 2048}, {1, 1, 2048}},
    {{2, 8192}, 2, {1, 8192}, {1, 8192}},
    {{2, 40000}, 2, {1, 40000}, {1, 40000}},         // longer than registers hold
    {{2, 6, 5, 7}, 12, {1, 6, 1, 1}, {1, 6, 1, 1}},  // instance
    {{2, 6, 16, 16}, 12, {1, 6, 1, 1}, {1, 6, 1, 1}},
    {{2, 6, 5, 7}, 14, {1, 6, 1, 1}, {1, 6, 1, 1}, 3},  // groups
    {{2, 8, 4, 4}, 14, {1, 8, 1, 1}, {1, 8, 1, 1}, 2},
    {{2, 6, 5, 7}, 14, {1, 3, 1, 1}, {1, 3, 1, 1}, 3},  // a parameter for each group
    {{2, 4, 6}, 6, {1, 4, 1}, {1, 4, 1}, 4},
    {{2, 6, 5, 7}, 2, {1, 6, 1, 1}, {1, 6, 1, 1}},  // neighbours have means of their own
    {{3, 4, 5}, 5, {3, 1, 5}, {1, 4, 1}},
    {{3, 4, 5}, 4, {3, 4, 5}, {3, 1, 1}},  // parameters of every row
    {{0, 4, 5}, 4, {1, 1, 5}, {}},
};

Normalization op_of(const NormalizationCase& c) {
  Normalization op;
  op.axes = c.axes;
  op.groups = c.groups;
  op.subtracts_mean = c.subtracts_mean;
  return op;
}

std::vector<TestInput> inputs_of(const NormalizationCase& c) {
  const auto parameter = [](const Shape& shape, uint32_t seed) {
    return shape.rank() == 0 ? absent() : data(shape, seed);
  };
  return {data(c.data), parameter(c.scale, 2), parameter(c.bias, 3)};
}

TEST(NormalizationTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const NormalizationCase& c : kNormalizationCases) {
      SCOPED_TRACE(
          fmt::format("{} {} over {:#x}, {} groups", name_of(type), c.data, c.axes, c.groups));
      expect_as_reference(op_of(c), in_type(type, inputs_of(c)), tolerance_of(type));
    }
}

TEST(NormalizationTest, Statistics) {
  for (const NormalizationCase& c :
       {kNormalizationCases[0], kNormalizationCases[3], kNormalizationCases[14]}) {
    SCOPED_TRACE(fmt::format("{} over {:#x}", c.data, c.axes));
    Normalization op = op_of(c);
    op.gives_statistics = true;
    expect_as_reference(op, inputs_of(c), 1e-5);
  }
}

TEST(NormalizationTest, ParametersOfAnotherType) {
  const NormalizationCase& c = kNormalizationCases[0];
  std::vector<TestInput> inputs = inputs_of(c);
  inputs[0] = as_type(DataType::kHALF, inputs[0]);
  expect_as_reference(op_of(c), inputs, tolerance_of(DataType::kHALF));
}

TEST(NormalizationTest, AMeanFarFromZero) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
    const TestInput far{random_tensor({3, 1024}, 1, 99, 101), false, Layout::kLinear};
    Normalization op;
    op.axes = 2;
    expect_as_reference(op, in_type(type, {far}), type == DataType::kFLOAT ? 2e-5 : 2e-3);
  }
}

std::vector<TestInput> with_addend(const NormalizationCase& c) {
  std::vector<TestInput> inputs = inputs_of(c);
  inputs.push_back(data(c.data, 4));
  return inputs;
}

TEST(NormalizationTest, TakesAnAddend) {
  for (const DataType type : kFloatTypes)
    for (const NormalizationCase& c : kNormalizationCases) {
      SCOPED_TRACE(fmt::format("{} {} over {:#x}", name_of(type), c.data, c.axes));
      Normalization op = op_of(c);
      op.adds = true;
      expect_as_reference(op, in_type(type, with_addend(c)), tolerance_of(type));
    }
}

// As a Quantize behind it has them, of the numbers that it gives.
TEST(NormalizationTest, GivesItsResultAsBytesToo) {
  for (const DataType type : kFloatTypes)
    for (const NormalizationCase& c : kNormalizationCases)
      for (const QuantizedBytes& copy : {QuantizedBytes{true, 0.02f, 0, DataType::kINT8, {}},
                                         QuantizedBytes{true, 0.013f, 131, DataType::kUINT8, {}},
                                         QuantizedBytes{true, 0.02f, -3, DataType::kINT8, {-3, 90}},
                                         QuantizedBytes{true, 0.004f, 0, DataType::kFP8, {}}}) {
        SCOPED_TRACE(fmt::format("{} {} over {:#x} {} {}", name_of(type), c.data, c.axes,
                                 name_of(copy.to), copy.zero));
        Normalization op = op_of(c);
        op.copy = copy;
        LayerTest test(op, in_type(type, inputs_of(c)));
        for_each_candidate(test, [&] {
          const std::vector<Tensor> found = test.run_all();
          ASSERT_EQ(found.size(), 2u);
          expect_bytes_of(found[1], found[0], copy);
        });
      }
}

TEST(NormalizationTest, LastAxes) {
  for (const bool subtracts : {true, false})
    for (const uint32_t axes : {0b100u, 0b110u, 0b111u})
      for (const int64_t length : {1, 7, 40, 9000}) {
        SCOPED_TRACE(fmt::format("{} {} {}", subtracts, axes, length));
        Normalization op;
        op.axes = axes;
        op.subtracts_mean = subtracts;
        const Shape shape = {2, 3, length};
        Shape parameter = shape;
        for (int i = 0; i < 3; ++i)
          if ((axes >> i & 1) == 0) parameter[i] = 1;
        expect_as_reference(op, {data(shape), constant(parameter), constant(parameter, 3)},
                            "normalization", 2e-6);
        expect_as_reference(op, {data(shape), constant(parameter)}, "normalization", 2e-6);
        expect_as_reference(op, {data(shape)}, "normalization", 2e-6);
      }
}

// What instance normalisation is.
TEST(NormalizationTest, ParametersOfRows) {
  Normalization op;
  op.axes = 0b1100;
  expect_as_reference(op, {data({2, 5, 6, 7}), constant({1, 5, 1, 1}), constant({1, 5, 1, 1}, 3)},
                      "normalization", 2e-6);
  expect_as_reference(op, {data({2, 5, 6, 7}), absent(), constant({1, 5, 1, 1}, 3)},
                      "normalization", 2e-6);
}

}  // namespace
}  // namespace tenon
