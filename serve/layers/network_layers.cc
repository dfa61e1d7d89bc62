#include "network_layers.h"

#include <algorithm>
#include <numeric>

#include "guard.h"

namespace tenon::serve {

using nvinfer1::ElementWiseOperation;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

namespace {

template <class T> T& made(T* layer_or_tensor) {
  if (layer_or_tensor == nullptr)
    throw Error{"the network refuses a layer that decodes its outputs; the logger has said why"};
  return *layer_or_tensor;
}

nvinfer1::Dims dims_of(const Shape& shape) {
  return session::value_of(session::to_dims(shape));
}

Shape ones(int rank) {
  return Shape(static_cast<size_t>(rank), 1);
}

// One extent, for a tensor of extents.
Term extent(INetworkDefinition& network, int64_t value) {
  auto& layer = made(network.addFill(nvinfer1::Dims{1, {1}}, nvinfer1::FillOperation::kLINSPACE,
                                     DataType::kINT64));
  layer.setAlphaInt64(value);
  layer.setBetaInt64(0);
  return {network, *layer.getOutput(0)};
}

}  // namespace

ITensor& chosen_tensor(const std::string& name, const char* what, int32_t count,
                       const std::function<ITensor*(int32_t)>& at) {
  std::string names;
  for (int32_t i = 0; i < count; ++i) {
    ITensor& tensor = *at(i);
    if (name == tensor.getName() || (name.empty() && count == 1)) return tensor;
    names += (i == 0 ? "'" : ", '") + std::string(tensor.getName()) + "'";
  }
  throw Error{name.empty() ? std::string("the network has several ") + what
                                 + "s: expected the name of one of " + names
                           : std::string("the network has no ") + what + " '" + name
                                 + "': expected one of " + names};
}

ITensor& chosen_output(INetworkDefinition& network, const std::string& name) {
  return chosen_tensor(name, "output", network.getNbOutputs(),
                       [&](int32_t i) { return network.getOutput(i); });
}

void replace_outputs(INetworkDefinition& network, const std::vector<ITensor*>& outputs,
                     const std::vector<std::pair<std::string, ITensor*>>& others) {
  for (ITensor* const output : outputs) network.unmarkOutput(*output);
  for (const auto& [name, tensor] : others) {
    tensor->setName(name.c_str());
    network.markOutput(*tensor);
  }
}

std::string dims_text(const nvinfer1::Dims& dims) {
  return session::shape_text(session::to_shape(dims));
}

Term Term::added(INetworkDefinition& network, nvinfer1::ILayer* layer) {
  ITensor& output = made(made(layer).getOutput(0));
  if (output.getDimensions().nbDims < 0) made<ITensor>(nullptr);
  const bool is_weakly_typed =
      !network.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  if (is_weakly_typed && output.getType() == DataType::kFLOAT) {
    layer->setPrecision(DataType::kFLOAT);
    layer->setOutputType(0, DataType::kFLOAT);
  }
  return {network, output};
}

Term Term::line(INetworkDefinition& network, int64_t count, float first, float step) {
  auto& layer = made(network.addFill(nvinfer1::Dims{1, {count}}, nvinfer1::FillOperation::kLINSPACE,
                                     DataType::kFLOAT));
  layer.setAlpha(first);
  layer.setBeta(step);
  return added(network, &layer);
}

Term Term::count_up(INetworkDefinition& network, const Shape& shape) {
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return line(network, count, 0, 1).reshape(shape);
}

Term Term::of(INetworkDefinition& network, std::span<const float> numbers, const Shape& shape) {
  // A constant's weights would have to live until the network is built.
  std::vector<Term> terms;
  for (const float number : numbers) terms.push_back(line(network, 1, number, 0));
  return concat(terms, 0).reshape(shape);
}

Term Term::concat(std::span<const Term> terms, int axis) {
  if (terms.size() == 1) return terms[0];
  std::vector<ITensor*> tensors;
  for (const Term& term : terms) tensors.push_back(term.tensor_);
  auto& layer = made(
      terms[0].network_->addConcatenation(tensors.data(), static_cast<int32_t>(tensors.size())));
  layer.setAxis(axis);
  return terms[0].added(&layer);
}

Term Term::cast(DataType type) const {
  return tensor_->getType() == type ? *this : added(network_->addCast(*tensor_, type));
}

Term Term::reshape(const Shape& shape) const {
  auto& layer = made(network_->addShuffle(*tensor_));
  layer.setReshapeDimensions(dims_of(shape));
  return added(&layer);
}

Term Term::permute(std::initializer_list<int> order) const {
  auto& layer = made(network_->addShuffle(*tensor_));
  nvinfer1::Permutation permutation{};
  std::copy(order.begin(), order.end(), permutation.order);
  layer.setFirstTranspose(permutation);
  return added(&layer);
}

Term Term::slice(int axis, int64_t begin, int64_t count) const {
  nvinfer1::Dims size = tensor_->getDimensions(), start{size.nbDims, {}}, stride = start;
  std::fill_n(stride.d, stride.nbDims, 1);
  start.d[axis] = begin;
  size.d[axis] = count;
  const bool is_dynamic = size.d[0] < 0;
  if (is_dynamic) size.d[0] = 1;
  auto& layer = made(network_->addSlice(*tensor_, start, size, stride));
  if (is_dynamic) {
    auto& shape = made(network_->addShape(*tensor_));
    std::vector<Term> extents{Term(*network_, *shape.getOutput(0)).slice(0, 0, 1)};
    for (int i = 1; i < size.nbDims; ++i) extents.push_back(extent(*network_, size.d[i]));
    layer.setInput(2, concat(extents, 0).tensor());
  }
  return added(&layer);
}

Term Term::gather_last(const Term& indices) const {
  auto& layer =
      made(network_->addGatherV2(*tensor_, *indices.tensor_, nvinfer1::GatherMode::kELEMENT));
  layer.setGatherAxis(rank() - 1);
  return added(&layer);
}

Term Term::sigmoid() const {
  return added(network_->addActivation(*tensor_, nvinfer1::ActivationType::kSIGMOID));
}

Term Term::exp() const {
  return added(network_->addUnary(*tensor_, nvinfer1::UnaryOperation::kEXP));
}

Term Term::softmax(int axis) const {
  auto& layer = made(network_->addSoftMax(*tensor_));
  layer.setAxes(1U << axis);
  return added(&layer);
}

Term Term::sum_over(int axis) const {
  return added(network_->addReduce(*tensor_, nvinfer1::ReduceOperation::kSUM, 1U << axis, false));
}

Term Term::highest_around() const {
  auto& layer =
      made(network_->addPoolingNd(*tensor_, nvinfer1::PoolingType::kMAX, nvinfer1::DimsHW(3, 3)));
  layer.setStrideNd(nvinfer1::DimsHW(1, 1));
  layer.setPaddingNd(nvinfer1::DimsHW(1, 1));
  return added(&layer);
}

Term Term::where_equal(const Term& other) const {
  const Term is_equal = with(ElementWiseOperation::kEQUAL, other);
  return added(network_->addSelect(*is_equal.tensor_, *tensor_, *number(0).tensor_));
}

Term::Best Term::best(int64_t count) const {
  auto& layer = made(network_->addTopK(*tensor_, nvinfer1::TopKOperation::kMAX,
                                       static_cast<int32_t>(count), 1U << (rank() - 1)));
  const Term values = added(&layer);
  return {values, {*network_, *layer.getOutput(1)}};
}

Term Term::floor_divided(float divisor) const {
  return with(ElementWiseOperation::kFLOOR_DIV, number(divisor));
}

Term Term::with(ElementWiseOperation operation, const Term& other) const {
  return added(network_->addElementWise(*tensor_, *other.tensor_, operation));
}

Term Term::number(float value) const {
  return of(*network_, std::span(&value, 1), ones(rank())).cast(tensor_->getType());
}

Term cells_of(INetworkDefinition& network, int64_t width, int64_t height, int rank, int axis) {
  Shape shape = ones(rank);
  shape[static_cast<size_t>(axis)] = width * height;
  const Term cell = Term::count_up(network, shape);
  const Term row = cell.floor_divided(static_cast<float>(width));
  return Term::concat({cell - row * static_cast<float>(width), row}, rank - 1);
}

}  // namespace tenon::serve
