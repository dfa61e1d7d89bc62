// Runs a layer kind on given tensors, and on the cases that a script of testdata/ wrote.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "network/network.h"

namespace tenon::testing {

/// An input of a layer under test.
struct Given {
  Tensor tensor;
  enum class Kind {
    kInput,     // known when the network runs
    kConstant,  // a weight
    kShape,     // integers known on the host, through symbols when extents are symbols too
  } kind = Kind::kInput;
};

/// A tensor from literal values: make<float>({2, 2}, {1, 2, 3, 4}).
template <class T> constexpr DataType type_of() {
  if constexpr (std::is_same_v<T, float>) return DataType::kFLOAT;
  if constexpr (std::is_same_v<T, int32_t>) return DataType::kINT32;
  if constexpr (std::is_same_v<T, int64_t>) return DataType::kINT64;
  if constexpr (std::is_same_v<T, int8_t>) return DataType::kINT8;
  if constexpr (std::is_same_v<T, uint8_t>) return DataType::kUINT8;
  if constexpr (std::is_same_v<T, bool>) return DataType::kBOOL;
}
template <class T> Tensor make(const Shape& shape, std::initializer_list<T> values) {
  EXPECT_EQ(shape.volume(), static_cast<int64_t>(values.size()));
  return Tensor::of<T>(type_of<T>(), shape, std::span(values.begin(), values.end()));
}
inline Given input(Tensor t) {
  return {std::move(t), Given::Kind::kInput};
}
inline Given constant(Tensor t) {
  return {std::move(t), Given::Kind::kConstant};
}

/// Infers the outputs of `op` and runs its reference kernel. An empty optional is an input left
/// out.
std::vector<Tensor> run(const Op& op, const std::vector<std::optional<Given>>& inputs);

/// The message with which inference fails; "" when it does not.
std::string infer_error(const Op& op, const std::vector<std::optional<Given>>& inputs);

/// The elements of the first output as inference knows them when all inputs are constants; nothing
/// when it does not.
std::optional<std::vector<double>> content(const Op& op, const std::vector<Tensor>& constants);

/// Runs all cases of testdata/NAME.json: inference with known and with symbolic extents, content
/// where inference gives some, and the reference kernel.
void run_cases(const std::string& name);

}  // namespace tenon::testing
