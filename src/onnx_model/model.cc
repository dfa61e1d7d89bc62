#include "onnx_model/model.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx_schema.pb.h>
#include <tenon/printable.h>

#include <climits>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

constexpr int kDeepestNesting = 100;

std::string first_bytes(std::span<const std::byte> bytes) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 8); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    text += c >= 32 && c < 127 ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
  }
  return text;
}

// For a plan that is given as a model.
std::string advice(std::span<const std::byte> bytes) {
  constexpr std::string_view kStart = "ftrt";
  const bool is_plan =
      bytes.size() >= kStart.size() && std::memcmp(bytes.data(), kStart.data(), kStart.size()) == 0;
  return is_plan
             ? ": plans start so, and are loaded as they are, as by `tenon run` and tenon.load()"
             : "";
}

void check_ir_version(const onnx::ModelProto& model) {
  const int64_t latest = onnx::Version::IR_VERSION;
  require(
      model.ir_version() >= 1,
      "the model's IR version is {}; expected 1 to {}: the file is damaged or not an ONNX model",
      model.ir_version(), latest);
  require(
      model.ir_version() <= latest,
      "the model's IR version is {}; this build knows versions up to {}: export it with an older "
      "ONNX release",
      model.ir_version(), latest);
}

}  // namespace

std::unique_ptr<onnx::ModelProto> parse_model(std::span<const std::byte> bytes,
                                              const std::string& path) {
  const std::string file = path.empty() ? "the ONNX model" : fmt::format("'{}'", path);
  require(!bytes.empty() && bytes.data() != nullptr, "{} is empty", file);
  require(bytes.size() <= INT_MAX,
          "{} has {} bytes; an ONNX file holds at most 2 GiB: store the weights as external data",
          file, bytes.size());
  auto model = std::make_unique<onnx::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kDeepestNesting);
  if (!model->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail(
        ErrorCode::kINVALID_ARGUMENT,
        "{} is not an ONNX model, is truncated, or nests deeper than {} levels ({} bytes, starting "
        "with '{}'){}",
        file, kDeepestNesting, bytes.size(), first_bytes(bytes), advice(bytes));
  require(model->has_graph(),
          "{} holds no graph: it is not an ONNX model ({} bytes, starting with '{}')", file,
          bytes.size(), first_bytes(bytes));
  check_ir_version(*model);
  return model;
}

int64_t standard_opset(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  int64_t version = 0;
  for (const auto& entry : imports) {
    if (!is_standard(entry.domain())) continue;
    require(version == 0 || version == entry.version(),
            "opset_import names the standard domain twice, with versions {} and {}", version,
            entry.version());
    version = entry.version();
    require(
        version >= kOldestOpset && version <= kLatestOpset,
        "the model uses opset {}; this build knows opsets {} to {}: export it with one of these",
        version, kOldestOpset, kLatestOpset);
  }
  return version;
}

bool is_standard(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

bool is_utf8(const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = static_cast<unsigned char>(rest[0]) < 128 ? 1 : utf8_length(rest);
    if (length == 0) return false;
    rest.remove_prefix(length);
  }
  return true;
}

}  // namespace tenon
