// Plugin layers: the shape and type rules come from the plugin itself. A layer keeps the plugin's
// serialised form, so that it can be read, copied and saved without the plugin's library; the
// plugin is made from it when it is first needed.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <mutex>
#include <string>

#include "network/op.h"
#include "plugin_layers/plugin_v2.h"

namespace tenon {

/// An IPluginV2 (Ext, IOExt, DynamicExt) as a layer. The op owns a clone of the plugin.
std::unique_ptr<Op> make_plugin_v2(nvinfer1::IPluginV2& plugin);

/// An IPluginV3 as a layer. The op owns a clone. The last `shape_inputs` inputs are shape tensors.
std::unique_ptr<Op> make_plugin_v3(nvinfer1::IPluginV3& plugin, int shape_inputs);

/// The plugin of a plugin layer; null for other layers. Owned by the op. Throws Error when it must
/// be made first and no creator is registered for it.
nvinfer1::IPluginV2* plugin_v2_of(const Op& op);
nvinfer1::IPluginV3* plugin_v3_of(const Op& op);

/// What both plugin layers have in common.
class PluginLayer : public Op {
 public:
  int output_count() const override { return static_cast<int>(outputs_); }
  void reference(const ReferenceCall& call) const override;
  /// `plugin "NAME" version "VERSION"`.
  std::string label() const;
  int shape_inputs() const { return static_cast<int>(shape_inputs_); }
  /// What a step of an int8 tensor is worth to the plugin: inputs, then outputs. Empty: 1.
  std::vector<float> scales;
  float scale_of(size_t tensor) const { return tensor < scales.size() ? scales[tensor] : 1; }
  /// Makes the plugin of the layer and its copies from now on, where there is none yet. Throws when
  /// no creator is registered for it, or it cannot be restored.
  virtual void make_plugin() const = 0;

 protected:
  void visit_identity(FieldVisitor& v);
  /// The registered creator of the kind wanted; throws explain_missing() when there is none.
  nvinfer1::IPluginCreatorInterface& creator(std::string_view kind) const;
  void check_output_count(int64_t count) const;

  std::string plugin_name_, version_, name_space_;
  int64_t outputs_ = 1;
  int64_t shape_inputs_ = 0;
};

class PluginV2Layer final : public OpOf<PluginV2Layer, LayerType::kPLUGIN_V2, PluginLayer> {
 public:
  static constexpr std::string_view kName = "PluginV2";
  static constexpr Traits kTraits{.runs = Runs::kPlugin,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kNone};
  PluginV2Layer() = default;
  explicit PluginV2Layer(nvinfer1::IPluginV2& plugin);
  PluginV2Layer(const PluginV2Layer& other);

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  /// PluginV2Instance::max_batch: to the plugin, the batch stays implicit.
  void insert_batch_axis(int32_t largest_batch) override;
  void make_plugin() const override { instance(); }
  PluginV2Instance& instance() const;

 private:
  int64_t max_batch_ = 0;
  std::string serialized_;  // refreshed from the plugin, while there is one, by visit()
  mutable std::mutex mutex_;
  mutable std::shared_ptr<PluginV2Instance> instance_;
};

class PluginV3Layer final : public OpOf<PluginV3Layer, LayerType::kPLUGIN_V3, PluginLayer> {
 public:
  static constexpr std::string_view kName = "PluginV3";
  static constexpr Traits kTraits{.runs = Runs::kPlugin,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  PluginV3Layer() = default;
  PluginV3Layer(nvinfer1::IPluginV3& plugin, int shape_inputs);
  PluginV3Layer(const PluginV3Layer& other);

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void make_plugin() const override { plugin(); }
  nvinfer1::IPluginV3& plugin() const;
  /// The capability; null when the plugin does not have the one for building.
  nvinfer1::IPluginV3OneBuild* build() const;
  /// Throws when the plugin does not have it.
  nvinfer1::IPluginV3OneRuntime& runtime() const;

 private:
  std::string fields_;  // flatten_fields(), refreshed by visit() while there is a plugin
  mutable std::mutex mutex_;
  mutable std::shared_ptr<nvinfer1::IPluginV3> plugin_;
};

/// A capability, known to be of that kind, so that it may be cast: foreign objects may have no
/// RTTI. Null when the plugin answers null; throws for kinds that are not supported yet.
nvinfer1::IPluginCapability* capability_of(nvinfer1::IPluginV3& plugin,
                                           nvinfer1::PluginCapabilityType type,
                                           std::string_view kind, const std::string& label);

}  // namespace tenon
