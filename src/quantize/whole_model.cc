#include "quantize/whole_model.h"

#include <onnx_schema.pb.h>

#include "base/error.h"

namespace tenon {
namespace {

void take_in(onnx::TensorProto& tensor, TensorSource& source) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  require(is_exact(tensor.data_type()),
          "initializer '{}' of {} in a file of its own is not supported yet", tensor.name(),
          onnx_type_name(tensor.data_type()));
  onnx::TensorProto copy = tensor;
  const Tensor values = make_tensor(copy, source);
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(values.data(), values.bytes());
}

void take_in(onnx::GraphProto& graph, TensorSource& source) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) take_in(tensor, source);
  for (onnx::NodeProto& node : *graph.mutable_node())
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) take_in(*attribute.mutable_t(), source);
      for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) take_in(tensor, source);
      if (attribute.has_g()) take_in(*attribute.mutable_g(), source);
      for (onnx::GraphProto& inner : *attribute.mutable_graphs()) take_in(inner, source);
    }
}

}  // namespace

std::string whole_bytes(onnx::ModelProto& model, TensorSource& source) {
  take_in(*model.mutable_graph(), source);
  constexpr size_t kLimit = size_t{1} << 31;
  require(model.ByteSizeLong() < kLimit,
          "the model has {} bytes, and ONNX files end at 2 GiB: files beside it are not "
          "supported yet",
          model.ByteSizeLong());
  return model.SerializeAsString();
}

}  // namespace tenon
