#include "api/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "api/network_definition.h"
#include "ops/cast.h"
#include "ops/dequantize.h"
#include "ops/fill.h"

namespace tenon {
namespace {

bool is_number(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

// Whether `dim` depends on an element of `input`.
bool depends_on_elements(Dim dim, const Network& network, const Value& input,
                         std::unordered_set<Dim>& seen) {
  if (dim == nullptr || !seen.insert(dim).second) return false;
  if (dim->op == ExprOp::kSymbol) {
    const Symbol& symbol = network.symbols()[static_cast<size_t>(dim->payload)];
    return symbol.kind == Symbol::Kind::kElement && symbol.value == &input;
  }
  return depends_on_elements(dim->a, network, input, seen)
         || depends_on_elements(dim->b, network, input, seen)
         || depends_on_elements(dim->c, network, input, seen);
}

bool decides_shapes(const Network& network, const Value& input) {
  std::unordered_set<Dim> seen;
  for (const auto& value : network.values())
    for (Dim dim : value->dims)
      if (depends_on_elements(dim, network, input, seen)) return true;
  // Also a scalar, of which a Fill can make no shape: the build refuses the layer and says so.
  return std::ranges::any_of(network.nodes(), [&](const auto& node) {
    return node->template as<Fill>() != nullptr && !node->inputs.empty()
           && node->inputs[0] == &input;
  });
}

// Whether a layer takes the numbers of `input` for floats.
bool is_read_as_float(const Network& network, const Value& input) {
  const auto reads = [&](const auto& node) {
    return node->template as<Cast>() == nullptr && node->template as<Dequantize>() == nullptr
           && std::ranges::find(node->inputs, &input) != node->inputs.end();
  };
  return std::ranges::any_of(network.nodes(), reads);
}

}  // namespace

nvinfer1::Dims public_dims(const Dims& dims) {
  nvinfer1::Dims result{static_cast<int32_t>(dims.size()), {}};
  for (size_t i = 0; i < dims.size(); ++i)
    result.d[i] = dims[i]->is_integer_constant() ? dims[i]->value.integer : -1;
  return result;
}

const Reporter& NetworkTensor::reporter() const {
  return owner_.reporter();
}

void NetworkTensor::setName(const char* name) noexcept {
  reporter().run(
      [&] {
        require(name != nullptr && *name != '\0', "tensor '{}': the new name is empty",
                value_.name);
        if (value_.is_input || value_.is_output) owner_.check_io_name(name, &value_);
        value_.name = name;
      },
      "ITensor::setName");
}

void NetworkTensor::setDimensions(const nvinfer1::Dims& dimensions) noexcept {
  reporter().run(
      [&] {
        require(value_.is_input, "tensor '{}' is not a network input; its shape is inferred",
                value_.name);
        const Shape declared(dimensions);
        for (int64_t extent : declared)
          require(extent >= -1, "input '{}': extent {} is neither -1 nor a size", value_.name,
                  extent);
        value_.declared = declared;
        owner_.touch();
      },
      "ITensor::setDimensions");
}

nvinfer1::Dims NetworkTensor::getDimensions() const noexcept {
  return reporter().guard(
      nvinfer1::Dims{-1, {}},
      [&] {
        owner_.infer(value_);
        return public_dims(value_.dims);
      },
      "ITensor::getDimensions");
}

// Without an implicit batch, TensorRT takes it and it means nothing.
void NetworkTensor::setBroadcastAcrossBatch(bool shared) noexcept {
  shared_ = shared && owner_.hasImplicitBatchDimension();
}

void NetworkTensor::setType(DataType type) noexcept {
  reporter().run(
      [&] {
        checked(type);
        // Layers read an input as what it was made, whatever 16 or 32 bits its border has. Where
        // it is int8, and they read floats, it is quantized by its dynamic range.
        const bool is_quantized =
            type == DataType::kINT8 && is_read_as_float(owner_.network(), value_);
        const bool layers_follow = owner_.strongly_typed() || !is_number(value_.type)
                                   || !(is_number(type) || is_quantized);
        if (!value_.is_input) {
          require(
              !owner_.strongly_typed(),
              "tensor '{}': types follow from the inputs in a strongly typed network; add a cast",
              value_.name);
        } else if (layers_follow) {
          value_.type = type;
          owner_.touch();
        }
        value_.requested_type = type;
      },
      "ITensor::setType");
}

DataType NetworkTensor::getType() const noexcept {
  if (value_.requested_type) return *value_.requested_type;
  return reporter().guard(
      DataType::kFLOAT,
      [&] {
        owner_.infer(value_);
        return value_.type;
      },
      "ITensor::getType");
}

bool NetworkTensor::setDynamicRange(float min, float max) noexcept {
  return reporter().run(
      [&] {
        require(std::isfinite(min) && std::isfinite(max) && min <= max,
                "tensor '{}': [{}, {}] is not a range", value_.name, min, max);
        range_ = {min, max};
      },
      "ITensor::setDynamicRange");
}

nvinfer1::TensorLocation NetworkTensor::getLocation() const noexcept {
  return value_.is_input && isShapeTensor() ? nvinfer1::TensorLocation::kHOST
                                            : nvinfer1::TensorLocation::kDEVICE;
}

void NetworkTensor::setLocation(nvinfer1::TensorLocation location) noexcept {
  if (location != getLocation())
    reporter().log().warning(
        "ITensor::setLocation: tensor '{}': the location follows from how the tensor is used; the "
        "call has no effect",
        value_.name);
}

float NetworkTensor::getDynamicRangeMin() const noexcept {
  return range_ ? range_->min : std::numeric_limits<float>::quiet_NaN();
}

float NetworkTensor::getDynamicRangeMax() const noexcept {
  return range_ ? range_->max : std::numeric_limits<float>::quiet_NaN();
}

void NetworkTensor::setAllowedFormats(nvinfer1::TensorFormats formats) noexcept {
  reporter().run(
      [&] {
        require(formats != 0, "tensor '{}': no format is allowed", value_.name);
        value_.allowed_formats = formats;
      },
      "ITensor::setAllowedFormats");
}

bool NetworkTensor::isShapeTensor() const noexcept {
  return reporter().guard(
      false,
      [&] {
        owner_.infer(value_);
        if (!value_.content || is_float(value_.type) || value_.dims.size() > 1) return false;
        return !value_.is_input || decides_shapes(owner_.network(), value_);
      },
      "ITensor::isShapeTensor");
}

bool NetworkTensor::isExecutionTensor() const noexcept {
  return !isShapeTensor() || value_.is_output;
}

void NetworkTensor::setDimensionName(int32_t index, const char* name) noexcept {
  reporter().run(
      [&] {
        require(value_.is_input, "tensor '{}' is not a network input", value_.name);
        require(index >= 0 && index < value_.declared.rank(),
                "input '{}': dimension {} does not exist; it has {}", value_.name, index,
                value_.declared.rank());
        value_.dimension_names[static_cast<size_t>(index)] = name != nullptr ? name : "";
        owner_.touch();
      },
      "ITensor::setDimensionName");
}

const char* NetworkTensor::getDimensionName(int32_t index) const noexcept {
  if (index < 0 || index >= value_.declared.rank()) return nullptr;
  const std::string& name = value_.dimension_names[static_cast<size_t>(index)];
  return name.empty() ? nullptr : name.c_str();
}

}  // namespace tenon
