#include "cpu/candidates.h"

#include "common/plugin_kernel.h"
#include "cpu/convolution/two_convolutions.h"
#include "cpu/kernels.h"
#include "cpu/widened.h"

namespace tenon::cpu {
namespace {

/// A row, and whether there is one for 16-bit floats behind it.
struct Row {
  Row(Candidate candidate) : candidate(std::move(candidate)) {}  // NOLINT: most rows are just that

  Candidate candidate;
  bool takes_16bit = false;
};

Row and_16bit(Candidate candidate) {
  Row row(std::move(candidate));
  row.takes_16bit = true;
  return row;
}

std::vector<Candidate> rows(std::initializer_list<Row> list) {
  std::vector<Candidate> candidates;
  for (const Row& row : list) {
    candidates.push_back(row.candidate);
    if (row.takes_16bit) candidates.push_back(widened(row.candidate));
  }
  return candidates;
}

// For layers of integers, whose kernels give no 16-bit floats.
Row no_16bit(Candidate candidate) {
  const auto guarded = [](const auto& call) {
    return [call](const KernelRequest& request, const auto&... stored) -> Offer {
      const DataType type = request.outputs[0].type;
      if (type == DataType::kHALF || type == DataType::kBF16)
        return "results in 16-bit floats are not supported";
      return call(request, stored...);
    };
  };
  candidate.offer = guarded(candidate.offer);
  candidate.load = guarded(candidate.load);
  return candidate;
}

// Behind the rows of a list, the one that takes whatever they refuse.
std::vector<Candidate> or_reference(std::initializer_list<Row> list) {
  std::vector<Candidate> candidates = rows(list);
  candidates.emplace_back("reference", offer_reference);
  return candidates;
}

// The order is meaning: the first that accepts is taken. Those that are timed are measured against
// those behind while a plan is built, since which is faster depends on the shape (decision 0004).
std::vector<CandidateList> make_lists() {
  const Candidate depthwise{"depthwise_convolution", offer_depthwise_convolution,
                            load_depthwise_convolution};
  const Candidate direct{"direct_convolution", offer_direct_convolution, load_direct_convolution};
  const Candidate onednn{"onednn_convolution", offer_onednn_convolution, load_onednn_convolution};
  return {
      {{LayerType::kCONVOLUTION},
       or_reference({
           // Timed, since it is no faster where memory decides.
           timed({"bfloat_convolution", offer_bfloat_convolution, load_bfloat_convolution}),
           // Timed, since with few input channels the loops behind it may be faster.
           timed({"dot_convolution", offer_dot_convolution, load_dot_convolution}),
           // oneDNN pads few output channels to a vector; timed, since that may cost less.
           timed({"few_channel_convolution", offer_few_channel_convolution}),
           // For results of one column, which oneDNN multiplies row by row.
           timed({"line_convolution", offer_line_convolution}),
           // Timed, since deep layers of few tiles read more weights than they save work.
           timed({"winograd", offer_winograd, load_winograd}),
           // Timed, since oneDNN may be faster where the tensors come from DRAM.
           timed(depthwise),
           timed({"packed_convolution", offer_packed_convolution, load_packed_convolution}),
           timed(direct),
           and_16bit(onednn),
           and_16bit({"convolution", offer_convolution}),
       })},
      {{layer_type(PrivateLayer::kSeparableConvolution)},
       or_reference({
           timed(
               {"separable_convolution", offer_separable_convolution, load_separable_convolution}),
           timed(one_after_the_other("depthwise_then_direct", depthwise, direct)),
           timed(one_after_the_other("depthwise_then_onednn", depthwise, onednn)),
           one_after_the_other("onednn_then_onednn", onednn, onednn),
       })},
      {{LayerType::kDECONVOLUTION},
       or_reference({
           timed({"direct_deconvolution", offer_direct_deconvolution, load_direct_deconvolution}),
           and_16bit(timed({"deconvolution", offer_deconvolution, load_deconvolution})),
           and_16bit(
               {"onednn_deconvolution", offer_onednn_deconvolution, load_onednn_deconvolution}),
       })},
      {{LayerType::kMATRIX_MULTIPLY},
       or_reference({
           // Not timed: that they take less memory is why they were quantized.
           Candidate{"quantized_matrix_multiply", offer_quantized_matrix_multiply,
                     load_quantized_matrix_multiply},
           // These of few rows less fast.
           timed({"bfloat_matrix_multiply", offer_bfloat_matrix_multiply,
                  load_bfloat_matrix_multiply}),
           and_16bit(timed({"direct_matrix_multiply", offer_direct_matrix_multiply,
                            load_direct_matrix_multiply})),
           and_16bit({"onednn_matrix_multiply", offer_onednn_matrix_multiply,
                      load_onednn_matrix_multiply}),
       })},
      {{layer_type(PrivateLayer::kFullyConnected)},
       or_reference({and_16bit({"onednn_fully_connected", offer_onednn_fully_connected,
                                load_onednn_fully_connected})})},
      {{LayerType::kPOOLING},
       or_reference({
           and_16bit({"maximum_pooling", offer_maximum_pooling}),
           and_16bit({"onednn_pooling", offer_onednn_pooling}),
       })},
      {{LayerType::kSOFTMAX}, or_reference({and_16bit({"softmax", offer_softmax})})},
      {{layer_type(PrivateLayer::kQuantizedConvolution)},
       or_reference({
           // As winograd.
           no_16bit(timed({"integer_winograd", offer_integer_winograd, load_integer_winograd})),
           no_16bit({"integer_convolution", offer_integer_convolution, load_integer_convolution}),
           no_16bit({"integer_depthwise", offer_integer_depthwise, load_integer_depthwise}),
           no_16bit({"onednn_integer_convolution", offer_onednn_integer_convolution,
                     load_onednn_integer_convolution}),
       })},
      {{layer_type(PrivateLayer::kQuantizedMatrixMultiply)},
       or_reference({
           no_16bit({"integer_matrix_multiply", offer_integer_matrix_multiply,
                     load_integer_matrix_multiply}),
           no_16bit({"onednn_integer_matrix_multiply", offer_onednn_integer_matrix_multiply,
                     load_onednn_integer_matrix_multiply}),
       })},
      {{layer_type(PrivateLayer::kPointwise), LayerType::kACTIVATION, LayerType::kUNARY,
        LayerType::kELEMENTWISE, LayerType::kSCALE},
       or_reference({
           and_16bit({"pointwise", offer_pointwise, load_pointwise}),
           Candidate{"typed_pointwise", offer_typed_pointwise},
       })},
      {{layer_type(PrivateLayer::kBytePointwise)},
       or_reference({Candidate{"byte_pointwise", offer_byte_pointwise}})},
      {{LayerType::kREDUCE},
       or_reference({
           and_16bit({"spatial_mean", offer_spatial_mean}),
           and_16bit({"reduce", offer_reduce}),
       })},
      {{LayerType::kATTENTION_OUTPUT},
       or_reference({
           // Timed, since only AMX is much faster in it.
           timed({"bfloat_attention", offer_bfloat_attention, load_bfloat_attention}),
           and_16bit({"attention", offer_attention}),
       })},
      {{LayerType::kNORMALIZATION},
       or_reference({and_16bit({"normalization", offer_normalization})})},
      {{LayerType::kRESIZE}, or_reference({and_16bit({"resize", offer_resize, load_resize})})},
      {{LayerType::kGRID_SAMPLE}, or_reference({and_16bit({"grid_sample", offer_grid_sample})})},
      {{layer_type(PrivateLayer::kRoiAlign)},
       or_reference({and_16bit({"roi_align", offer_roi_align})})},
      {{layer_type(PrivateLayer::kDeformableConvolution)},
       or_reference({and_16bit({"deformable_convolution", offer_deformable_convolution})})},
      {{layer_type(PrivateLayer::kRecurrent)},
       or_reference({Candidate{"recurrent", offer_recurrent, load_recurrent}})},
      {{LayerType::kCONCATENATION},
       or_reference({Candidate{"concatenation", offer_concatenation, load_concatenation}})},
      {{LayerType::kSHUFFLE}, or_reference({Candidate{"shuffle", offer_shuffle}})},
      {{LayerType::kSLICE}, or_reference({Candidate{"slice", offer_slice, load_slice}})},
      {{LayerType::kGATHER}, or_reference({Candidate{"gather", offer_gather}})},
      {{LayerType::kSCATTER}, or_reference({Candidate{"scatter", offer_scatter}})},
      {{LayerType::kNMS}, or_reference({Candidate{"nms", offer_nms}})},
      {{LayerType::kSELECT}, or_reference({Candidate{"select", offer_select}})},
      {{LayerType::kQUANTIZE, LayerType::kDEQUANTIZE},
       or_reference({Candidate{"quantize", offer_quantize, load_quantize}})},
      // Whose reference knows no layouts.
      {{layer_type(PrivateLayer::kReorder)},
       rows({
           timed({"onednn_reorder", offer_onednn_reorder}),
           Candidate{"reorder", offer_reorder},
       })},
      {{LayerType::kPLUGIN, LayerType::kPLUGIN_V2, LayerType::kPLUGIN_V3},
       rows({Candidate{"plugin", offer_plugin, load_plugin}})},
  };
}

}  // namespace

const CandidateTable& candidate_table() {
  static const auto& table =
      *new CandidateTable(make_lists(), or_reference({}));  // never destroyed
  return table;
}

}  // namespace tenon::cpu
