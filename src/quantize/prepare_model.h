// Models made ready for int8: the same function, by weights and tensors that lose less.
#pragma once

#include <span>
#include <string>

#include "base/log.h"
#include "quantize/channel_values.h"

namespace tenon {

struct PrepareModelOptions {
  /// Where the model came from, for messages and as the folder of external data; "" when unknown.
  std::string model_path;
  Log log;
  bool equalizes = false;  ///< by equalize()
};

/// The model of opset 13 where raise_opset() can, with its batch norms in convolutions and its
/// nodes named; and equalized if that is asked for. Weights in files of their own come into the
/// model. Throws Error for a model that cannot be imported and for a result above 2 GiB.
std::string prepare_model(std::span<const std::byte> model, const PrepareModelOptions& options);

/// The model after smooth(). Throws Error likewise, and for an alpha outside 0 to 1.
std::string smooth_model(std::span<const std::byte> model, const ChannelValues& largest,
                         float alpha, const Log& log);

}  // namespace tenon
