#include "provider.h"

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <tenon/session/error_log.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::ort {
namespace {

// What ONNX Runtime calls instead of the nodes of a group.
struct Compute : OrtNodeComputeInfo {
  Compute(const Api& api, GraphModel model, const CompileOptions& options)
      : OrtNodeComputeInfo{}, api(api), graph(std::move(model), options) {
    ort_version_supported = kApiVersion;
    CreateState = [](OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = nullptr;
      return nullptr;
    };
    Compute::OrtNodeComputeInfo::Compute = [](OrtNodeComputeInfo* self, void*,
                                              OrtKernelContext* context) -> OrtStatus* {
      auto& that = *static_cast<struct Compute*>(self);
      return guarded(that.api, [&] { that.graph.run(that.api, context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

  const Api api;
  CompiledGraph graph;
};

// Nodes that the parser takes.
std::vector<bool> parsed_nodes(GraphModel model, size_t count) {
  session::ErrorLog log;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  if (builder == nullptr) throw Error{log.failure("there is no builder").text};
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, log));
  // What has no shape is taken for a scalar, which it is, unless nobody knows its rank.
  std::vector<GraphInput> inputs = model.inputs;
  for (GraphInput& input : inputs) input.has_shape = true;
  const std::string bytes = model.bytes(inputs);
  parser->supportsModelV2(bytes.data(), bytes.size(), nullptr);
  std::vector<bool> made(count);
  for (int64_t i = 0; i < parser->getNbSubgraphs(); ++i) {
    int64_t length = 0;
    const int64_t* nodes = parser->getSubgraphNodes(i, length);
    for (int64_t at = 0; at < length; ++at)
      if (std::cmp_less(nodes[at], count)) made[static_cast<size_t>(nodes[at])] = true;
  }
  return made;
}

bool has_supported_type(const Api& api, const OrtValueInfo* value) {
  if (value == nullptr) return true;  // an input that is left out
  const OrtTypeInfo* type = api.get(&OrtApi::GetValueInfoTypeInfo, value);
  if (type == nullptr) return false;
  const OrtTensorTypeAndShapeInfo* info = api.get(&OrtApi::CastTypeInfoToTensorInfo, type);
  return info != nullptr && is_supported_type(api.get(&OrtApi::GetTensorElementType, info));
}

}  // namespace

std::vector<std::vector<size_t>> groups_of(const std::vector<bool>& supported,
                                           const std::vector<std::vector<size_t>>& inputs) {
  // How often a path to the node has changed from nodes that are supported to others, or back.
  // Nodes of a number that are supported have only such between them.
  std::vector<size_t> changes(supported.size());
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t node = 0; node < supported.size(); ++node) {
    for (const size_t before : inputs[node])
      changes[node] =
          std::max(changes[node],
                   changes[before] + static_cast<size_t>(supported[before] != supported[node]));
    if (supported[node]) groups[changes[node]].push_back(node);
  }
  std::vector<std::vector<size_t>> made;
  for (auto& [number, nodes] : groups) made.push_back(std::move(nodes));
  return made;
}

Provider::Provider(const Api& api, CompileOptions options)
    : OrtEp{}, api_(api), options_(std::move(options)) {
  ort_version_supported = kApiVersion;
  GetName = [](const OrtEp*) { return kProviderName; };
  GetCapability = get_capability;
  Compile = compile;
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** made, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<Compute*>(made[i]);
  };
}

OrtStatus* Provider::get_capability(OrtEp* self, const OrtGraph* graph,
                                    OrtEpGraphSupportInfo* info) noexcept {
  const Api& api = static_cast<Provider*>(self)->api_;
  return guarded(api, [&] {
    // Bodies of If and Loop stay with ONNX Runtime.
    if (api.get(&OrtApi::Graph_GetParentNode, graph) != nullptr) return;
    const auto nodes = api.list(&OrtApi::Graph_GetNumNodes, &OrtApi::Graph_GetNodes, graph);
    std::vector<bool> supported = parsed_nodes(write_graph(api, graph), nodes.size());
    std::vector<std::vector<size_t>> before(nodes.size());
    std::map<std::string, size_t> maker;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto inputs = api.list(&OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs, nodes[i]);
      const auto outputs =
          api.list(&OrtApi::Node_GetNumOutputs, &OrtApi::Node_GetOutputs, nodes[i]);
      for (const OrtValueInfo* value : inputs)
        if (const auto found = maker.find(api.name(value)); found != maker.end())
          before[i].push_back(found->second);
      for (const OrtValueInfo* value : outputs)
        if (value != nullptr) maker[api.name(value)] = i;
      const auto fits = [&](const OrtValueInfo* value) { return has_supported_type(api, value); };
      if (!std::ranges::all_of(inputs, fits) || !std::ranges::all_of(outputs, fits))
        supported[i] = false;
    }
    const OrtNodeFusionOptions options{kApiVersion, true};
    for (const auto& group : groups_of(supported, before)) {
      std::vector<const OrtNode*> chosen;
      for (const size_t node : group) chosen.push_back(nodes[node]);
      api.check(api->GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(info, chosen.data(),
                                                                   chosen.size(), &options));
    }
  });
}

OrtStatus* Provider::compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused,
                             size_t count, OrtNodeComputeInfo** made, OrtNode**) noexcept {
  const auto& provider = *static_cast<Provider*>(self);
  const Api& api = provider.api_;
  return guarded(api, [&] {
    std::vector<std::unique_ptr<Compute>> all;
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::string> inputs;
      for (const OrtValueInfo* value :
           api.list(&OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs, fused[i]))
        inputs.push_back(api.name(value));
      all.push_back(
          std::make_unique<Compute>(api, write_graph(api, graphs[i], inputs), provider.options_));
    }
    for (size_t i = 0; i < count; ++i) made[i] = all[i].release();
  });
}

}  // namespace tenon::ort
