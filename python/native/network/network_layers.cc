// The add_* methods of INetworkDefinition.
#include "network/network_layers.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

using N = INetworkDefinition;
using Tensors = std::vector<ITensor*>;
using nb::arg;

/// Binds functions that add a part: adds(name, function, arguments.., doc).
struct Adds {
  nb::class_<N>& network;

  template <class Function, class... Extra>
  void operator()(const char* name, Function function, const Extra&... extra) const {
    network.def(name, function, nb::rv_policy::reference, in_network(), extra...);
  }
  template <class Part, class... P, class... Extra>
  void operator()(const char* name, Part* (N::*function)(P...) noexcept,
                  const Extra&... extra) const {
    network.def(name, member(function), nb::rv_policy::reference, in_network(), extra...);
  }
};

/// The one of several overloads of a member function that takes P.
template <class... P> struct Overload {
  template <class Part> auto operator()(Part* (N::*function)(P...) noexcept) const {
    return function;
  }
};

void bind_pointwise(const Adds& adds) {
  adds("add_activation", &N::addActivation, arg("input"), arg("type"),
       "Adds a function of each element.");
  adds("add_parametric_relu", &N::addParametricReLU, arg("input"), arg("slopes"),
       "Adds a leaky ReLU with one slope per element or channel.");
  adds("add_scale", &N::addScale, arg("input"), arg("mode"), arg("shift").none() = nb::none(),
       arg("scale").none() = nb::none(), arg("power").none() = nb::none(),
       "Adds (x * scale + shift) ** power; channels are dimension 1.");
  adds("add_scale_nd", &N::addScaleNd, arg("input"), arg("mode"), arg("shift").none() = nb::none(),
       arg("scale").none() = nb::none(), arg("power").none() = nb::none(), arg("channel_axis") = 1,
       "Adds (x * scale + shift) ** power with channels in a given dimension.");
  adds("add_elementwise", &N::addElementWise, arg("input1"), arg("input2"), arg("op"),
       "Adds an operation of two tensors of the same rank.");
  adds("add_unary", &N::addUnary, arg("input"), arg("op"), "Adds a mathematical function.");
  adds("add_identity", &N::addIdentity, arg("input"), "Adds a copy.");
  adds("add_cast", &N::addCast, arg("input"), arg("to_type"), "Adds a change of type.");
  adds("add_select", &N::addSelect, arg("condition"), arg("then_input"), arg("else_input"),
       "Adds a choice per element.");
  adds("add_assertion", &N::addAssertion, arg("condition"), arg("message"),
       "Adds a check that fails with a message.");
  adds("add_quantize", Overload<ITensor&, ITensor&>()(&N::addQuantize), arg("input"), arg("scale"),
       "Adds a quantization to INT8.");
  adds("add_quantize", Overload<ITensor&, ITensor&, DataType>()(&N::addQuantize), arg("input"),
       arg("scale"), arg("output_type"), "Adds a quantization to a type.");
  adds("add_dequantize", Overload<ITensor&, ITensor&>()(&N::addDequantize), arg("input"),
       arg("scale"), "Adds a dequantization to FLOAT.");
  adds("add_dequantize", Overload<ITensor&, ITensor&, DataType>()(&N::addDequantize), arg("input"),
       arg("scale"), arg("output_type"), "Adds a dequantization to a type.");
  adds("add_dynamic_quantize", &N::addDynamicQuantize, arg("input"), arg("axis"), arg("block_size"),
       arg("output_type"), arg("scale_type"), "Adds a quantization of blocks along a dimension.");
  adds("add_dynamic_quantize_v2", &N::addDynamicQuantizeV2, arg("input"), arg("block_shape"),
       arg("output_type"), arg("scale_type"), "Adds a quantization of blocks of a shape.");
}

void bind_windows(const Adds& adds) {
  const auto convolution = [&](const char* name, auto function, const char* doc) {
    adds(name, function, arg("input"), arg("num_output_maps"), arg("kernel_shape"), arg("kernel"),
         arg("bias").none() = nb::none(), doc);
  };
  convolution("add_convolution_nd", &N::addConvolutionNd,
              "Adds a convolution with kernel (num_output_maps, C / groups, sizes..).");
  convolution("add_deconvolution_nd", &N::addDeconvolutionNd,
              "Adds a transposed convolution with kernel (C, num_output_maps / groups, sizes..).");
  adds("add_pooling_nd", &N::addPoolingNd, arg("input"), arg("type"), arg("window_size"),
       "Adds a pooling over two or three dimensions.");
  adds("add_padding_nd", &N::addPaddingNd, arg("input"), arg("pre_padding"), arg("post_padding"),
       "Adds zeros around the last two dimensions, or cuts from them.");
  // 8.x names.
  convolution("add_convolution", &N::addConvolution, "Of 8.x: a convolution over two dimensions.");
  convolution("add_deconvolution", &N::addDeconvolution,
              "Of 8.x: a transposed convolution over two dimensions.");
  adds("add_pooling", &N::addPooling, arg("input"), arg("type"), arg("window_size"),
       "Of 8.x: a pooling over two dimensions.");
  adds("add_padding", &N::addPadding, arg("input"), arg("pre_padding"), arg("post_padding"),
       "Of 8.x: zeros around the last two dimensions.");
  adds("add_fully_connected", &N::addFullyConnected, arg("input"), arg("num_outputs"),
       arg("kernel"), arg("bias").none() = nb::none(),
       "Of 8.x: the last three dimensions times weights (num_outputs, C*H*W).");
  adds.network.def(
      "add_rnn_v2",
      [](N&, const nb::args&, const nb::kwargs&) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "add_rnn_v2 of TensorRT 8.x is not supported: write the recurrence with "
                        "add_loop");
        throw nb::python_error();
      },
      "Not supported: raises NotImplementedError. Write the recurrence with add_loop().");
}

void bind_reductions(const Adds& adds) {
  adds("add_reduce", &N::addReduce, arg("input"), arg("op"), arg("axes"), arg("keep_dims"),
       "Adds sums, products.. along the dimensions whose bits are set.");
  adds("add_topk", Overload<ITensor&, TopKOperation, int32_t, uint32_t>()(&N::addTopK),
       arg("input"), arg("op"), arg("k"), arg("axes"),
       "Adds the k largest or smallest elements along a dimension, given as a bit.");
  adds("add_topk", Overload<ITensor&, TopKOperation, int32_t, uint32_t, DataType>()(&N::addTopK),
       arg("input"), arg("op"), arg("k"), arg("axes"), arg("indices_type"),
       "The same with indices of a type.");
  adds("add_matrix_multiply", &N::addMatrixMultiply, arg("input0"), arg("op0"), arg("input1"),
       arg("op1"), "Adds a product of matrices.");
  adds(
      "add_einsum",
      [](N& self, const Tensors& inputs, const char* equation) {
        return into_engine([&] {
          return self.addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), equation);
        });
      },
      arg("inputs"), arg("equation"), "Adds a sum of products, as in ij,jk->ik.");
  adds("add_cumulative", &N::addCumulative, arg("input"), arg("axis"), arg("op"), arg("exclusive"),
       arg("reverse"), "Adds partial sums along a dimension, a scalar tensor.");
  adds("add_softmax", &N::addSoftMax, arg("input"),
       "Adds a softmax; its property `axes` says the dimension.");
  adds("add_ragged_softmax", &N::addRaggedSoftMax, arg("input"), arg("bounds"),
       "Adds a softmax of sequences whose lengths are given.");
  adds("add_lrn", &N::addLRN, arg("input"), arg("window"), arg("alpha"), arg("beta"), arg("k"),
       "Adds a normalization over neighbouring channels.");
  const auto normalization = [&](const char* name, auto function, const char* doc) {
    adds(name, function, arg("input"), arg("scale"), arg("bias"), arg("axesMask"), doc);
  };
  normalization("add_normalization", &N::addNormalization,
                "Adds a normalization over the dimensions whose bits are set; scale and bias have "
                "the rank of the input.");
  normalization("add_normalization_v2", &N::addNormalizationV2,
                "Adds a normalization; with groups, scale and bias have one value per channel.");
}

void bind_shapes(const Adds& adds) {
  adds("add_shuffle", &N::addShuffle, arg("input"), "Adds a reshape between two transposes.");
  adds("add_slice", &N::addSlice, arg("input"), arg("start"), arg("shape"), arg("stride"),
       "Adds the picking of every stride-th element.");
  adds("add_shape", &N::addShape, arg("input"), "Adds the shape of a tensor, as INT64.");
  adds("add_squeeze", &N::addSqueeze, arg("input"), arg("axes"),
       "Adds the removal of dimensions of size 1.");
  adds("add_unsqueeze", &N::addUnsqueeze, arg("input"), arg("axes"),
       "Adds the insertion of dimensions of size 1.");
  adds(
      "add_concatenation",
      [](N& self, const Tensors& inputs) {
        return into_engine([&] {
          return self.addConcatenation(inputs.data(), static_cast<int32_t>(inputs.size()));
        });
      },
      arg("inputs"), "Adds tensors in a row; the property `axis` says the dimension.");
  adds("add_constant", &N::addConstant, arg("shape"), arg("weights"), "Adds fixed values.");
  adds("add_fill", Overload<const Dims&, FillOperation, DataType>()(&N::addFill), arg("shape"),
       arg("op"), arg("output_type"), "Adds computed values of a type.");
  adds("add_fill", Overload<const Dims&, FillOperation>()(&N::addFill), arg("shape"), arg("op"),
       "Adds computed values of type FLOAT.");
  adds("add_reverse_sequence", &N::addReverseSequence, arg("input"), arg("sequence_lens"),
       "Adds the turning around of sequences.");
}

void bind_gathering(const Adds& adds) {
  adds("add_gather", &N::addGather, arg("input"), arg("indices"), arg("axis"),
       "Adds the picking of slices along a dimension.");
  adds("add_gather_v2", &N::addGatherV2, arg("input"), arg("indices"), arg("mode"),
       "Adds the picking of slices, elements or coordinates.");
  adds("add_scatter", &N::addScatter, arg("data"), arg("indices"), arg("updates"), arg("mode"),
       "Adds the writing of elements by index.");
  adds("add_one_hot", &N::addOneHot, arg("indices"), arg("values"), arg("depth"), arg("axis"),
       "Adds a dimension with values[1] at the index and values[0] elsewhere.");
  adds("add_non_zero", Overload<ITensor&>()(&N::addNonZero), arg("input"),
       "Adds the coordinates of elements that are not zero.");
  adds("add_non_zero", Overload<ITensor&, DataType>()(&N::addNonZero), arg("input"),
       arg("indices_type"), "The same with coordinates of a type.");
  adds("add_nms", Overload<ITensor&, ITensor&, ITensor&>()(&N::addNMS), arg("boxes"), arg("scores"),
       arg("max_output_boxes_per_class"), "Adds the best of overlapping boxes.");
  adds("add_nms", Overload<ITensor&, ITensor&, ITensor&, DataType>()(&N::addNMS), arg("boxes"),
       arg("scores"), arg("max_output_boxes_per_class"), arg("indices_type"),
       "The same with indices of a type.");
  adds("add_resize", &N::addResize, arg("input"),
       "Adds a resize; its properties `shape` or `scales` say the size.");
  adds("add_grid_sample", &N::addGridSample, arg("input"), arg("grid"),
       "Adds the reading of an image at given places.");
}

IDistCollectiveLayer* add_dist_collective(N& self, ITensor& input, CollectiveOperation operation,
                                          std::optional<ReduceOperation> reduce,
                                          std::optional<int64_t> root,
                                          std::optional<std::vector<int64_t>> groups) {
  int64_t* const members = groups ? groups->data() : nullptr;
  const auto size = static_cast<int64_t>(groups ? groups->size() : 0);
  return into_engine([&] {
    return self.addDistCollective(input, operation, reduce.value_or(ReduceOperation::kNONE),
                                  root.value_or(-1), members, size);
  });
}

void bind_language(const Adds& adds) {
  adds("add_attention", &N::addAttention, arg("query"), arg("key"), arg("value"), arg("norm_op"),
       arg("causal"), "Adds an attention of tensors (N, heads, length, size).");
  adds("add_rotary_embedding", &N::addRotaryEmbedding, arg("input"), arg("cos_cache"),
       arg("sin_cache"), arg("interleaved"), arg("rotary_embedding_dim"),
       "Adds the turning of pairs of elements by angles.");
  adds("add_kv_cache_update", &N::addKVCacheUpdate, arg("cache"), arg("update"),
       arg("write_indices"), arg("cache_mode"), "Adds the writing of new keys or values.");
  adds("add_moe", &N::addMoE, arg("hidden_states"), arg("selected_experts_for_tokens"),
       arg("scores_for_selected_experts"), "Adds a mixture of experts, without weights yet.");
  adds("add_dist_collective", add_dist_collective, arg("input"), arg("dist_collective_op"),
       arg("reduce_op").none(), arg("root").none(), arg("groups").none(),
       "Adds an operation of several devices.");
  adds("add_loop", &N::addLoop, "Adds an empty loop.");
  adds("add_if_conditional", &N::addIfConditional, "Adds an empty conditional.");
}

}  // namespace

void bind_network_layers(nb::class_<N>& network) {
  const Adds adds{network};
  bind_pointwise(adds);
  bind_windows(adds);
  bind_reductions(adds);
  bind_shapes(adds);
  bind_gathering(adds);
  bind_language(adds);
}

}  // namespace tenon::python
