// Functions that a model defines, and what a call makes of their nodes.
#pragma once

#include <string>
#include <unordered_map>

#include "onnx_model/model.h"

namespace tenon {

class LocalFunctions {
 public:
  explicit LocalFunctions(const onnx::ModelProto& model);
  /// The function that a node calls; null for none.
  const onnx::FunctionProto* find(const onnx::NodeProto& node) const;

 private:
  std::unordered_map<std::string, const onnx::FunctionProto*> by_name_;
};

/// A node of the function with the call's attributes, else the function's defaults, in place of
/// references to them, also in the graphs of the node; a reference to neither disappears.
onnx::NodeProto substituted(const onnx::NodeProto& inner, const onnx::NodeProto& call,
                            const onnx::FunctionProto& function);

}  // namespace tenon
