#include "api/network_definition.h"

#include <cstring>

#include "api/flow.h"
#include "api/layer.h"
#include "network/control_flow.h"
#include "optimize/explicit_batch.h"

namespace tenon {

Network* network_of(nvinfer1::INetworkDefinition& definition) {
  NetworkDefinition* ours = NetworkDefinition::find(&definition);
  return ours != nullptr ? &ours->network() : nullptr;
}

NetworkDefinition::NetworkDefinition(nvinfer1::IBuilder& builder, const Reporter& reporter,
                                     nvinfer1::NetworkDefinitionCreationFlags flags)
    : Live(this, this),
      builder_(builder),
      reporter_(reporter),
      flags_(flags),
      network_(std::make_unique<Network>()) {
  mImpl = this;
}

NetworkDefinition::~NetworkDefinition() noexcept = default;

bool NetworkDefinition::strongly_typed() const {
  return getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
}

bool NetworkDefinition::getFlag(nvinfer1::NetworkDefinitionCreationFlag flag) const noexcept {
  const auto bit = static_cast<uint32_t>(flag);
  return bit < 32 && (flags_ >> bit & 1u) != 0;
}

NetworkTensor& NetworkDefinition::tensor_view(Value& value) const {
  auto& view = tensors_[&value];
  if (view == nullptr) {
    view = std::make_unique<NetworkTensor>(const_cast<NetworkDefinition&>(*this), value);
    known_tensors_[view.get()] = view.get();
  }
  return *view;
}

LayerView& NetworkDefinition::layer_view(Node& node) const {
  auto& view = layers_[&node];
  if (view == nullptr) view = make_layer_view(const_cast<NetworkDefinition&>(*this), node);
  return *view;
}

Value& NetworkDefinition::value_of(const ITensor& tensor) const {
  const auto found = known_tensors_.find(&tensor);
  require(found != known_tensors_.end(),
          "a tensor does not belong to this network: it is null or of another network");
  return found->second->value();
}

std::vector<Value*> NetworkDefinition::values_of(ITensor* const* inputs, int32_t count,
                                                 const char* what) const {
  require(count >= 0 && (count == 0 || inputs != nullptr), "{} {} were given without an array",
          count, what);
  std::vector<Value*> values;
  for (int32_t i = 0; i < count; ++i) {
    require(inputs[i] != nullptr, "number {} of the {} is null", i, what);
    values.push_back(&value_of(*inputs[i]));
  }
  return values;
}

Value* NetworkDefinition::add_weights(Weights weights, const char* what) {
  if (weights.count == 0) return nullptr;
  require(weights.count > 0 && weights.values != nullptr, "{}: {} weights at {}", what,
          weights.count, weights.values == nullptr ? "a null address" : "an address");
  Tensor copy(checked(weights.type), Shape{weights.count});
  std::memcpy(copy.mutable_data<void>(), weights.values, copy.bytes());
  Value& value = network_->add_weight(std::move(copy));
  weights_.emplace(weights.values, &value);
  return &value;
}

nvinfer1::Weights NetworkDefinition::weights_of(const Value* value) {
  if (value == nullptr || !value->is_weight()) return {DataType::kFLOAT, nullptr, 0};
  return {value->constant->type(), value->constant->data(), value->constant->count()};
}

void NetworkDefinition::check_io_name(const std::string& name, const Value* self) const {
  for (const auto* list : {&network_->inputs(), &network_->outputs()})
    for (const Value* other : *list)
      require(other == self || other->name != name,
              "the network already has an {} called '{}'; names of inputs and outputs are unique",
              other->is_input ? "input" : "output", name);
}

void NetworkDefinition::touch() {
  if (!hasImplicitBatchDimension()) return network_->touch();
  // The network's own inference takes tensors for batches; infer_layer() is for items.
  for (const auto& value : network_->values())
    if (value->producer != nullptr) value->known = false;
  for (Value* input : network_->inputs()) {
    input->dims.clear();
    for (int64_t extent : input->declared) input->dims.push_back(network_->pool().constant(extent));
  }
}

void NetworkDefinition::infer_layer(Node& node) const {
  if (hasImplicitBatchDimension())
    infer_item(*network_, node);
  else
    network_->infer(node);
}

void NetworkDefinition::infer(Value& value) const {
  try {
    if (!hasImplicitBatchDimension()) network_->infer_if_touched();
  } catch (const Error&) {
    // Some layer cannot be inferred. Only if this value depends on it does it matter: see below.
  }
  if (value.known) return;
  std::vector<Value*> path{&value};
  std::unordered_set<const Value*> on_path{&value};
  while (!path.empty()) {
    Node* node = path.back()->producer;
    require(node != nullptr, "the shape of tensor '{}' is not known", path.back()->name);
    Value* missing = nullptr;
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (Value* in = node->inputs[i]; in != nullptr && !in->known && !is_back_edge(*node, i))
        missing = in;
    if (missing == nullptr) {
      infer_layer(*node);
      require(path.back()->known, "layer {} does not tell the shape of its output",
              describe(*node));
      on_path.erase(path.back());
      path.pop_back();
    } else {
      require(on_path.insert(missing).second, "layer {} is part of a cycle", describe(*node));
      path.push_back(missing);
    }
  }
}

void NetworkDefinition::changed(Node& node) {
  // Nobody uses the newest layer yet, so that only its own outputs are in doubt.
  if (!network_->nodes().empty() && network_->nodes().back().get() == &node) {
    for (Value* out : node.outputs) {
      out->known = false;
      out->content.reset();
      if (!out->constant) continue;
      out->constant.reset();
    }
  } else {
    touch();
  }
}

int NetworkDefinition::rank_of(Value& value) const noexcept {
  try {
    infer(value);
    return static_cast<int>(value.dims.size());
  } catch (const std::exception&) {
    return -1;
  }
}

nvinfer1::ITensor* NetworkDefinition::addInput(const char* name, DataType type,
                                               const PublicDims& dimensions) noexcept {
  return reporter_.guard<ITensor*>(nullptr, [&] {
    require(name != nullptr && *name != '\0', "a network input needs a name");
    check_io_name(name, nullptr);
    return &tensor_view(network_->add_input(name, checked(type), Shape(dimensions)));
  });
}

void NetworkDefinition::markOutput(ITensor& tensor) noexcept {
  reporter_.run([&] {
    Value& value = value_of(tensor);
    if (value.is_output) return;
    require(!value.is_input, "tensor '{}' is an input; add an identity layer to return it",
            value.name);
    check_io_name(value.name, &value);
    network_->mark_output(value);
  });
}

void NetworkDefinition::unmarkOutput(ITensor& tensor) noexcept {
  reporter_.run([&] { network_->unmark_output(value_of(tensor)); });
}

bool NetworkDefinition::markOutputForShapes(ITensor& tensor) noexcept {
  return reporter_.guard(false, [&] {
    Value& value = value_of(tensor);
    require(tensor_view(value).isShapeTensor(), "tensor '{}' is not a shape tensor", value.name);
    check_io_name(value.name, &value);
    network_->mark_output(value);
    return true;
  });
}

bool NetworkDefinition::unmarkOutputForShapes(ITensor& tensor) noexcept {
  return reporter_.guard(false, [&] {
    Value& value = value_of(tensor);
    const bool was = value.is_output;
    network_->unmark_output(value);
    return was;
  });
}

bool NetworkDefinition::markDebug(ITensor& tensor) noexcept {
  return reporter_.run([&] { value_of(tensor).is_debug = true; });
}

bool NetworkDefinition::unmarkDebug(ITensor& tensor) noexcept {
  return reporter_.run([&] { value_of(tensor).is_debug = false; });
}

bool NetworkDefinition::isDebugTensor(const ITensor& tensor) const noexcept {
  return reporter_.guard(false, [&] { return value_of(tensor).is_debug; });
}

bool NetworkDefinition::markUnfusedTensorsAsDebugTensors() noexcept {
  return network_->debugs_unfused = true;
}

bool NetworkDefinition::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  network_->debugs_unfused = false;
  return true;
}

void NetworkDefinition::removeTensor(ITensor& tensor) noexcept {
  reporter_.run([&] {
    Value& value = value_of(tensor);
    require(value.is_input, "tensor '{}' is made by a layer; only network inputs can be removed",
            value.name);
    const std::vector<Node*> users = network_->users()[static_cast<size_t>(value.id)];
    require(users.empty(), "input '{}' is still used by layer {}", value.name,
            users.empty() ? "" : describe(*users.front()));
    network_->remove_input(value);
  });
}

namespace {

// Element `index` of a list of pointers, null when there is none.
template <class List> auto* element(const List& list, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < list.size() ? &*list[static_cast<size_t>(index)]
                                                                : nullptr;
}

}  // namespace

int32_t NetworkDefinition::getNbLayers() const noexcept {
  return static_cast<int32_t>(network_->nodes().size());
}

nvinfer1::ILayer* NetworkDefinition::getLayer(int32_t index) const noexcept {
  return reporter_.guard<ILayer*>(nullptr, [&]() -> ILayer* {
    Node* node = element(network_->nodes(), index);
    return node != nullptr ? &layer_view(*node).handle() : nullptr;
  });
}

int32_t NetworkDefinition::getNbInputs() const noexcept {
  return static_cast<int32_t>(network_->inputs().size());
}

nvinfer1::ITensor* NetworkDefinition::getInput(int32_t index) const noexcept {
  return reporter_.guard<ITensor*>(nullptr, [&]() -> ITensor* {
    Value* value = element(network_->inputs(), index);
    return value != nullptr ? &tensor_view(*value) : nullptr;
  });
}

int32_t NetworkDefinition::getNbOutputs() const noexcept {
  return static_cast<int32_t>(network_->outputs().size());
}

nvinfer1::ITensor* NetworkDefinition::getOutput(int32_t index) const noexcept {
  return reporter_.guard<ITensor*>(nullptr, [&]() -> ITensor* {
    Value* value = element(network_->outputs(), index);
    return value != nullptr ? &tensor_view(*value) : nullptr;
  });
}

void NetworkDefinition::setName(const char* name) noexcept {
  reporter_.run([&] {
    require(name != nullptr, "the name is null");
    network_->name = name;
  });
}

const char* NetworkDefinition::getName() const noexcept {
  return network_->name.c_str();
}

bool NetworkDefinition::setWeightsName(Weights weights, const char* name) noexcept {
  return reporter_.guard(false, [&] {
    require(name != nullptr && *name != '\0', "the name is empty");
    // Others may have been at that address before.
    const auto is_same = [&](const Value& value) {
      const Tensor& copy = *value.constant;
      return copy.type() == weights.type && copy.count() == weights.count
             && std::memcmp(copy.data(), weights.values, copy.bytes()) == 0;
    };
    const auto [from, to] = weights_.equal_range(weights.values);
    bool found = false;
    for (auto w = from; w != to; ++w)
      if (is_same(*w->second)) w->second->name = name, found = true;
    require(found, "no layer of this network has these weights from that address");
    return true;
  });
}

std::vector<Value*> NetworkDefinition::weights_named(const char* name) const {
  std::vector<Value*> found;
  for (const auto& value : network_->values())
    if (name != nullptr && *name != '\0' && value->is_weight() && value->name == name)
      found.push_back(value.get());
  require(!found.empty(), "no weights of this network have the name {}",
          name != nullptr ? fmt::format("'{}'", name) : "null");
  return found;
}

bool NetworkDefinition::markWeightsRefittable(const char* name) noexcept {
  return reporter_.run([&] {
    for (Value* weights : weights_named(name)) weights->refittable = true;
  });
}

bool NetworkDefinition::unmarkWeightsRefittable(const char* name) noexcept {
  return reporter_.run([&] {
    for (Value* weights : weights_named(name)) weights->refittable = false;
  });
}

bool NetworkDefinition::areWeightsMarkedRefittable(const char* name) const noexcept {
  return reporter_.guard(false, [&] {
    const std::vector<Value*> found = weights_named(name);
    return std::all_of(found.begin(), found.end(), [](const Value* v) { return v->refittable; });
  });
}

void NetworkDefinition::setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept {
  reporter_.set_recorder(recorder);
}

nvinfer1::IErrorRecorder* NetworkDefinition::getErrorRecorder() const noexcept {
  return reporter_.recorder();
}

}  // namespace tenon
