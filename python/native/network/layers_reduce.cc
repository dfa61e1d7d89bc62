// Layers that combine elements along dimensions: sums, products of matrices, normalizations.
#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

void bind_normalizations(nb::module_& m) {
  auto softmax = layer_class<ISoftMaxLayer>(m, "ISoftMaxLayer", "Softmax (ONNX Softmax).");
  property(softmax, "axes", &ISoftMaxLayer::getAxes, &ISoftMaxLayer::setAxes,
           "The dimension, as a bit.");
  layer_class<IRaggedSoftMaxLayer>(m, "IRaggedSoftMaxLayer",
                                   "Softmax of sequences of different lengths.");

  auto lrn = layer_class<ILRNLayer>(m, "ILRNLayer",
                                    "Normalization over neighbouring channels (ONNX LRN).");
  property(lrn, "window_size", &ILRNLayer::getWindowSize, &ILRNLayer::setWindowSize,
           "How many channels count.");
  property(lrn, "alpha", &ILRNLayer::getAlpha, &ILRNLayer::setAlpha, "The factor of the squares.");
  property(lrn, "beta", &ILRNLayer::getBeta, &ILRNLayer::setBeta, "The power.");
  property(lrn, "k", &ILRNLayer::getK, &ILRNLayer::setK, "What is added to the squares.");

  using N = INormalizationLayer;
  auto normalization =
      layer_class<N>(m, "INormalizationLayer",
                     "(x - mean) / sqrt(variance + epsilon) * scale + bias over some dimensions.");
  property(normalization, "epsilon", &N::getEpsilon, &N::setEpsilon, "Added to the variance.");
  property(normalization, "axes", &N::getAxes, &N::setAxes, "The dimensions, a bit each.");
  property(normalization, "num_groups", &N::getNbGroups, &N::setNbGroups,
           "How many groups of channels are normalized apart.");
  property(normalization, "compute_precision", &N::getComputePrecision, &N::setComputePrecision,
           "The type of mean and variance.");
  property(normalization, "is_v2", &N::isV2, "Whether add_normalization_v2() made it.");
}

}  // namespace

void bind_reduce_layers(nb::module_& m) {
  auto reduce = layer_class<IReduceLayer>(m, "IReduceLayer", "Sums, products.. along dimensions.");
  property(reduce, "op", &IReduceLayer::getOperation, &IReduceLayer::setOperation,
           "The operation.");
  property(reduce, "axes", &IReduceLayer::getReduceAxes, &IReduceLayer::setReduceAxes,
           "The dimensions, a bit each.");
  property(reduce, "keep_dims", &IReduceLayer::getKeepDimensions, &IReduceLayer::setKeepDimensions,
           "Whether reduced dimensions stay, with size 1.");

  using T = ITopKLayer;
  auto topk = layer_class<T>(m, "ITopKLayer",
                             "The k largest or smallest elements and their indices (ONNX TopK).");
  property(topk, "op", &T::getOperation, &T::setOperation, "Largest or smallest.");
  property(topk, "k", &T::getK, &T::setK, "How many; input 1, if set, says it instead.");
  property(topk, "axes", &T::getReduceAxes, &T::setReduceAxes, "The dimension, as a bit.");
  property(topk, "indices_type", &T::getIndicesType, &T::setIndicesType,
           "The type of the indices: INT32 or INT64.");

  using M = IMatrixMultiplyLayer;
  auto product = layer_class<M>(m, "IMatrixMultiplyLayer", "A product of matrices (ONNX MatMul).");
  const auto operation = [&](const char* name, int32_t index, const char* doc) {
    product.def_prop_rw(
        name, [index](const M& self) { return self.getOperation(index); },
        [index](M& self, MatrixOperation value) {
          into_engine([&] { self.setOperation(index, value); });
        },
        doc);
  };
  operation("op0", 0, "How the first factor is read.");
  operation("op1", 1, "How the second factor is read.");

  auto einsum = layer_class<IEinsumLayer>(m, "IEinsumLayer", "Einstein's sums (ONNX Einsum).");
  property(einsum, "equation", &IEinsumLayer::getEquation, &IEinsumLayer::setEquation,
           "Such as ij,jk->ik.");

  using C = ICumulativeLayer;
  auto cumulative = layer_class<C>(m, "ICumulativeLayer", "Partial sums (ONNX CumSum).");
  property(cumulative, "op", &C::getOperation, &C::setOperation, "The operation.");
  property(cumulative, "exclusive", &C::getExclusive, &C::setExclusive,
           "Whether an element is left out of its own sum.");
  property(cumulative, "reverse", &C::getReverse, &C::setReverse, "Whether it starts at the end.");

  bind_normalizations(m);
}

}  // namespace tenon::python
