// ONNX nodes that become plugin layers.
#pragma once

#include "import/node.h"

namespace tenon {

/// The plugin that a node names: its op_type, or its attribute `name` when its op_type is "Plugin".
std::string plugin_name(const onnx::NodeProto& node);

/// The creator that a node names with plugin_name() and the attributes plugin_version and
/// plugin_namespace; its domain does not matter. Null when none is registered.
nvinfer1::IPluginCreatorInterface* creator_for(const onnx::NodeProto& node);

/// Why creator_for() found nothing, and what can be done.
std::string explain_missing_creator(const onnx::NodeProto& node);

/// Creates the plugin from the node's attributes and adds it as a layer. Constant inputs are inputs
/// of the layer; a creator that declares the fields `weights` and `weights_shape` gets them as
/// fields, a pair for each, in their order.
void import_plugin(NodeContext& n, nvinfer1::IPluginCreatorInterface& creator);

}  // namespace tenon
