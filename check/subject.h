// One face for plugins of every family: what the checks ask of a plugin and its creator.
#pragma once

#include <NvInferRuntime.h>
#include <fmt/format.h>
#include <tenon/plugin_runner.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "check/check.h"

namespace tenon::check {

using nvinfer1::DataType;
using nvinfer1::PluginField;
using nvinfer1::PluginTensorDesc;

/// A plugin that does not keep the contract: what was expected of it, and what was found.
struct Broken {
  std::string expected, found;
};
/// A finding after which the GPU takes no more work from this process.
struct Lost {
  Broken finding;
};
/// A check that cannot be made here: why.
struct NotRun {
  std::string why;
};

std::string text_or_empty(const char* text);
/// "2x4x6x8"; "scalar" for rank 0.
std::string shape_text(const nvinfer1::Dims& dims);
/// " (what the plugin logged)", or "".
std::string plugin_log();

/// A tensor of a run. `max` is its shape where that depends on data and desc.dims has -1;
/// otherwise it equals desc.dims. An output that says such an extent says at most `max_size`.
struct Tensor {
  PluginTensorDesc desc{};
  nvinfer1::Dims max{};
  std::optional<int64_t> max_size{};
};
using Tensors = std::vector<Tensor>;

/// What an output has: an extent is -1 in `dims` where only running tells it.
struct OutputShape {
  nvinfer1::Dims dims{}, max{};
  std::optional<int64_t> max_size{};  // of a size tensor: the largest value that it may have
};

template <class List> int32_t count(const List& list) {
  return static_cast<int32_t>(list.size());
}

/// One plugin object, owned. Methods throw Broken where a plugin's answer makes no sense.
class Subject {
 public:
  virtual ~Subject() = default;
  /// The class it derives from, as "IPluginV2DynamicExt".
  virtual const char* family() const = 0;
  virtual Identity identity() const = 0;
  virtual int output_count() const = 0;
  virtual std::unique_ptr<Subject> clone() const = 0;
  /// Sets the namespace; false where plugins cannot be told one.
  virtual bool set_name_space(const char* name_space) const = 0;
  /// What serialize() writes, or the fields of getFieldsToSerialize() with their contents.
  virtual std::string serialized() const = 0;
  virtual std::vector<OutputShape> output_shapes(
      const std::vector<nvinfer1::Dims>& inputs,
      const std::vector<std::vector<int64_t>>& shape_inputs) const = 0;
  virtual std::vector<DataType> output_types(const std::vector<DataType>& inputs) const = 0;
  /// Whether tensor `position` of inputs and outputs may be as it is described.
  virtual bool supports(int position, const Tensors& all, int inputs) const = 0;
  /// Tells the choice, as a builder does.
  virtual void configure(const Tensors& inputs, const Tensors& outputs) const = 0;
  virtual size_t workspace_bytes(const Tensors& inputs, const Tensors& outputs) const = 0;
  /// What runs in one context. It is ready to run tensors like these, and goes before this object.
  virtual std::unique_ptr<Subject> attach(const Tensors& inputs, const Tensors& outputs) = 0;
  /// The input whose memory output `output` has, or -1.
  virtual int aliased_input(int output) const = 0;
  virtual int32_t enqueue(const Tensors& inputs, const Tensors& outputs,
                          const void* const* input_data, void* const* output_data, void* workspace,
                          cudaStream_t stream) const = 0;
  /// What tenonCpuKernel() knows it by.
  virtual void* object() const = 0;
};

/// A creator of either protocol.
class Creator {
 public:
  virtual ~Creator() = default;
  virtual Identity identity() const = 0;
  virtual const nvinfer1::PluginFieldCollection* fields() const = 0;
  /// Null when it refuses.
  virtual std::unique_ptr<Subject> create(const std::vector<PluginField>& fields) const = 0;
  /// The plugin that `subject` was serialised from, made again; throws Broken when it is refused.
  virtual std::unique_ptr<Subject> restore(const Subject& subject) const = 0;
};

/// Null for kinds of creators that are not known.
std::unique_ptr<Creator> make_creator(nvinfer1::IPluginCreatorInterface& creator);
std::unique_ptr<Creator> make_creator_v2(nvinfer1::IPluginCreator& creator);
std::unique_ptr<Creator> make_creator_v3(nvinfer1::v_1_0::IPluginCreatorV3One& creator);

/// Memory that plugins get through IGpuAllocator.
nvinfer1::IGpuAllocator& allocator();

std::vector<PluginTensorDesc> descs_of(const Tensors& tensors);
std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_of(const Tensors& tensors);
/// Reads what a shape function gave; throws Broken when it is no shape.
OutputShape read_shape(const nvinfer1::DimsExprs& shape, int output);
/// Throws Broken unless `status` is 0.
void require_success(const char* call, int32_t status);

}  // namespace tenon::check
