// Layers of language models: attention, caches, mixtures of experts, several devices.
#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

void bind_iattention(nb::module_& m) {
  using A = IAttention;
  nb::class_<A> attention(m, "IAttention", nb::type_slots(kPart),
                          "softmax(query * key^T + mask) * value, of tensors (N, heads, length, "
                          "size). It keeps its network.");
  const auto tensor_property = [&](const char* name, auto get, auto set, const char* doc) {
    attention.def_prop_rw(name, member(get), member(set), nb::rv_policy::reference,
                          nb::for_getter(in_network()), doc);
  };
  tensor_property("mask", &A::getMask, &A::setMask, "BOOL, or a number added; None if none.");
  tensor_property("normalization_quantize_scale", &A::getNormalizationQuantizeScale,
                  &A::setNormalizationQuantizeScale, "Of quantized shares; None if none.");
  property(attention, "norm_op", &A::getNormalizationOperation, &A::setNormalizationOperation,
           "What normalizes the scores.");
  property(attention, "decomposable", &A::getDecomposable, &A::setDecomposable,
           "Whether it may be computed in several steps.");
  property(attention, "causal", &A::getCausal, &A::setCausal,
           "Whether later positions are hidden.");
  property(attention, "name", &A::getName, &A::setName, "The name, used in messages.");
  property(attention, "metadata", &A::getMetadata, &A::setMetadata,
           "A text that the engine inspector shows.");
  property(attention, "normalization_quantize_to_type", &A::getNormalizationQuantizeToType,
           &A::setNormalizationQuantizeToType, "The type of quantized shares.");
  property(attention, "num_inputs", &A::getNbInputs, "The number of inputs.");
  property(attention, "num_outputs", &A::getNbOutputs, "The number of outputs.");
  property(attention, "num_ranks", &A::getNbRanks, &A::setNbRanks, "How many devices share it.");
  attention
      .def("set_input", member(&A::setInput), nb::arg("index"), nb::arg("tensor"),
           "Replaces an input: 0 query, 1 key, 2 value. False if there is no such input.")
      .def("get_input", member(&A::getInput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An input; None if there is none of this index.")
      .def("get_output", member(&A::getOutput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An output; None if there is none of this index.");

  auto boundary = layer_class<IAttentionBoundaryLayer>(m, "IAttentionBoundaryLayer",
                                                       "A layer at an attention's boundary.");
  boundary.def_prop_ro("attention", member(&IAttentionBoundaryLayer::getAttention),
                       nb::rv_policy::reference, in_network(), "The attention.");
  layer_class<IAttentionInputLayer, IAttentionBoundaryLayer>(m, "IAttentionInputLayer",
                                                             "What enters an attention.");
  layer_class<IAttentionOutputLayer, IAttentionBoundaryLayer>(m, "IAttentionOutputLayer",
                                                              "What leaves an attention.");
}

void bind_experts(nb::module_& m) {
  using E = IMoELayer;
  auto experts = layer_class<E>(m, "IMoELayer", "A mixture of experts.");
  experts
      .def("set_gated_weights", member(&E::setGatedWeights), nb::arg("fc_gate_weights"),
           nb::arg("fc_up_weights"), nb::arg("fc_down_weights"), nb::arg("activation_type"),
           "Sets the experts' weights.")
      .def("set_gated_biases", member(&E::setGatedBiases), nb::arg("fc_gate_biases"),
           nb::arg("fc_up_biases"), nb::arg("fc_down_biases"), "Sets the experts' biases.")
      .def("set_quantization_static", member(&E::setQuantizationStatic),
           nb::arg("fc_down_activation_scale"), nb::arg("data_type"),
           "Quantizes with a given scale.")
      .def("set_quantization_dynamic_dbl_q", member(&E::setQuantizationDynamicDblQ),
           nb::arg("fc_down_activation_dbl_q_scale"), nb::arg("data_type"), nb::arg("block_shape"),
           nb::arg("dyn_q_output_scale_type"), "Quantizes blocks with scales found at run time.")
      .def("set_swiglu_params", member(&E::setSwigluParams), nb::arg("limit"), nb::arg("alpha"),
           nb::arg("beta"), "Sets the activation's parameters.");
  property(experts, "activation_type", &E::getActivationType, &E::setActivationType,
           "The activation.");
  property(experts, "quantization_to_type", &E::getQuantizationToType, &E::setQuantizationToType,
           "The type of quantized values.");
  property(experts, "quantization_block_shape", &E::getQuantizationBlockShape,
           &E::setQuantizationBlockShape, "The shape of a block.");
  property(experts, "dyn_q_output_scale_type", &E::getDynQOutputScaleType,
           &E::setDynQOutputScaleType, "The type of scales found at run time.");
  property(experts, "swiglu_param_limit", &E::getSwigluParamLimit, &E::setSwigluParamLimit,
           "The activation's limit.");
  property(experts, "swiglu_param_alpha", &E::getSwigluParamAlpha, &E::setSwigluParamAlpha,
           "The activation's alpha.");
  property(experts, "swiglu_param_beta", &E::getSwigluParamBeta, &E::setSwigluParamBeta,
           "The activation's beta.");
}

}  // namespace

void bind_attention_layers(nb::module_& m) {
  bind_iattention(m);
  bind_experts(m);
  using R = IRotaryEmbeddingLayer;
  auto rotary = layer_class<R>(m, "IRotaryEmbeddingLayer", "Turns pairs of elements by angles.");
  property(rotary, "interleaved", &R::getInterleaved, &R::setInterleaved,
           "Whether pairs are neighbours.");
  property(rotary, "rotary_embedding_dim", &R::getRotaryEmbeddingDim, &R::setRotaryEmbeddingDim,
           "How many elements are turned; 0 for all.");
  using K = IKVCacheUpdateLayer;
  auto cache = layer_class<K>(m, "IKVCacheUpdateLayer", "Writes new keys or values into a cache.");
  property(cache, "cache_mode", &K::getCacheMode, &K::setCacheMode, "How the cache is written.");
  layer_class<IDistCollectiveLayer>(m, "IDistCollectiveLayer", "An operation of several devices.");
}

}  // namespace tenon::python
