#include "compare/cut.h"

#include <tenon/printable.h>

#include "compare/network_graph.h"
#include "compare/tensor_error.h"

namespace tenon::compare {
std::string cut_name(const std::string& tensor) {
  return tensor + " (given)";
}

session::Result<std::vector<std::string>> cut(nvinfer1::INetworkDefinition& network,
                                              const session::Shapes& tensors) {
  const NetworkGraph graph(network);
  std::vector<std::string> done;
  for (const auto& [name, shape] : tensors) {
    nvinfer1::ITensor* const tensor = graph.find(name);
    if (tensor == nullptr || graph.producer(name) == nullptr || !is_float(tensor->getType())
        || tensor->isShapeTensor())
      continue;
    const auto failure = [&] {
      return session::Error{"the network cannot be cut at tensor '" + printable(name) + "'"};
    };
    if (!graph.uses(name).empty()) {
      const auto dims = session::to_dims(shape);
      if (!dims) return session::Error{dims.error()};
      nvinfer1::ITensor* const given =
          network.addInput(cut_name(name).c_str(), tensor->getType(), *dims);
      if (given == nullptr) return failure();
      for (const NetworkGraph::Use& use : graph.uses(name)) use.layer->setInput(use.input, *given);
    }
    if (!tensor->isNetworkOutput()) network.markOutput(*tensor);
    done.push_back(name);
  }
  return done;
}

}  // namespace tenon::compare
