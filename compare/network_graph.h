// Who makes and who reads the tensors of a network.
#ifndef TENON_COMPARE_NETWORK_GRAPH_H
#define TENON_COMPARE_NETWORK_GRAPH_H

#include <NvInfer.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenon::compare {

/// A view of a network, which outlives it and is not changed meanwhile. Tensors go by their names.
class NetworkGraph {
 public:
  explicit NetworkGraph(nvinfer1::INetworkDefinition& network);

  /// A use of a tensor: layer->getInput(input).
  struct Use {
    nvinfer1::ILayer* layer;
    int32_t input;
  };

  /// Null if there is no such tensor.
  nvinfer1::ITensor* find(const std::string& tensor) const;
  /// Null for inputs of the network.
  nvinfer1::ILayer* producer(const std::string& tensor) const;
  /// The position of a layer in the network's order.
  int32_t position(const nvinfer1::ILayer& layer) const { return positions_.at(&layer); }
  const std::vector<Use>& uses(const std::string& tensor) const;

  /// The layers between a tensor and the `given` ones that it is computed from, in the network's
  /// order.
  struct Piece {
    std::vector<nvinfer1::ILayer*> layers;
    std::set<std::string> inputs;  ///< of `given`, and inputs of the network
  };
  Piece piece(const std::string& tensor, const std::set<std::string>& given) const;

 private:
  struct Tensor {
    nvinfer1::ITensor* tensor = nullptr;
    nvinfer1::ILayer* producer = nullptr;
    std::vector<Use> uses;
  };
  std::map<std::string, Tensor> tensors_;
  std::map<const nvinfer1::ILayer*, int32_t> positions_;
};

}  // namespace tenon::compare

#endif  // TENON_COMPARE_NETWORK_GRAPH_H
