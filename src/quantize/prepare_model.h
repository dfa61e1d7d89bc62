// Models made ready for int8: the same function, by weights and tensors that lose less.
#pragma once

#include <span>
#include <string>

#include "base/dtype.h"
#include "base/log.h"
#include "quantize/channel_values.h"

namespace tenon {

struct PrepareModelOptions {
  Log log;
  bool equalizes = false;           ///< by equalize()
  DataType type = DataType::kINT8;  ///< of quantize_model(), which wants opset 19 for kFP8
};

/// The model in a file, of opset 13 if it was of 11 or 12, and for fp8 of 19 if it was of an
/// earlier one, where edit::convert_opset() can raise it; with its nodes named, without nodes that
/// change nothing, and with what scales convolutions in their weights, as
/// edit::fold_into_weights() does; and equalized if that is asked for. Weights in files of their
/// own come into the model. Throws Error for what is no model and for a result above 2 GiB.
std::string prepare_model(const std::string& path, const PrepareModelOptions& options);

/// The model after smooth(). Throws Error likewise, and for an alpha outside 0 to 1.
std::string smooth_model(std::span<const std::byte> model, const ChannelValues& largest,
                         float alpha, const Log& log);

}  // namespace tenon
