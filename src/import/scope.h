// The names that are visible in a graph, or in the body of a function.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/bodies.h"
#include "import/graph_io.h"
#include "import/sequence.h"

namespace tenon {

struct Producer {
  const onnx::NodeProto* node = nullptr;
  int index = 0;
};

struct Scope {
  ImportState* state = nullptr;          // of the network that layers go to
  WeightSource* weights = nullptr;       // makes weights of initializers
  Scope* outer = nullptr;                // around the graph of a node; its names are visible too
  Body* body = nullptr;                  // the network is one of its own
  NodeList* nodes = nullptr;             // those of the graph
  std::function<void()> import_current;  // imports the node that nodes->next() gave
  bool is_model = false;                 // what the graph makes leaves the network
  int branches = 0;  // alternatives that go on separately and of which it is one
  int depth = 0;     // graphs around this one
  std::unordered_map<std::string, Item> items;
  std::unordered_map<std::string, onnx::TensorProto*> initializers;
  std::unordered_map<std::string_view, Producer> producers;  // of tensors that are made later on
  // Outputs that are not supported, and why; an error only where one is used.
  std::unordered_map<std::string, std::string> missing_outputs;
  std::unordered_map<const Value*, Value*> captures;  // outer value -> input of the body
  int64_t opset = 0;                            // of the standard domain, 0 when there is none
  std::map<std::string, int64_t> other_opsets;  // of the other domains
  std::string prefix;                           // of node names
  std::vector<std::string> functions;           // around the nodes, outermost first

  void set_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);
  /// The version of the node's domain. Models that forget to name another domain mean the first.
  int64_t opset_of(const onnx::NodeProto& node) const;
  /// What a name stands for: initializers become weights, what lies around a body its inputs. Null
  /// when the node that makes it has failed. Throws when there is no such name.
  Item find(const std::string& name);
  /// A value, or the elements of a sequence, of the network around a body, as the body sees it.
  Item captured(const Item& around);

 private:
  std::optional<Item> find_here_or_around(const std::string& name);
  Value& capture(Value& around);
  Value& captured_value(Value& around);
};

/// `base`, with a number where an input of the network has that name.
std::string unused_input_name(const Network& network, const std::string& base);

}  // namespace tenon
