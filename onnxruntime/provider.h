// The execution provider: which nodes Tenon takes, and what runs them.
#pragma once

#include <memory>
#include <string>

#include "compiled_graph.h"

namespace tenon::ort {

constexpr const char* kProviderName = "TenonExecutionProvider";

/// Groups of nodes that may each become one: those of a group are supported, and no path between
/// two of them leaves it. `inputs[i]` are the nodes before node i, which come earlier.
std::vector<std::vector<size_t>> groups_of(const std::vector<bool>& supported,
                                           const std::vector<std::vector<size_t>>& inputs);

/// The provider of a session, as ONNX Runtime calls it; OrtEp comes first.
class Provider : public OrtEp {
 public:
  Provider(const Api& api, CompileOptions options);

 private:
  static OrtStatus* get_capability(OrtEp* self, const OrtGraph* graph,
                                   OrtEpGraphSupportInfo* info) noexcept;
  static OrtStatus* compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused,
                            size_t count, OrtNodeComputeInfo** made, OrtNode** contexts) noexcept;

  const Api api_;
  const CompileOptions options_;
};

}  // namespace tenon::ort
