// Graphs inside nodes: the bodies of If, Loop and Scan.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "import/node_list.h"
#include "import/sequence.h"
#include "onnx_model/model.h"

namespace tenon {

struct Scope;

/// An input of a body that the node gives, in the order of the graph's inputs: a tensor, or a
/// sequence of tensors around the body, which the body captures.
struct BodyInput {
  DataType type = DataType::kFLOAT;
  Shape declared;  // -1 for extents known only at run time
  std::array<std::string, Shape::kMaxRank> dimension_names;
  std::optional<Sequence> sequence = std::nullopt;
  bool is_vector = false;  // the graph sees the scalar as a tensor of one dimension
};

/// A graph imported as a network of its own.
struct Body {
  std::shared_ptr<Network> network;
  std::shared_ptr<ImportState> state;
  std::vector<Item> inputs;      // of the graph, in `network`
  std::vector<Item> outputs;     // likewise; not marked as outputs yet
  std::vector<Value*> captured;  // what the body reads from around it; its last inputs
  std::shared_ptr<Scope> scope;  // the names in it
};

/// Imports the graphs of one node.
class BodyImporter {
 public:
  virtual ~BodyImporter() = default;
  /// `graph` is used up. The network's inputs are `own` (which the graph does not name), `inputs`
  /// (which it does), then what `captured` lists and the graph reads besides.
  virtual Body import_body(onnx::GraphProto& graph, std::span<const BodyInput> own,
                           std::span<const BodyInput> inputs,
                           const std::vector<Value*>& captured) = 0;
  /// The graph becomes layers of the network that the node is in, where `inputs` are its inputs.
  /// Returns its outputs.
  virtual std::vector<Item> inline_body(onnx::GraphProto& graph,
                                        const std::vector<Item>& inputs) = 0;

  // A body may go on with what follows the node in its graph.
  virtual NodeList take_followers() = 0;
  /// The body reads what another of the same node captured, too.
  virtual void capture(Body& body, const std::vector<Value*>& around) = 0;
  /// The body's outputs were the node's; now they are those of `followers`.
  virtual void go_on(Body& body, NodeList followers) = 0;
  /// What `name`, an output of the followers, is behind the node.
  virtual void define(const std::string& name, Item item) = 0;
  /// True where what the graph makes leaves the network.
  virtual bool ends_model() const = 0;
  /// How many times bodies around have gone on.
  virtual int branches() const = 0;
  /// Whether the model has come to a limit of the import, so that no branch can go on.
  virtual bool is_exhausted() const = 0;
};

/// Marks `value` as the next output of a body, through a copy where it may not be one itself.
void mark_body_output(Body& body, Value& value);

}  // namespace tenon
