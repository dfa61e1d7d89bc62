// The CUDA target: its lists of kernels, and what it says of itself.
#include "target/cuda/cuda_target.h"

#include <fmt/format.h>

#include <mutex>

#include "ops/bit_cast.h"
#include "ops/bitwise.h"
#include "target/cuda/check.h"
#include "target/cuda/kernels.h"
#include "target/shared/plugin_kernel.h"
#include "tenon/cudart/engine.h"

namespace tenon::cuda {
namespace {

// The order is meaning: the first that accepts is taken. Those that end in `true` are timed against
// the next while a plan is built.
constexpr Candidate kConvolution[] = {
    {"depthwise_convolution", offer_depthwise_convolution, true},  // cuDNN's may be quicker
    {"patch_convolution", offer_patch_convolution, true},
    {"product_convolution", offer_product_convolution, true},
    {"fused_product_convolution", offer_fused_product_convolution, true},
    {"cudnn_convolution", offer_cudnn_convolution},
    {"direct_convolution", offer_direct_convolution},
    {"host", offer_host}};
constexpr Candidate kDeconvolution[] = {{"cudnn_convolution", offer_cudnn_convolution},
                                        {"direct_convolution", offer_direct_convolution},
                                        {"host", offer_host}};
constexpr Candidate kIntegerConvolution[] = {{"integer_convolution", offer_integer_convolution},
                                             {"host", offer_host}};
constexpr Candidate kPooling[] = {{"pooling", offer_pooling}, {"host", offer_host}};
constexpr Candidate kReduce[] = {
    {"spatial_mean", offer_spatial_mean}, {"reduce", offer_reduce}, {"host", offer_host}};
constexpr Candidate kCumulative[] = {{"cumulative", offer_cumulative}, {"host", offer_host}};
constexpr Candidate kLrn[] = {{"lrn", offer_lrn}, {"host", offer_host}};
constexpr Candidate kDynamicQuantize[] = {{"dynamic_quantize", offer_dynamic_quantize},
                                          {"host", offer_host}};
constexpr Candidate kPointwise[] = {{"pointwise", offer_pointwise},
                                    {"integer_pointwise", offer_integer_pointwise},
                                    {"host", offer_host}};
constexpr Candidate kMove[] = {{"move", offer_move}, {"host", offer_host}};
constexpr Candidate kQuantize[] = {{"quantize", offer_quantize}, {"host", offer_host}};
constexpr Candidate kReorder[] = {{"copy", offer_copy}, {"reorder", offer_reorder}};
constexpr Candidate kPlugin[] = {{"plugin", offer_plugin_on_device},
                                 {"plugin_on_host", offer_host_plugin}};
constexpr Candidate kMatrixMultiply[] = {{"cublas_matrix_multiply", offer_cublas_product},
                                         {"host", offer_host}};
constexpr Candidate kFullyConnected[] = {{"cublas_fully_connected", offer_cublas_product},
                                         {"host", offer_host}};
constexpr Candidate kEinsum[] = {{"cublas_einsum", offer_cublas_einsum}, {"host", offer_host}};
constexpr Candidate kIntegerMatrixMultiply[] = {
    {"integer_matrix_multiply", offer_integer_matrix_multiply}, {"host", offer_host}};
constexpr Candidate kAttention[] = {{"attention", offer_attention}, {"host", offer_host}};
constexpr Candidate kSoftmax[] = {{"softmax", offer_softmax}, {"host", offer_host}};
constexpr Candidate kRaggedSoftmax[] = {{"ragged_softmax", offer_ragged_softmax},
                                        {"host", offer_host}};
constexpr Candidate kNormalization[] = {{"normalization", offer_normalization},
                                        {"host", offer_host}};
constexpr Candidate kRecurrent[] = {{"recurrent", offer_recurrent}, {"host", offer_host}};
constexpr Candidate kShuffle[] = {{"shuffle", offer_shuffle}, {"host", offer_host}};
constexpr Candidate kSameBytes[] = {{"same_bytes", offer_same_bytes}, {"host", offer_host}};
constexpr Candidate kSlice[] = {{"slice", offer_slice}, {"host", offer_host}};
constexpr Candidate kPadding[] = {{"padding", offer_padding}, {"host", offer_host}};
constexpr Candidate kConcatenation[] = {{"concatenation", offer_concatenation},
                                        {"host", offer_host}};
constexpr Candidate kGather[] = {{"gather", offer_gather}, {"host", offer_host}};
constexpr Candidate kScatter[] = {{"scatter", offer_scatter}, {"host", offer_host}};
constexpr Candidate kMaxUnpool[] = {{"max_unpool", offer_max_unpool}, {"host", offer_host}};
constexpr Candidate kFill[] = {{"fill", offer_fill}, {"host", offer_host}};
constexpr Candidate kOneHot[] = {{"one_hot", offer_one_hot}, {"host", offer_host}};
constexpr Candidate kTopK[] = {{"top_k", offer_top_k}, {"host", offer_host}};
constexpr Candidate kNonZero[] = {{"non_zero", offer_non_zero}, {"host", offer_host}};
constexpr Candidate kNms[] = {{"nms", offer_nms}, {"host", offer_host}};
constexpr Candidate kResize[] = {{"resize", offer_resize}, {"host", offer_host}};
constexpr Candidate kGridSample[] = {{"grid_sample", offer_grid_sample}, {"host", offer_host}};
constexpr Candidate kRoiAlign[] = {{"roi_align", offer_roi_align}, {"host", offer_host}};
constexpr Candidate kMaxRoiPool[] = {{"max_roi_pool", offer_max_roi_pool}, {"host", offer_host}};
constexpr Candidate kDeformableConvolution[] = {
    {"deformable_convolution", offer_deformable_convolution}, {"host", offer_host}};
constexpr Candidate kReverseSequence[] = {{"reverse_sequence", offer_reverse_sequence},
                                          {"host", offer_host}};
constexpr Candidate kCacheUpdate[] = {{"cache_update", offer_cache_update}, {"host", offer_host}};
constexpr Candidate kRotaryEmbedding[] = {{"rotary_embedding", offer_rotary_embedding},
                                          {"host", offer_host}};
constexpr Candidate kOthers[] = {{"host", offer_host}};

struct Row {
  LayerType kind;
  std::span<const Candidate> candidates;
};

const Row kLists[] = {
    {LayerType::kCONVOLUTION, kConvolution},
    {LayerType::kDECONVOLUTION, kDeconvolution},
    {layer_type(PrivateLayer::kIntegerConvolution), kIntegerConvolution},
    {LayerType::kPOOLING, kPooling},
    {LayerType::kREDUCE, kReduce},
    {layer_type(PrivateLayer::kReorder), kReorder},
    {LayerType::kMATRIX_MULTIPLY, kMatrixMultiply},
    {layer_type(PrivateLayer::kFullyConnected), kFullyConnected},
    {LayerType::kEINSUM, kEinsum},
    {layer_type(PrivateLayer::kIntegerMatrixMultiply), kIntegerMatrixMultiply},
    {LayerType::kATTENTION_OUTPUT, kAttention},
    {LayerType::kSOFTMAX, kSoftmax},
    {LayerType::kRAGGED_SOFTMAX, kRaggedSoftmax},
    {LayerType::kNORMALIZATION, kNormalization},
    {layer_type(PrivateLayer::kRecurrent), kRecurrent},
    {layer_type(PrivateLayer::kPointwise), kPointwise},
    {LayerType::kACTIVATION, kPointwise},
    {LayerType::kUNARY, kPointwise},
    {LayerType::kELEMENTWISE, kPointwise},
    {LayerType::kSCALE, kPointwise},
    {LayerType::kPARAMETRIC_RELU, kPointwise},
    {Bitwise().kind(), kPointwise},
    {LayerType::kSELECT, kMove},
    {LayerType::kCAST, kMove},
    {LayerType::kIDENTITY, kMove},
    {BitCast().kind(), kMove},
    {LayerType::kQUANTIZE, kQuantize},
    {LayerType::kDEQUANTIZE, kQuantize},
    {LayerType::kSHUFFLE, kShuffle},
    {LayerType::kSQUEEZE, kSameBytes},
    {LayerType::kUNSQUEEZE, kSameBytes},
    {LayerType::kSLICE, kSlice},
    {LayerType::kPADDING, kPadding},
    {LayerType::kCONCATENATION, kConcatenation},
    {LayerType::kGATHER, kGather},
    {LayerType::kSCATTER, kScatter},
    {layer_type(PrivateLayer::kMaxUnpool), kMaxUnpool},
    {LayerType::kFILL, kFill},
    {LayerType::kONE_HOT, kOneHot},
    {LayerType::kTOPK, kTopK},
    {LayerType::kDYNAMIC_QUANTIZE, kDynamicQuantize},
    {LayerType::kCUMULATIVE, kCumulative},
    {LayerType::kLRN, kLrn},
    {LayerType::kNON_ZERO, kNonZero},
    {LayerType::kNMS, kNms},
    {LayerType::kRESIZE, kResize},
    {LayerType::kGRID_SAMPLE, kGridSample},
    {layer_type(PrivateLayer::kRoiAlign), kRoiAlign},
    {layer_type(PrivateLayer::kMaxRoiPool), kMaxRoiPool},
    {layer_type(PrivateLayer::kDeformableConvolution), kDeformableConvolution},
    {LayerType::kREVERSE_SEQUENCE, kReverseSequence},
    {LayerType::kKVCACHE_UPDATE, kCacheUpdate},
    {LayerType::kROTARY_EMBEDDING, kRotaryEmbedding},
    {LayerType::kPLUGIN, kPlugin},
    {LayerType::kPLUGIN_V2, kPlugin},
    {LayerType::kPLUGIN_V3, kPlugin},
};

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
    for (const Row& row : kLists)
      if (row.kind == op.kind()) return row.candidates;
    return kOthers;
  }

  bool fuses(const Op& op, const PointwiseProgram& epilogue) const override {
    if (op.kind() == LayerType::kCONVOLUTION || op.kind() == LayerType::kDECONVOLUTION)
      return cudnn_fuses(epilogue);
    if (op.kind() == LayerType::kMATRIX_MULTIPLY) return cublas_fuses(epilogue);
    const bool alone = op.kind() == layer_type(PrivateLayer::kIntegerMatrixMultiply)
                       || op.kind() == LayerType::kATTENTION_OUTPUT;
    return alone && epilogue.empty();
  }

  bool is_quick_in(DataType type) const override {
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
    fail(ErrorCode::kFAILED_INITIALIZATION, "the target \"cuda\" needs a GPU: {}", reason);
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

}  // namespace tenon::cuda
