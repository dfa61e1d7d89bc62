#include "compare/network_graph.h"

#include <algorithm>

namespace tenon::compare {

NetworkGraph::NetworkGraph(nvinfer1::INetworkDefinition& network) {
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    tensors_[network.getInput(i)->getName()].tensor = network.getInput(i);
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    nvinfer1::ILayer* const layer = network.getLayer(i);
    positions_[layer] = i;
    for (int32_t k = 0; k < layer->getNbOutputs(); ++k) {
      Tensor& made = tensors_[layer->getOutput(k)->getName()];
      made.tensor = layer->getOutput(k);
      made.producer = layer;
    }
    for (int32_t k = 0; k < layer->getNbInputs(); ++k)
      if (const nvinfer1::ITensor* const read = layer->getInput(k))
        tensors_[read->getName()].uses.push_back({layer, k});
  }
}

nvinfer1::ITensor* NetworkGraph::find(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : found->second.tensor;
}

nvinfer1::ILayer* NetworkGraph::producer(const std::string& tensor) const {
  return tensors_.at(tensor).producer;
}

const std::vector<NetworkGraph::Use>& NetworkGraph::uses(const std::string& tensor) const {
  return tensors_.at(tensor).uses;
}

NetworkGraph::Piece NetworkGraph::piece(const std::string& tensor,
                                        const std::set<std::string>& given) const {
  Piece piece;
  std::set<nvinfer1::ILayer*> seen;
  std::vector<nvinfer1::ILayer*> open;
  const auto visit = [&](nvinfer1::ILayer* layer) {
    if (layer != nullptr && seen.insert(layer).second) open.push_back(layer);
  };
  visit(producer(tensor));
  while (!open.empty()) {
    nvinfer1::ILayer* const layer = open.back();
    open.pop_back();
    piece.layers.push_back(layer);
    for (int32_t k = 0; k < layer->getNbInputs(); ++k) {
      const nvinfer1::ITensor* const read = layer->getInput(k);
      if (read == nullptr) continue;
      if (given.contains(read->getName()) || producer(read->getName()) == nullptr)
        piece.inputs.insert(read->getName());
      else
        visit(producer(read->getName()));
    }
  }
  std::sort(piece.layers.begin(), piece.layers.end(),
            [&](const auto* a, const auto* b) { return position(*a) < position(*b); });
  return piece;
}

}  // namespace tenon::compare
