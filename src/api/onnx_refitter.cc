// nvonnxparser: IParserRefitter, which gives an engine the weights of an ONNX model.
#include <NvOnnxParser.h>

#include <map>

#include "api/onnx_input.h"
#include "api/refitter.h"
#include "network/bodies.h"
#include "optimize/nest_control_flow.h"

namespace tenon {
namespace {

// Weights by name, those of one name in their order.
std::map<std::string, std::vector<const Tensor*>> weights_by_name(const Network& network) {
  std::map<std::string, std::vector<const Tensor*>> weights;
  for_each_network(network, [&](const Network& one) {
    for (const auto& value : one.values())
      if (value->is_weight()) weights[value->name].push_back(&*value->constant);
  });
  return weights;
}

// Layers whose name no other has.
std::map<std::string, const Node*> layers_by_name(const Network& network) {
  std::map<std::string, const Node*> layers;
  for_each_network(network, [&](const Network& one) {
    for (const auto& node : one.nodes()) {
      const auto [it, fresh] = layers.emplace(node->name, node.get());
      if (!fresh) it->second = nullptr;
    }
  });
  return layers;
}

// The scales of a plugin follow from weights.
FieldList fields_without_weights(const Node& node) {
  FieldList fields = fields_of(*node.op);
  std::erase_if(fields, [](const auto& field) { return field.first == "int8_scales"; });
  return fields;
}

// A model that computes something else has weights that mean something else. What the application
// added to the engine's network, and renamed there, is not compared.
void check_same_layers(const Network& model, const Network& engine) {
  const auto known = layers_by_name(engine);
  for (const auto& [name, node] : layers_by_name(model)) {
    const auto found = known.find(name);
    if (node == nullptr || found == known.end() || found->second == nullptr) continue;
    require(node->kind() == found->second->kind()
                && fields_without_weights(*node) == fields_without_weights(*found->second),
            "layer {} of the model differs from the engine's in more than its weights: build the "
            "engine again",
            describe(*node));
  }
}

class OnnxRefitter final : public nvonnxparser::IParserRefitter {
 public:
  OnnxRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger)
      : refitter_(&refitter), input_(logger) {}

  bool refitFromBytes(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false, [&] { return give(OnnxInput::bytes_of(model, size), OnnxInput::text_of(path)); },
        "refitFromBytes");
  }

  bool refitFromFile(const char* file) noexcept override {
    return reporter_.guard(
        false,
        [&] { return input_.with_file(file, [&](auto bytes) { return give(bytes, file); }); },
        "refitFromFile");
  }

  int32_t getNbErrors() const noexcept override { return input_.error_count(); }
  const nvonnxparser::IParserError* getError(int32_t index) const noexcept override {
    return input_.error(index);
  }
  void clearErrors() override { input_.clear_errors(); }

  bool loadModelProto(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false, [&] { return input_.load_model(model, size, path); }, "loadModelProto");
  }

  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override {
    return reporter_.run([&] { input_.load_initializer(name, data, size); }, "loadInitializer");
  }

  bool refitModelProto() noexcept override {
    return reporter_.guard(
        false,
        [&] {
          return input_.take_model(
              [&](OnnxInput::Bytes model, const std::string& path) { return give(model, path); });
        },
        "refitModelProto");
  }

 private:
  // Of each name the weights of the model in their order become those of the engine.
  bool give(OnnxInput::Bytes model, const std::string& path) {
    RefitterView* refitter = RefitterView::find(refitter_);
    require(refitter != nullptr, "the refitter has been deleted");
    Network network;
    ImportReport report;
    if (!input_.import(model, path, false, network, report)) return false;
    return input_.with_errors([&] {
      network.infer();
      nest_control_flow(network);
      network
          .remove_unused_weights();  // as the engine's: those of one name are told by their order
      check_same_layers(network, *refitter->plan().source->network);
      for (const auto& [name, weights] : weights_by_name(network)) {
        const std::vector<size_t> wanted = refitter->named(name);
        for (size_t i = 0; i < wanted.size(); ++i) {
          require(i < weights.size(), "the model has {} weights '{}'; the engine has {}",
                  weights.size(), name, wanted.size());
          refitter->give(wanted[i], *weights[i]);
        }
      }
    });
  }

  nvinfer1::IRefitter* refitter_;
  OnnxInput input_;
  const Reporter& reporter_ = input_.reporter();
};

}  // namespace
}  // namespace tenon

extern "C" void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                     int32_t version) noexcept {
  auto* ours = static_cast<nvinfer1::ILogger*>(logger);
  if (ours == nullptr) return nullptr;
  return tenon::Reporter(ours).guard<void*>(
      nullptr,
      [&]() -> void* {
        auto* handle = static_cast<nvinfer1::IRefitter*>(refitter);
        tenon::require(tenon::RefitterView::find(handle) != nullptr,
                       "the refitter is null, deleted, or not one of this library");
        tenon::require(version == NV_ONNX_PARSER_VERSION,
                       "the program was compiled with version {} of NvOnnxParser.h; this is {}",
                       version, NV_ONNX_PARSER_VERSION);
        return static_cast<nvonnxparser::IParserRefitter*>(new tenon::OnnxRefitter(*handle, *ours));
      },
      "createParserRefitter");
}
