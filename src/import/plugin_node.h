// ONNX nodes that become plugin layers.
#pragma once

#include "import/node.h"

namespace tenon {

/// The creator that a node names with its op_type and the attributes plugin_version and
/// plugin_namespace; its domain does not matter. Null when none is registered.
nvinfer1::IPluginCreatorInterface* creator_for(const onnx::NodeProto& node);

/// Why creator_for() found nothing, and what can be done.
std::string explain_missing_creator(const onnx::NodeProto& node);

/// Creates the plugin from the node's attributes and adds it as a layer.
void import_plugin(NodeContext& n, nvinfer1::IPluginCreatorInterface& creator);

}  // namespace tenon
