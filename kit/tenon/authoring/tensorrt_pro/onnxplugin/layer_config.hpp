/// What a plugin is configured with, and how that is saved in a plan.
#pragma once

#include <NvInferRuntime.h>

#include <set>

#include "stream.hpp"
#include "tensors.hpp"

namespace ONNXPlugin {

/// Derive from it for values of one's own: init() computes them from `info_`, or seril() and
/// deseril() save them.
struct LayerConfig {
  virtual ~LayerConfig() = default;

  int num_output_ = 1;
  int num_input_ = 1;
  size_t workspace_size_ = 0;  // bytes
  int max_batch_size_ = 0;
  std::set<nvinfer1::DataType> support_dtype_set_{nvinfer1::DataType::kFLOAT};
  std::set<nvinfer1::TensorFormat> support_plugin_format_set_{nvinfer1::TensorFormat::kLINEAR};

  std::vector<std::shared_ptr<Weight>> weights_;  // of usage_dtype_, where they are floats
  DataType usage_dtype_ = DataType::Float;
  nvinfer1::TensorFormat usage_plugin_format_ = nvinfer1::TensorFormat::kLINEAR;
  std::string info_;  // JSON, as the ONNX node has it

  std::string serialize_data_;

  virtual void seril(OutStream&) {}
  virtual void deseril(InStream&) {}
  /// Called when info_ and weights_ are there.
  virtual void init() {}

  void setup(const std::string& info, const std::vector<std::shared_ptr<Weight>>& weights) {
    info_ = info;
    weights_ = weights;
  }

  /// Fills serialize_data_ and returns its size.
  int serialize() {
    OutStream out;
    save(out);
    out << static_cast<int32_t>(weights_.size());
    for (const auto& weight : weights_) {
      out << weight->dims_ << weight->dt_;
      out.write(weight->pdata_host_, weight->data_bytes_);
    }
    seril(out);
    serialize_data_ = out.data();
    return static_cast<int>(serialize_data_.size());
  }
  void serialize_data_copy_to(void* buffer) const {
    if (!serialize_data_.empty())
      std::memcpy(buffer, serialize_data_.data(), serialize_data_.size());
  }
  void deserialize(const void* data, size_t length) {
    InStream in(data, length);
    load(in);
    int32_t count = 0;
    in >> count;
    weights_.clear();
    for (int32_t i = 0; i < count; ++i) {
      std::vector<int> dims;
      DataType type = DataType::Unknow;
      in >> dims >> type;
      size_t bytes = static_cast<size_t>(DataTypeSizeOf(type));
      for (const int extent : dims)
        if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes)
            || bytes > in.left())
          throw std::out_of_range("a weight is larger than a plugin's saved bytes");
      weights_.push_back(std::make_shared<Weight>(dims, type));
      in.read(weights_.back()->pdata_host_, bytes);
    }
    deseril(in);
  }

  /// The state of another configuration of the same class; the weights are shared.
  void take_over(LayerConfig& other) {
    OutStream out;
    other.save(out);
    other.seril(out);
    InStream in(out.data().data(), out.data().size());
    load(in);
    weights_ = other.weights_;
    deseril(in);
  }

  /// Sets usage_dtype_. Weights of the other float type are replaced, as others may share them.
  void use(DataType type) {
    usage_dtype_ = type;
    for (auto& weight : weights_) {
      const bool differs = (type == DataType::Float16 && weight->dt_ == DataType::Float)
                           || (type == DataType::Float && weight->dt_ == DataType::Float16);
      if (!differs) continue;
      auto converted = std::make_shared<Weight>(weight->dims_, weight->dt_);
      std::memcpy(converted->pdata_host_, weight->pdata_host_, weight->data_bytes_);
      type == DataType::Float ? converted->to_float32() : converted->to_float16();
      weight = converted;
    }
  }

 private:
  void save(OutStream& out) const {
    out << num_input_ << workspace_size_ << usage_dtype_ << max_batch_size_ << usage_plugin_format_
        << info_;
  }
  void load(InStream& in) {
    in >> num_input_ >> workspace_size_ >> usage_dtype_ >> max_batch_size_ >> usage_plugin_format_
        >> info_;
  }
};

}  // namespace ONNXPlugin
