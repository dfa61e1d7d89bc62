// Layers that move elements or make new ones: shapes, slices, constants, picking by index, images.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

void bind_shuffle(nb::module_& m) {
  using S = IShuffleLayer;
  auto shuffle = layer_class<S>(m, "IShuffleLayer",
                                "Reorders dimensions, reshapes and reorders again, in that order.");
  property(shuffle, "first_transpose", &S::getFirstTranspose, &S::setFirstTranspose,
           "The order before the reshape.");
  property(shuffle, "reshape_dims", &S::getReshapeDimensions, &S::setReshapeDimensions,
           "The shape; one -1 is computed. Input 1, if set, says it instead.");
  property(shuffle, "second_transpose", &S::getSecondTranspose, &S::setSecondTranspose,
           "The order after the reshape.");
  property(shuffle, "zero_is_placeholder", &S::getZeroIsPlaceholder, &S::setZeroIsPlaceholder,
           "Whether 0 in the shape stands for the input's dimension.");
}

void bind_slice(nb::module_& m) {
  using S = ISliceLayer;
  auto slice = layer_class<S>(m, "ISliceLayer",
                              "Every stride-th element of a box; inputs 1.. may say the numbers.");
  property(slice, "start", &S::getStart, &S::setStart, "The first element per dimension.");
  property(slice, "shape", &S::getSize, &S::setSize, "The shape of the output.");
  property(slice, "stride", &S::getStride, &S::setStride, "The step per dimension.");
  property(slice, "mode", &S::getMode, &S::setMode, "What is read outside of the input.");
  property(slice, "axes", &S::getAxes, &S::setAxes,
           "The dimensions that the numbers are for; empty for all.");
}

// Alpha and beta are integers in fills of INT64, which a double cannot hold.
template <double (IFillLayer::*get)() const noexcept,
          int64_t (IFillLayer::*get_int64)() const noexcept,
          void (IFillLayer::*set)(double) noexcept, void (IFillLayer::*set_int64)(int64_t) noexcept>
void fill_property(nb::class_<IFillLayer, ILayer>& fill, const char* name, const char* signature,
                   const char* doc) {
  fill.def_prop_rw(
      name,
      [](const IFillLayer& self) -> nb::object {
        if (self.isAlphaBetaInt64()) return nb::int_((self.*get_int64)());
        return nb::float_((self.*get)());
      },
      [](IFillLayer& self, nb::object value) {
        if (nb::isinstance<nb::int_>(value) && self.getToType() == DataType::kINT64) {
          const auto integer = nb::cast<int64_t>(value);
          into_engine([&] { (self.*set_int64)(integer); });
        } else {
          const auto number = nb::cast<double>(value);
          into_engine([&] { (self.*set)(number); });
        }
      },
      nb::for_getter(nb::sig(signature)), doc);
}

void bind_fill(nb::module_& m) {
  using F = IFillLayer;
  auto fill = layer_class<F>(m, "IFillLayer",
                             "Computed values; inputs 0 to 2, if set, say shape, alpha and beta.");
  property(fill, "shape", &F::getDimensions, &F::setDimensions, "The shape of the output.");
  property(fill, "operation", &F::getOperation, &F::setOperation, "What is written.");
  fill_property<&F::getAlpha, &F::getAlphaInt64, &F::setAlpha, &F::setAlphaInt64>(
      fill, "alpha", "def alpha(self) -> float | int", "The start, the least value or the mean.");
  fill_property<&F::getBeta, &F::getBetaInt64, &F::setBeta, &F::setBetaInt64>(
      fill, "beta", "def beta(self) -> float | int",
      "The step, the largest value or the standard deviation.");
  property(fill, "to_type", &F::getToType, &F::setToType, "The type of the output.");
  fill.def("is_alpha_beta_int64", member(&F::isAlphaBetaInt64),
           "Whether alpha and beta are integers.");
}

void bind_gathering(nb::module_& m) {
  auto gather = layer_class<IGatherLayer>(m, "IGatherLayer", "Picks elements by index.");
  property(gather, "axis", &IGatherLayer::getGatherAxis, &IGatherLayer::setGatherAxis,
           "The dimension that indices are for.");
  property(gather, "num_elementwise_dims", &IGatherLayer::getNbElementWiseDims,
           &IGatherLayer::setNbElementWiseDims,
           "How many leading dimensions data and indices share.");
  property(gather, "mode", &IGatherLayer::getMode, &IGatherLayer::setMode,
           "Which elements are picked.");

  auto scatter = layer_class<IScatterLayer>(m, "IScatterLayer", "Writes elements by index.");
  property(scatter, "axis", &IScatterLayer::getAxis, &IScatterLayer::setAxis,
           "The dimension that indices are for.");
  property(scatter, "mode", &IScatterLayer::getMode, &IScatterLayer::setMode,
           "Which elements are written.");

  auto one_hot =
      layer_class<IOneHotLayer>(m, "IOneHotLayer", "One of two values per class (ONNX OneHot).");
  property(one_hot, "axis", &IOneHotLayer::getAxis, &IOneHotLayer::setAxis,
           "The dimension of classes in the output.");
  auto non_zero = layer_class<INonZeroLayer>(
      m, "INonZeroLayer", "The coordinates of elements that are not zero (ONNX NonZero).");
  property(non_zero, "indices_type", &INonZeroLayer::getIndicesType, &INonZeroLayer::setIndicesType,
           "The type of the coordinates: INT32 or INT64.");

  auto reverse = layer_class<IReverseSequenceLayer>(
      m, "IReverseSequenceLayer", "Turns sequences around (ONNX ReverseSequence).");
  property(reverse, "batch_axis", &IReverseSequenceLayer::getBatchAxis,
           &IReverseSequenceLayer::setBatchAxis, "The dimension of sequences.");
  property(reverse, "sequence_axis", &IReverseSequenceLayer::getSequenceAxis,
           &IReverseSequenceLayer::setSequenceAxis, "The dimension of their elements.");
}

std::vector<float> scales_of(const IResizeLayer& resize) {
  const int32_t count = resize.getScales(0, nullptr);
  std::vector<float> scales(static_cast<size_t>(std::max(count, 0)));
  resize.getScales(count, scales.data());
  return scales;
}

void bind_image_layers(nb::module_& m) {
  using R = IResizeLayer;
  auto resize = layer_class<R>(
      m, "IResizeLayer", "Resizes to a shape, by scales, or to what input 1 says (ONNX Resize).");
  property(resize, "shape", &R::getOutputDimensions, &R::setOutputDimensions,
           "The shape of the output.");
  resize.def_prop_rw(
      "scales", scales_of,
      [](R& self, const std::vector<float>& scales) {
        into_engine([&] { self.setScales(scales.data(), static_cast<int32_t>(scales.size())); });
      },
      "The factor per dimension; empty if there are none.");
  property(resize, "resize_mode", &R::getResizeMode, &R::setResizeMode, "How values are found.");
  property(resize, "coordinate_transformation", &R::getCoordinateTransformation,
           &R::setCoordinateTransformation, "How output coordinates map to the input's.");
  property(resize, "selector_for_single_pixel", &R::getSelectorForSinglePixel,
           &R::setSelectorForSinglePixel, "The coordinate when an extent is 1.");
  property(resize, "nearest_rounding", &R::getNearestRounding, &R::setNearestRounding,
           "How coordinates are rounded.");
  property(resize, "exclude_outside", &R::getExcludeOutside, &R::setExcludeOutside,
           "Whether samples outside of the input have no weight.");
  property(resize, "cubic_coeff", &R::getCubicCoeff, &R::setCubicCoeff,
           "The coefficient of the cubic kernel; -0.75 unless set.");
  property(resize, "align_corners", &R::getAlignCorners, &R::setAlignCorners,
           "Of 8.x: whether corners map to corners.");

  using G = IGridSampleLayer;
  auto grid =
      layer_class<G>(m, "IGridSampleLayer", "Reads an image at given places (ONNX GridSample).");
  property(grid, "interpolation_mode", &G::getInterpolationMode, &G::setInterpolationMode,
           "How values are found.");
  property(grid, "align_corners", &G::getAlignCorners, &G::setAlignCorners,
           "Whether -1 and 1 are the centres of the outermost elements.");
  property(grid, "sample_mode", &G::getSampleMode, &G::setSampleMode,
           "What is read outside of the image.");

  using N = INMSLayer;
  auto nms =
      layer_class<N>(m, "INMSLayer", "The best of overlapping boxes (ONNX NonMaxSuppression).");
  property(nms, "bounding_box_format", &N::getBoundingBoxFormat, &N::setBoundingBoxFormat,
           "How a box's four numbers are read.");
  property(nms, "topk_box_limit", &N::getTopKBoxLimit, &N::setTopKBoxLimit,
           "How many boxes are looked at.");
  property(nms, "indices_type", &N::getIndicesType, &N::setIndicesType,
           "The type of the indices: INT32 or INT64.");
}

}  // namespace

void bind_shape_layers(nb::module_& m) {
  bind_shuffle(m);
  bind_slice(m);
  bind_fill(m);
  bind_gathering(m);
  bind_image_layers(m);

  layer_class<IShapeLayer>(m, "IShapeLayer", "The shape of a tensor, as INT64.");
  layer_class<ISqueezeLayer>(m, "ISqueezeLayer", "Takes out dimensions of size 1.");
  layer_class<IUnsqueezeLayer>(m, "IUnsqueezeLayer", "Puts in dimensions of size 1.");
  auto concatenation =
      layer_class<IConcatenationLayer>(m, "IConcatenationLayer", "Tensors in a row (ONNX Concat).");
  property(concatenation, "axis", &IConcatenationLayer::getAxis, &IConcatenationLayer::setAxis,
           "The dimension that grows.");
  auto constant = layer_class<IConstantLayer>(m, "IConstantLayer", "Fixed values.");
  weights_property(constant, "weights", &IConstantLayer::getWeights, &IConstantLayer::setWeights,
                   "The values, as one row.");
  property(constant, "shape", &IConstantLayer::getDimensions, &IConstantLayer::setDimensions,
           "The shape of the output.");
}

}  // namespace tenon::python
