// The CUDA target: its lists of kernels, and what it says of itself.
#include "cuda/cuda_target.h"

#include <fmt/format.h>

#include <mutex>

#include "backend/candidate_table.h"
#include "backend/targets.h"
#include "common/plugin_kernel.h"
#include "cuda/capability.h"
#include "cuda/check.h"
#include "cuda/kernels.h"
#include "cuda/quantized_execution.h"
#include "ops/bit_cast.h"
#include "ops/bitwise.h"
#include "tenon/cudart/engine.h"

namespace tenon::cuda {
namespace {

// Behind the rows of a list, the one that runs whatever they refuse on the host.
std::vector<Candidate> or_host(std::vector<Candidate> candidates) {
  candidates.emplace_back("host", offer_host);
  return candidates;
}

// The order is meaning: the first that accepts is taken. Those that are timed are measured
// against those behind while a plan is built.
std::vector<CandidateList> make_lists() {
  return {
      {{LayerType::kCONVOLUTION},
       or_host({timed({"depthwise_convolution", offer_depthwise_convolution,
                       load_depthwise_convolution}),  // cuDNN's may be faster
                timed({"im2col_convolution", offer_im2col_convolution, load_im2col_convolution}),
                timed({"product_convolution", offer_product_convolution, load_product_convolution}),
                timed({"fused_product_convolution", offer_fused_product_convolution,
                       load_fused_product_convolution}),
                {"cudnn_convolution", offer_cudnn_convolution, load_cudnn_convolution},
                {"direct_convolution", offer_direct_convolution}})},
      {{LayerType::kDECONVOLUTION},
       or_host({{"cudnn_convolution", offer_cudnn_convolution, load_cudnn_convolution},
                {"direct_convolution", offer_direct_convolution}})},
      {{layer_type(PrivateLayer::kQuantizedConvolution)},
       or_host({{"quantized_gemm", offer_quantized_gemm, load_quantized_gemm},
                {"integer_depthwise", offer_integer_depthwise, load_integer_depthwise},
                {"integer_convolution", offer_integer_convolution}})},
      {{LayerType::kPOOLING}, or_host({{"pooling", offer_pooling}})},
      {{LayerType::kREDUCE},
       or_host({{"spatial_mean", offer_spatial_mean}, {"reduce", offer_reduce, load_reduce}})},
      {{layer_type(PrivateLayer::kReorder)}, {{"copy", offer_copy}, {"reorder", offer_reorder}}},
      {{LayerType::kMATRIX_MULTIPLY},
       or_host({{"cublas_matrix_multiply", offer_cublas_product, load_cublas_product}})},
      {{layer_type(PrivateLayer::kFullyConnected)},
       or_host({{"cublas_fully_connected", offer_cublas_product, load_cublas_product}})},
      {{LayerType::kEINSUM}, or_host({{"cublas_einsum", offer_cublas_einsum, load_cublas_einsum}})},
      {{layer_type(PrivateLayer::kQuantizedMatrixMultiply)},
       or_host({{"quantized_gemm", offer_quantized_gemm, load_quantized_gemm},
                {"integer_matrix_multiply", offer_integer_matrix_multiply}})},
      {{LayerType::kATTENTION_OUTPUT},
       or_host({timed({"warpgroup_attention", offer_warpgroup_attention}),
                {"attention", offer_attention}})},
      {{LayerType::kSOFTMAX}, or_host({{"softmax", offer_softmax}})},
      {{LayerType::kRAGGED_SOFTMAX}, or_host({{"ragged_softmax", offer_ragged_softmax}})},
      {{LayerType::kNORMALIZATION}, or_host({{"normalization", offer_normalization}})},
      {{layer_type(PrivateLayer::kRecurrent)}, or_host({{"recurrent", offer_recurrent}})},
      {{layer_type(PrivateLayer::kPointwise), LayerType::kACTIVATION, LayerType::kUNARY,
        LayerType::kELEMENTWISE, LayerType::kSCALE, LayerType::kPARAMETRIC_RELU, Bitwise().kind()},
       or_host({{"pointwise", offer_pointwise, load_pointwise},
                {"integer_pointwise", offer_integer_pointwise, load_integer_pointwise}})},
      {{LayerType::kSELECT, LayerType::kCAST, LayerType::kIDENTITY, BitCast().kind()},
       or_host({{"move", offer_move, load_move}})},
      {{LayerType::kQUANTIZE, LayerType::kDEQUANTIZE},
       or_host({{"quantize_pictures", offer_quantize_pictures},
                {"quantize", offer_quantize, load_quantize}})},
      {{LayerType::kSHUFFLE}, or_host({{"shuffle", offer_shuffle}})},
      {{LayerType::kSQUEEZE, LayerType::kUNSQUEEZE}, or_host({{"same_bytes", offer_same_bytes}})},
      {{LayerType::kSLICE}, or_host({{"slice", offer_slice}})},
      {{LayerType::kPADDING}, or_host({{"padding", offer_padding}})},
      {{LayerType::kCONCATENATION},
       or_host({{"concatenation", offer_concatenation, load_concatenation}})},
      {{LayerType::kGATHER}, or_host({{"gather", offer_gather}})},
      {{LayerType::kSCATTER}, or_host({{"scatter", offer_scatter}})},
      {{layer_type(PrivateLayer::kMaxUnpool)}, or_host({{"max_unpool", offer_max_unpool}})},
      {{LayerType::kFILL}, or_host({{"fill", offer_fill}})},
      {{LayerType::kONE_HOT}, or_host({{"one_hot", offer_one_hot}})},
      {{LayerType::kTOPK}, or_host({{"top_k", offer_top_k}})},
      {{LayerType::kDYNAMIC_QUANTIZE},
       or_host({{"dynamic_quantize", offer_dynamic_quantize, load_dynamic_quantize}})},
      {{LayerType::kCUMULATIVE}, or_host({{"cumulative", offer_cumulative, load_cumulative}})},
      {{LayerType::kLRN}, or_host({{"lrn", offer_lrn, load_lrn}})},
      {{LayerType::kNON_ZERO}, or_host({{"non_zero", offer_non_zero}})},
      {{LayerType::kNMS}, or_host({{"nms", offer_nms}})},
      {{LayerType::kRESIZE}, or_host({{"resize", offer_resize, load_resize}})},
      {{LayerType::kGRID_SAMPLE}, or_host({{"grid_sample", offer_grid_sample}})},
      {{layer_type(PrivateLayer::kRoiAlign)}, or_host({{"roi_align", offer_roi_align}})},
      {{layer_type(PrivateLayer::kMaxRoiPool)}, or_host({{"max_roi_pool", offer_max_roi_pool}})},
      {{layer_type(PrivateLayer::kDeformableConvolution)},
       or_host({{"deformable_convolution", offer_deformable_convolution}})},
      {{LayerType::kREVERSE_SEQUENCE}, or_host({{"reverse_sequence", offer_reverse_sequence}})},
      {{LayerType::kKVCACHE_UPDATE}, or_host({{"cache_update", offer_cache_update}})},
      {{LayerType::kROTARY_EMBEDDING}, or_host({{"rotary_embedding", offer_rotary_embedding}})},
      {{LayerType::kPLUGIN, LayerType::kPLUGIN_V2, LayerType::kPLUGIN_V3},
       {{"plugin", offer_plugin_on_device, load_plugin_on_device},
        {"plugin_on_host", offer_host_plugin, load_host_plugin}}},
  };
}

class CudaTarget final : public Target {
 public:
  explicit CudaTarget(int device) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
    has_bfloat16_ = properties.major >= 8;
    capability_ = fmt::format("sm_{}{}", properties.major, properties.minor);
    fingerprint_ = fmt::format("cuda: {}, compute capability {}.{}", properties.name,
                               properties.major, properties.minor);
  }

  std::string_view name() const override { return "cuda"; }
  std::string fingerprint() const override { return fingerprint_; }
  std::string instruction_set() const override { return capability_; }

  std::span<const Candidate> candidates(const Op& op) const override {
    static const CandidateTable& table = *new CandidateTable(make_lists(), or_host({}));
    return table.of(op.kind());
  }

  bool fuses(const Op& op, const PointwiseProgram& epilogue) const override {
    if (op.kind() == LayerType::kCONVOLUTION || op.kind() == LayerType::kDECONVOLUTION)
      return cudnn_fuses(epilogue);
    if (op.kind() == LayerType::kMATRIX_MULTIPLY) return cublas_fuses(epilogue);
    // Their epilogue is in the op.
    if (const auto* convolution = dynamic_cast<const QuantizedConvolution*>(&op))
      return has_fast_kernel(*convolution) && quantized_epilogue(*convolution).has_value();
    if (const auto* product = dynamic_cast<const QuantizedMatrixMultiply*>(&op))
      return has_capability(8) && (!product->is_float8 || multiplies_float8())
             && quantized_epilogue(*product).has_value();
    // Pooling of bytes has none, and what normalisations take in is in the op.
    const bool runs_alone = op.kind() == LayerType::kATTENTION_OUTPUT
                            || op.kind() == LayerType::kPOOLING
                            || op.kind() == LayerType::kNORMALIZATION;
    return runs_alone && epilogue.empty();
  }

  bool is_fast_in(DataType type) const override {
    return type == DataType::kHALF || (type == DataType::kBF16 && has_bfloat16_);
  }

  const Device& device() const override { return cuda_device(); }

 private:
  std::string fingerprint_, capability_;
  bool has_bfloat16_ = false;
};

}  // namespace

const std::string& reason_for_no_gpu() {
  static const std::string reason = cudart::why_not_on_gpu();
  return reason;
}

const Target& cuda_target() {
  if (const std::string& reason = reason_for_no_gpu(); !reason.empty())
    fail(ErrorClass::kNoGpu, "the target \"cuda\" needs a GPU: {}", reason);
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  // Devices of one machine may differ. Never destroyed.
  static std::mutex mutex;
  static auto& targets = *new std::vector<std::unique_ptr<CudaTarget>>;
  const std::lock_guard lock(mutex);
  const auto index = static_cast<size_t>(device);
  if (targets.size() <= index) targets.resize(index + 1);
  if (targets[index] == nullptr) targets[index] = std::make_unique<CudaTarget>(device);
  return *targets[index];
}

TENON_REGISTER_TARGET({.name = "cuda",
                       .preference = 1,
                       .reason_for_absence =
                           [] {
                             const std::string& reason = reason_for_no_gpu();
                             return reason.empty() ? reason : "it needs a GPU: " + reason;
                           },
                       .get = cuda_target});

}  // namespace tenon::cuda
