// How far one build of a model is from another, tensor by tensor, and which layer's doing it is.
#ifndef TENON_COMPARE_COMPARE_H
#define TENON_COMPARE_COMPARE_H

#include <tenon/session/array.h>
#include <tenon/session/error_log.h>
#include <tenon/session/model.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare/tensor_error.h"

namespace tenon::compare {

/// The error of a tensor, and what is known of the layers that make it.
struct TensorReport {
  std::string tensor;
  /// From the nearest compared tensors to it, in the network's order; none of an input.
  std::vector<std::string> layers;
  std::vector<std::string> inputs;  ///< these tensors, and inputs of the network
  /// That the build under test computes it in.
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  session::Shape shape;
  TensorError total;               ///< against the other build
  std::optional<TensorError> own;  ///< against the other build's layers on this build's inputs
  std::optional<TensorError> inherited;  ///< of the other build's layers by this build's inputs
  double step = 0;    ///< of a quantized tensor: its scale, of several the largest
  std::string cause;  ///< a sentence; empty where there is nothing to say

  /// What its own layers add, in parts of the range; all of it where that is not known apart.
  double added() const { return (own ? *own : total).of_range(); }
};

/// What was compared.
struct Report {
  std::vector<TensorReport> outputs;  ///< in the engine's order
  /// Within the network, in its order; empty unless they were asked for.
  std::vector<TensorReport> tensors;
  /// Tensors of one build that the other lacks, with the reason.
  std::vector<std::string> left_out;

  /// The first tensor whose own layers add more than `bound` parts of its range, and more than a
  /// step where it is quantized; null if none does.
  const TensorReport* first_over(double bound) const;
};

/// A model that is parsed and configured anew for each build of it. It throws nothing.
using Parse = std::function<session::Result<session::Model>()>;

/// Runs a model's build and another one on the same inputs, and compares their outputs. The outputs
/// that both have are compared by their names.
/// @param arrays what inputs get; the models have profiles that allow their shapes.
session::Result<Report> compare_outputs(nvinfer1::ICudaEngine& engine, nvinfer1::ICudaEngine& other,
                                        const session::Arrays& arrays, session::ErrorLog& log);

/// The same for all tensors within the network that the first build does not fuse away, and which
/// the other one's network has by the same name. The other model is built twice more: with all
/// of these computed, and cut into pieces that get the first build's tensors, so that an error is
/// known apart from what it inherits. All tensors of a run are held in memory, up to
/// five times.
session::Result<Report> compare_tensors(const Parse& model, const Parse& other,
                                        const session::Arrays& arrays, session::ErrorLog& log);

/// For people: the outputs and, if they are asked for, a table of the tensors.
std::string text_of(const Report& report, bool has_tensors = true);
std::string json_of(const Report& report);
/// A page of its own that shows the network as a graph in the colours of its errors. `title` says
/// what was compared.
std::string page_of(const Report& report, const std::string& title);

}  // namespace tenon::compare

#endif  // TENON_COMPARE_COMPARE_H
