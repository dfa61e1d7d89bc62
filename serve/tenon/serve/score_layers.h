// What scores say, as layers of a network: of classifiers, of segmentation, of text recognisers.
#ifndef TENON_SERVE_SCORE_LAYERS_H
#define TENON_SERVE_SCORE_LAYERS_H

#include <NvInfer.h>

#include <span>
#include <string>
#include <vector>

#include "tenon/serve/classification.h"
#include "tenon/serve/tensor.h"
#include "tenon/serve/text.h"

namespace tenon::serve {

// Each function puts TensorRT's layers behind an output of the network (named, or empty for the
// only one) and makes what they give its outputs in that one's place. After an error the network
// has the outputs it had. NaNs compare as the engine's TopK has it.

/// The `count` best classes of (N, classes) or (N, classes, 1, 1): class_labels (N, count) of int32
/// and class_scores (N, count), the best first.
/// @param is_logit the softmax over all classes comes first.
Result<void> append_classes(nvinfer1::INetworkDefinition& network, const std::string& output = {},
                            int32_t count = 5, bool is_logit = true) noexcept;
/// What that gives of one job, as decode_classes. An error for other tensors.
Result<std::vector<ClassScore>> classes_of(std::vector<Tensor>& outputs) noexcept;

/// The best class of each cell of (N, classes, height, width): cell_labels (N, height, width) of
/// int32.
Result<void> append_segmentation(nvinfer1::INetworkDefinition& network,
                                 const std::string& output = {}) noexcept;

/// The best class of each step of (N, steps, classes), of connectionist temporal classification:
/// step_labels (N, steps) of int32 and step_scores (N, steps). Numbers of steps may be dynamic.
/// @param is_logit the softmax over the classes of a step comes first.
Result<void> append_text(nvinfer1::INetworkDefinition& network, const std::string& output = {},
                         bool is_logit = false) noexcept;
/// What that gives of one job, as decode_text.
/// @param alphabet what the classes but the blank mean, in their order.
/// An error for other tensors, or a label that is none of the alphabet's.
Result<Text> text_of(std::vector<Tensor>& outputs, std::span<const std::string> alphabet,
                     int64_t blank = 0) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_SCORE_LAYERS_H
