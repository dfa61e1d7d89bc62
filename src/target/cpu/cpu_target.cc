// The CPU target: its lists of kernels, and what it says of itself.
#include <fmt/format.h>

#include <fstream>

#include "base/parallel.h"
#include "target/cpu/blocked_epilogue.h"
#include "target/cpu/convolution/two_convolutions.h"
#include "target/cpu/kernels.h"
#include "target/cpu/simd/byte_product.h"
#include "target/cpu/simd/kernels.h"
#include "target/cpu/widened.h"
#include "target/shared/plugin_kernel.h"
#include "target/target.h"

namespace tenon {
namespace {

using namespace cpu;

// The order is meaning: the first that accepts is taken. Those that end in `true` are timed against
// the next while a plan is built, since which is quicker depends on the shape (decision 0004).
#ifdef TENON_ONEDNN
constexpr Candidate kConvolution[] = {
    {"dot_convolution", offer_dot_convolution, true},        // of few channels less quick
    {"narrow_convolution", offer_narrow_convolution, true},  // oneDNN fills maps up to a vector
    {"line_convolution", offer_line_convolution, true},      // oneDNN multiplies row by row
    {"winograd", offer_winograd, true},  // deep layers of few tiles read many weights
    {"depthwise_convolution", offer_depthwise_convolution, true},  // less gain from far memory
    {"packed_convolution", offer_packed_convolution, true},        // the same
    {"direct_convolution", offer_direct_convolution, true},        // the same
    {"onednn_convolution", offer_onednn_convolution},
    {"convolution", offer_convolution},
    {"onednn_convolution_16bit", widened<offer_onednn_convolution>},
    {"convolution_16bit", widened<offer_convolution>},
    {"reference", offer_reference}};
constexpr Candidate kSeparableConvolution[] = {
    {"separable_convolution", offer_separable_convolution, true},
    {"depthwise_then_direct",
     one_after_the_other<offer_depthwise_convolution, offer_direct_convolution>, true},
    {"depthwise_then_onednn",
     one_after_the_other<offer_depthwise_convolution, offer_onednn_convolution>, true},
    {"onednn_then_onednn", one_after_the_other<offer_onednn_convolution, offer_onednn_convolution>},
    {"reference", offer_reference}};
constexpr Candidate kDeconvolution[] = {
    {"direct_deconvolution", offer_direct_deconvolution, true},
    {"deconvolution", offer_deconvolution, true},
    {"onednn_deconvolution", offer_onednn_deconvolution},
    {"deconvolution_16bit", widened<offer_deconvolution>},
    {"onednn_deconvolution_16bit", widened<offer_onednn_deconvolution>},
    {"reference", offer_reference}};
constexpr Candidate kMatrixMultiply[] = {
    {"direct_matrix_multiply", offer_direct_matrix_multiply, true},  // of few rows less quick
    {"onednn_matrix_multiply", offer_onednn_matrix_multiply},
    {"onednn_matrix_multiply_16bit", widened<offer_onednn_matrix_multiply>},
    {"reference", offer_reference}};
constexpr Candidate kFullyConnected[] = {
    {"onednn_fully_connected", offer_onednn_fully_connected},
    {"onednn_fully_connected_16bit", widened<offer_onednn_fully_connected>},
    {"reference", offer_reference}};
constexpr Candidate kPooling[] = {{"onednn_pooling", offer_onednn_pooling},
                                  {"onednn_pooling_16bit", widened<offer_onednn_pooling>},
                                  {"reference", offer_reference}};
constexpr Candidate kSoftmax[] = {{"softmax", offer_softmax, true},
                                  {"onednn_softmax", offer_onednn_softmax},
                                  {"softmax_16bit", widened<offer_softmax>},
                                  {"onednn_softmax_16bit", widened<offer_onednn_softmax>},
                                  {"reference", offer_reference}};
constexpr Candidate kReorder[] = {{"onednn_reorder", offer_onednn_reorder, true},
                                  {"reorder", offer_reorder}};
#else
constexpr Candidate kConvolution[] = {{"dot_convolution", offer_dot_convolution, true},
                                      {"narrow_convolution", offer_narrow_convolution, true},
                                      {"winograd", offer_winograd, true},
                                      {"depthwise_convolution", offer_depthwise_convolution},
                                      {"packed_convolution", offer_packed_convolution, true},
                                      {"direct_convolution", offer_direct_convolution, true},
                                      {"convolution", offer_convolution},
                                      {"convolution_16bit", widened<offer_convolution>},
                                      {"reference", offer_reference}};
constexpr Candidate kSeparableConvolution[] = {
    {"separable_convolution", offer_separable_convolution, true},
    {"depthwise_then_direct",
     one_after_the_other<offer_depthwise_convolution, offer_direct_convolution>},
    {"reference", offer_reference}};
constexpr Candidate kDeconvolution[] = {{"direct_deconvolution", offer_direct_deconvolution},
                                        {"deconvolution", offer_deconvolution},
                                        {"deconvolution_16bit", widened<offer_deconvolution>},
                                        {"reference", offer_reference}};
constexpr Candidate kMatrixMultiply[] = {
    {"direct_matrix_multiply", offer_direct_matrix_multiply},
    {"direct_matrix_multiply_16bit", widened<offer_direct_matrix_multiply>},
    {"reference", offer_reference}};
constexpr Candidate kSoftmax[] = {{"softmax", offer_softmax},
                                  {"softmax_16bit", widened<offer_softmax>},
                                  {"reference", offer_reference}};
constexpr Candidate kReorder[] = {{"reorder", offer_reorder}};
#endif
constexpr Candidate kIntegerConvolution[] = {
    {"integer_winograd", offer_integer_winograd, true},  // as winograd
    {"integer_convolution", offer_integer_convolution},
#ifdef TENON_ONEDNN
    {"onednn_integer_convolution", offer_onednn_integer_convolution},
#endif
    {"reference", offer_reference}};
constexpr Candidate kIntegerMatrixMultiply[] = {
    {"integer_matrix_multiply", offer_integer_matrix_multiply},
#ifdef TENON_ONEDNN
    {"onednn_integer_matrix_multiply", offer_onednn_integer_matrix_multiply},
#endif
    {"reference", offer_reference}};
constexpr Candidate kPointwise[] = {{"pointwise", offer_pointwise},
                                    {"pointwise_16bit", widened<offer_pointwise>},
                                    {"typed_pointwise", offer_typed_pointwise},
                                    {"reference", offer_reference}};
constexpr Candidate kConcatenation[] = {{"concatenation", offer_concatenation},
                                        {"reference", offer_reference}};
constexpr Candidate kReduce[] = {{"spatial_mean", offer_spatial_mean},
                                 {"spatial_mean_16bit", widened<offer_spatial_mean>},
                                 {"reduce", offer_reduce},
                                 {"reduce_16bit", widened<offer_reduce>},
                                 {"reference", offer_reference}};
constexpr Candidate kAttention[] = {{"attention", offer_attention},
                                    {"attention_16bit", widened<offer_attention>},
                                    {"reference", offer_reference}};
constexpr Candidate kRecurrent[] = {{"recurrent", offer_recurrent}, {"reference", offer_reference}};
constexpr Candidate kResize[] = {{"resize", offer_resize},
                                 {"resize_16bit", widened<offer_resize>},
                                 {"reference", offer_reference}};
constexpr Candidate kShuffle[] = {{"shuffle", offer_shuffle}, {"reference", offer_reference}};
constexpr Candidate kSlice[] = {{"slice", offer_slice}, {"reference", offer_reference}};
constexpr Candidate kGather[] = {{"gather", offer_gather}, {"reference", offer_reference}};
constexpr Candidate kScatter[] = {{"scatter", offer_scatter}, {"reference", offer_reference}};
constexpr Candidate kNms[] = {{"nms", offer_nms}, {"reference", offer_reference}};
constexpr Candidate kSelect[] = {{"select", offer_select}, {"reference", offer_reference}};
constexpr Candidate kNormalization[] = {{"normalization", offer_normalization},
                                        {"normalization_16bit", widened<offer_normalization>},
                                        {"reference", offer_reference}};
constexpr Candidate kGridSample[] = {{"grid_sample", offer_grid_sample},
                                     {"grid_sample_16bit", widened<offer_grid_sample>},
                                     {"reference", offer_reference}};
constexpr Candidate kRoiAlign[] = {{"roi_align", offer_roi_align},
                                   {"roi_align_16bit", widened<offer_roi_align>},
                                   {"reference", offer_reference}};
constexpr Candidate kDeformableConvolution[] = {
    {"deformable_convolution", offer_deformable_convolution},
    {"deformable_convolution_16bit", widened<offer_deformable_convolution>},
    {"reference", offer_reference}};
constexpr Candidate kQuantize[] = {{"quantize", offer_quantize}, {"reference", offer_reference}};
constexpr Candidate kPlugin[] = {{"plugin", offer_plugin}};
constexpr Candidate kOthers[] = {{"reference", offer_reference}};

struct Row {
  LayerType kind;
  std::span<const Candidate> candidates;
};

const Row kLists[] = {
    {LayerType::kCONVOLUTION, kConvolution},
    {layer_type(PrivateLayer::kSeparableConvolution), kSeparableConvolution},
    {LayerType::kDECONVOLUTION, kDeconvolution},
    {LayerType::kMATRIX_MULTIPLY, kMatrixMultiply},
#ifdef TENON_ONEDNN
    {layer_type(PrivateLayer::kFullyConnected), kFullyConnected},
    {LayerType::kPOOLING, kPooling},
#endif
    {layer_type(PrivateLayer::kIntegerConvolution), kIntegerConvolution},
    {layer_type(PrivateLayer::kIntegerMatrixMultiply), kIntegerMatrixMultiply},
    {LayerType::kSOFTMAX, kSoftmax},
    {layer_type(PrivateLayer::kReorder), kReorder},
    {layer_type(PrivateLayer::kPointwise), kPointwise},
    {LayerType::kACTIVATION, kPointwise},
    {LayerType::kUNARY, kPointwise},
    {LayerType::kELEMENTWISE, kPointwise},
    {LayerType::kSCALE, kPointwise},
    {LayerType::kCONCATENATION, kConcatenation},
    {LayerType::kREDUCE, kReduce},
    {LayerType::kQUANTIZE, kQuantize},
    {LayerType::kDEQUANTIZE, kQuantize},
    {layer_type(PrivateLayer::kRecurrent), kRecurrent},
    {LayerType::kATTENTION_OUTPUT, kAttention},
    {LayerType::kRESIZE, kResize},
    {LayerType::kSHUFFLE, kShuffle},
    {LayerType::kSLICE, kSlice},
    {LayerType::kGATHER, kGather},
    {LayerType::kSCATTER, kScatter},
    {LayerType::kNMS, kNms},
    {LayerType::kSELECT, kSelect},
    {LayerType::kNORMALIZATION, kNormalization},
    {LayerType::kGRID_SAMPLE, kGridSample},
    {layer_type(PrivateLayer::kRoiAlign), kRoiAlign},
    {layer_type(PrivateLayer::kDeformableConvolution), kDeformableConvolution},
    {LayerType::kPLUGIN, kPlugin},
    {LayerType::kPLUGIN_V2, kPlugin},
    {LayerType::kPLUGIN_V3, kPlugin},
};

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

class CpuTarget final : public Target {
 public:
  std::string_view name() const override { return "cpu"; }

  std::string fingerprint() const override {
    return fmt::format("{}{} threads", machine(), thread_count());
  }
  bool is_this_machine(std::string_view other) const override {
    return other.starts_with(machine());
  }

  std::string instruction_set() const override {
#ifdef TENON_ONEDNN
    return onednn_instruction_set();
#else
    return simd_kernels().instruction_set;
#endif
  }

  // Kernels that cannot take weights as another machine packed them say so when they are loaded.
  bool loads(std::string_view) const override { return true; }

  std::span<const Candidate> candidates(const Op& op) const override {
    for (const Row& row : kLists)
      if (row.kind == op.kind()) return row.candidates;
    return kOthers;
  }

  bool fuses(const Op& op, const PointwiseProgram& epilogue) const override {
    if (op.kind() == LayerType::kATTENTION_OUTPUT) return epilogue.empty();
    if (const auto* separable = dynamic_cast<const SeparableConvolution*>(&op))
      return epilogue.empty() && bounds_of(separable->depthwise.epilogue).has_value();
    if (const auto* convolution = dynamic_cast<const IntegerConvolution*>(&op))
      return epilogue.empty() && multiplies(*convolution);
    if (op.kind() == layer_type(PrivateLayer::kIntegerMatrixMultiply))
      return epilogue.empty() && byte_product_kernels() != nullptr;
#ifdef TENON_ONEDNN
    if (op.kind() == LayerType::kPOOLING) return epilogue.empty();  // also of bytes
    const bool takes_epilogues = op.kind() == LayerType::kCONVOLUTION
                                 || op.kind() == LayerType::kDECONVOLUTION
                                 || op.kind() == LayerType::kMATRIX_MULTIPLY;
    return takes_epilogues && onednn_fuses(epilogue);
#else
    return false;
#endif
  }

 private:
  // Whether there is a quick kernel. oneDNN has no sums.
  static bool multiplies(const IntegerConvolution& convolution) {
#ifdef TENON_ONEDNN
    if (!convolution.sum.used && onednn_multiplies_integers()) return true;
#endif
    return convolves_integers(convolution);
  }

  std::string machine() const {
    static const std::string model = processor_model();
    return fmt::format("cpu: {}, {}, ", model, instruction_set());
  }
};

}  // namespace

const Target& cpu_target() {
  static const auto& target = *new CpuTarget;  // never destroyed
  return target;
}

}  // namespace tenon
