#include "compare/dequantize.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace tenon::compare {
namespace {

using session::Array;

// The elements of a constant that a layer reads; nothing where it is none.
std::optional<std::vector<double>> constant(const NetworkGraph& graph,
                                            const nvinfer1::ILayer& layer, int32_t input) {
  const nvinfer1::ITensor* const tensor = layer.getInput(input);
  nvinfer1::ILayer* const producer =
      tensor == nullptr ? nullptr : graph.producer(tensor->getName());
  if (producer == nullptr || producer->getType() != nvinfer1::LayerType::kCONSTANT)
    return std::nullopt;
  const nvinfer1::Weights weights = static_cast<nvinfer1::IConstantLayer*>(producer)->getWeights();
  auto array = session::make_array(weights.type, {weights.count});
  if (!array) return std::nullopt;
  std::memcpy(array->bytes.data(), weights.values, array->bytes.size());
  auto numbers = session::numbers(*array);
  if (!numbers) return std::nullopt;
  return *std::move(numbers);
}

}  // namespace

std::optional<Dequantized> dequantized(const NetworkGraph& graph, const std::string& tensor,
                                       const Array& array) {
  nvinfer1::ILayer* const layer = graph.find(tensor) == nullptr ? nullptr : graph.producer(tensor);
  if (layer == nullptr || layer->getType() != nvinfer1::LayerType::kQUANTIZE) return std::nullopt;
  const auto scale = constant(graph, *layer, 1);
  const auto zero = layer->getNbInputs() > 2 ? constant(graph, *layer, 2) : std::vector<double>{0};
  const auto quantized = session::numbers(array);
  auto result = session::make_array(nvinfer1::DataType::kFLOAT, array.shape);
  if (!scale || !zero || !quantized || !result || scale->empty() || zero->empty())
    return std::nullopt;

  // Element i has index (i / inner) % count of the axis.
  size_t inner = 1;
  if (scale->size() > 1) {
    const auto axis = static_cast<size_t>(static_cast<nvinfer1::IQuantizeLayer*>(layer)->getAxis());
    if (axis >= array.shape.size() || static_cast<size_t>(array.shape[axis]) != scale->size())
      return std::nullopt;
    inner =
        static_cast<size_t>(std::accumulate(array.shape.begin() + static_cast<int64_t>(axis) + 1,
                                            array.shape.end(), int64_t{1}, std::multiplies<>()));
  }
  float* const values = result->as<float>();
  for (size_t i = 0; i < quantized->size(); ++i) {
    const size_t k = scale->size() > 1 ? (i / inner) % scale->size() : 0;
    values[i] =
        static_cast<float>(((*quantized)[i] - (*zero)[zero->size() > 1 ? k : 0]) * (*scale)[k]);
  }
  return Dequantized{layer->getInput(0)->getName(), *std::move(result),
                     *std::max_element(scale->begin(), scale->end())};
}

}  // namespace tenon::compare
