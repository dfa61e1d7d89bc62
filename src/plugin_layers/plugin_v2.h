// A plugin of version 2 as its layer uses it, whichever of TensorRT's four families it is of.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "network/op.h"

namespace tenon {

/// A tensor as plugins see it before they run. `desc.dims` has -1, and `max` the bound, where only
/// running the plugin tells an extent.
using PluginTensor = nvinfer1::DynamicPluginTensorDesc;
/// The tensors as plugins see them when they run.
inline std::vector<nvinfer1::PluginTensorDesc> descs_of(std::span<const PluginTensor> tensors) {
  std::vector<nvinfer1::PluginTensorDesc> list;
  for (const PluginTensor& t : tensors) list.push_back(t.desc);
  return list;
}

/// One plugin object. The engine's copy is shared by the copies of a layer; each context runs a
/// clone of it. Calls come in TensorRT's order: supports() and configure() while building,
/// initialize() once per engine, clone() and attach() for each context, enqueue() as often as it
/// runs; detach() before a clone goes, terminate() before the engine's copy does.
class PluginV2Instance {
 public:
  PluginV2Instance(nvinfer1::IPluginV2& plugin, std::string label)
      : label_(std::move(label)), plugin_(plugin) {}
  PluginV2Instance(const PluginV2Instance&) = delete;
  PluginV2Instance& operator=(const PluginV2Instance&) = delete;
  /// Destroys the plugin.
  virtual ~PluginV2Instance();

  nvinfer1::IPluginV2& plugin() const { return plugin_; }
  /// Calls initialize() unless it was called before; throws when it fails.
  void initialize();
  /// The largest implicit batch: dimension 0 of all tensors, which the plugin does not see, but is
  /// told when it runs. 0 where the batch is a dimension like others.
  int32_t max_batch = 0;
  /// Throws when the plugin gives none.
  std::unique_ptr<PluginV2Instance> clone() const;

  /// Types and dimensions of the outputs, as Op::infer.
  virtual void infer(Inference& c, int outputs) const = 0;
  /// Whether the plugin takes tensor `position` of inputs and outputs, in order, as it is.
  virtual bool supports(int32_t position, std::span<const nvinfer1::PluginTensorDesc> all,
                        int32_t inputs) const = 0;
  /// Tells the engine's copy what was chosen, while building.
  virtual void configure(std::span<const PluginTensor> inputs,
                         std::span<const PluginTensor> outputs) const = 0;
  /// A context begins to use this clone, for these shapes.
  virtual void attach(nvinfer1::IGpuAllocator& allocator, std::span<const PluginTensor> inputs,
                      std::span<const PluginTensor> outputs) = 0;
  virtual void detach() const = 0;
  virtual size_t workspace_bytes(std::span<const nvinfer1::PluginTensorDesc> inputs,
                                 std::span<const nvinfer1::PluginTensorDesc> outputs) const = 0;
  /// The plugin's status.
  virtual int32_t enqueue(const nvinfer1::PluginTensorDesc* input_descs,
                          const nvinfer1::PluginTensorDesc* output_descs, const void* const* inputs,
                          void* const* outputs, void* workspace, cudaStream_t stream) const = 0;

 protected:
  const std::string& label() const { return label_; }

 private:
  std::string label_;
  nvinfer1::IPluginV2& plugin_;
  std::mutex mutex_;
  bool initialized_ = false;
};

/// Which of the families the plugin is of: 0 for IPluginV2, 1 for IPluginV2Ext, 2 for
/// IPluginV2IOExt, 3 for IPluginV2DynamicExt. Throws when it is another one, or was compiled with
/// headers that are too old.
uint32_t plugin_family(nvinfer1::IPluginV2& plugin, const std::string& label);

/// Takes over `plugin`, also when it throws as plugin_family() does.
std::unique_ptr<PluginV2Instance> make_instance(nvinfer1::IPluginV2& plugin,
                                                const std::string& label);

/// The types of the layer's first `count` inputs; throws when one is left out.
std::vector<DataType> plugin_input_types(Inference& c, int count, const std::string& label);

/// The data type a plugin named for an output; throws when there is none of that number.
DataType checked_plugin_type(DataType type, int output, const std::string& label);

}  // namespace tenon
