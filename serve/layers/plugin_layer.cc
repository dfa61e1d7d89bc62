#include "plugin_layer.h"

#include <memory>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

nvinfer1::IPluginV3Layer& add_plugin(nvinfer1::INetworkDefinition& network, const char* name,
                                     const Fields& fields, std::vector<nvinfer1::ITensor*> inputs) {
  auto* const found = getPluginRegistry()->getCreator(name, "1", "");
  if (found == nullptr || found->getInterfaceInfo().kind != std::string("PLUGIN CREATOR_V3ONE"))
    throw Error{std::string("the plugin ") + name
                + " is not registered: libtenon brings it; elsewhere load a library that has it"};
  auto* const creator = static_cast<nvinfer1::IPluginCreatorV3One*>(found);
  const auto collection = fields.collection();
  const std::unique_ptr<nvinfer1::IPluginV3> plugin(
      creator->createPlugin(name, &collection, nvinfer1::TensorRTPhase::kBUILD));
  auto* const layer = plugin == nullptr
                          ? nullptr
                          : network.addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()),
                                                nullptr, 0, *plugin);
  if (layer == nullptr)
    throw Error{std::string("the plugin ") + name
                + " refuses its attributes or inputs; the logger has said why"};
  layer->setName(name);
  return *layer;
}

}  // namespace tenon::serve
