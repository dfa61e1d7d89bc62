// What the importer's tests share: files, tensors, and a comparison.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/half.h"
#include "import/import.h"
#include "network/reference_run.h"
#include "onnx_model/tensors.h"

namespace tenon::testing {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The tensor of a TensorProto file.
inline Tensor read_tensor(const std::filesystem::path& path) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(read_file(path)))
    throw Error(ErrorCode::kINVALID_ARGUMENT, path.string() + " is not a tensor");
  TensorSource source;
  return make_tensor(proto, source);
}

/// input_0.pb, input_1.pb, …
inline std::vector<Tensor> read_tensors(const std::filesystem::path& folder, const char* kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const auto path = folder / fmt::format("{}_{}.pb", kind, i);
    if (!std::filesystem::exists(path)) return tensors;
    tensors.push_back(read_tensor(path));
  }
}

/// "" when every element is within atol + rtol * |expected|; otherwise what differs.
inline std::string difference(const Tensor& found, const Tensor& expected, double rtol,
                              double atol) {
  if (found.shape() != expected.shape())
    return fmt::format("shape {}; expected {}", found.shape(), expected.shape());
  if (found.type() != expected.type())
    return fmt::format("type {}; expected {}", name_of(found.type()), name_of(expected.type()));
  const auto a = found.numbers(), b = expected.numbers();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::fabs(a[i] - b[i]) <= atol + rtol * std::fabs(b[i])))
      return fmt::format("element {} is {}; expected {}", i, a[i], b[i]);
  }
  return "";
}

}  // namespace tenon::testing
