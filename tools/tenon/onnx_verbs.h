// What `tenon onnx` can do to a model, one row for each verb.
#pragma once

#include <tenon/onnx.h>

#include <functional>
#include <string>
#include <vector>

namespace tenon::tool {

/// A verb of the command line: "fold", "extract=images:scores".
struct OnnxVerb {
  std::string name, argument, help;  // an empty argument: it takes none; "[…]": it may have one
  /// Changes the model; returns what to print.
  std::function<std::string(edit::Model&, const std::string&)> apply;
};

const std::vector<OnnxVerb>& onnx_verbs();

/// One step of a command line.
struct OnnxStep {
  const OnnxVerb* verb = nullptr;
  std::string argument;
};
/// The step that a word means; no verb for a word that is none. Throws Failure for a verb without
/// the argument that it needs, or with one that it does not take.
OnnxStep onnx_step(const std::string& word);

}  // namespace tenon::tool
