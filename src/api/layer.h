// ILayer: a view of a Node of the network, and the parts from which the layer kinds are made.
#pragma once

#include <NvInfer.h>

#include "api/network_definition.h"

namespace tenon {

/// What all layers share; implements ILayer's virtual table once.
class LayerView : public nvinfer1::apiv::VLayer {
 public:
  LayerView(NetworkDefinition& owner, Node& node) : owner_(owner), node_(node) {}
  virtual nvinfer1::ILayer& handle() = 0;
  Node& node() const { return node_; }

  /// Layers that TensorRT does not have answer kIDENTITY, the class of which has nothing of its own
  /// that a client could call.
  LayerType getType() const noexcept override {
    return node_.kind() > LayerType::kRNN_V2 ? LayerType::kIDENTITY : node_.kind();
  }
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return node_.name.c_str(); }
  int32_t getNbInputs() const noexcept override;
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override {
    return static_cast<int32_t>(node_.outputs.size());
  }
  nvinfer1::ITensor* getOutput(int32_t index) const noexcept override;
  void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override;
  void setPrecision(DataType type) noexcept override;
  DataType getPrecision() const noexcept override;
  bool precisionIsSet() const noexcept override { return node_.precision.has_value(); }
  void resetPrecision() noexcept override { node_.precision.reset(); }
  void setOutputType(int32_t index, DataType type) noexcept override;
  DataType getOutputType(int32_t index) const noexcept override;
  bool outputTypeIsSet(int32_t index) const noexcept override;
  void resetOutputType(int32_t index) noexcept override;
  void setMetadata(const char* metadata) noexcept override;
  const char* getMetadata() const noexcept override { return node_.metadata.c_str(); }
  bool setNbRanks(int32_t ranks) noexcept override;
  int32_t getNbRanks() const noexcept override { return 1; }

 protected:
  /// Input `index` is a tensor of the application, not a weight or an attribute.
  virtual bool takes_input(int32_t index) const {
    return index < static_cast<int32_t>(node_.inputs.size());
  }
  /// Weights in that input are an attribute, not a tensor.
  virtual bool holds_weights(int32_t) const { return false; }
  /// Called after setInput().
  virtual void input_was_set(int32_t) {}
  /// Runs a change of the layer under a guard that names the layer.
  template <class Body> void change(Body&& body, const char* where = __builtin_FUNCTION()) {
    reporter().run(
        [&] {
          with_context("layer " + describe(node_), std::forward<Body>(body));
          owner_.changed(node_);
        },
        where);
  }
  Value* input(size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : nullptr; }
  void put_input(size_t i, Value* value);
  void put_weights(size_t i, nvinfer1::Weights weights, const char* what) {
    put_input(i, owner_.add_weights(weights, what));
  }
  nvinfer1::Weights weights(size_t i) const { return NetworkDefinition::weights_of(input(i)); }
  const Reporter& reporter() const { return owner_.reporter(); }

  NetworkDefinition& owner_;
  Node& node_;
};

/// A layer kind: its public class, its virtual table, and the op behind it.
template <class Handle, class Virtual, class Attributes>
class LayerOf : public Handle, public Virtual, public LayerView {
 public:
  LayerOf(NetworkDefinition& owner, Node& node) : LayerView(owner, node) {
    this->mLayer = this;
    this->mImpl = this;
  }
  nvinfer1::ILayer& handle() override { return *this; }

 protected:
  Attributes& op() const { return static_cast<Attributes&>(*this->node_.op); }
  /// Sets one attribute: enumerations are checked, shapes are taken over.
  template <class T>
  void set(T Attributes::* field, T value, const char* where = __builtin_FUNCTION()) {
    this->change(
        [&] {
          if constexpr (std::is_enum_v<T>) checked(value);
          op().*field = value;
        },
        where);
  }
  /// Sets a list of `what`, one entry per spatial axis, each at least `min`.
  void set(Shape Attributes::* field, const nvinfer1::Dims& dims, int64_t min, const char* what,
           const char* where = __builtin_FUNCTION()) {
    this->change([&] { op().*field = spatial(dims, min, what); }, where);
  }

 private:
  Shape spatial(const nvinfer1::Dims& dims, int64_t min, const char* what) const;
};

/// Two or three extents, each at least `min`; `what` names them in errors.
Shape spatial_extents(const nvinfer1::Dims& dims, int64_t min, const char* what);

template <class Handle, class Virtual, class Attributes>
Shape LayerOf<Handle, Virtual, Attributes>::spatial(const nvinfer1::Dims& dims, int64_t min,
                                                    const char* what) const {
  return spatial_extents(dims, min, what);
}

/// The facade that fits the layer's kind; a plain ILayer for kinds that are not public.
std::unique_ptr<LayerView> make_layer_view(NetworkDefinition& owner, Node& node);

using MakeLayerView = std::unique_ptr<LayerView> (*)(NetworkDefinition& owner, Node& node);
bool register_view(std::string_view op, MakeLayerView make);

/// Behind a facade in its header: layers of that op have it.
#define TENON_VIEW(Op, View)                                                              \
  inline const bool k##View##Registered = ::tenon::register_view(                         \
      Op::kName, [](NetworkDefinition& owner, Node& node) -> std::unique_ptr<LayerView> { \
        return std::make_unique<View>(owner, node);                                       \
      })

}  // namespace tenon
