// ONNX models edited in memory: read, changed, checked, undone, saved, without protobuf.
//
//   auto model = tenon::edit::Model::load("detector.onnx");
//   tenon::edit::set_extent(model, "images", 0, {.name = "batch"});
//   tenon::edit::fold_constants(model);
//   model.save("detector_dynamic.onnx");
//
// All functions throw CodedError (tenon/error_codes.h) with one sentence that says what, where, and
// what to do; the model is then as it was before the call. What no edit touches keeps its bytes, so
// that loading and saving gives the same file, and so does undoing.
#ifndef TENON_ONNX_H
#define TENON_ONNX_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#define TENON_EDIT __attribute__((visibility("default")))

namespace tenon::edit {

class Store;

/// An extent of a shape: a number from 0 on, or a name, or (-1 and "") unknown.
struct Extent {
  int64_t value = -1;
  std::string name;
  bool is_known() const { return value >= 0; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Element type, by ONNX's number (1 is float32, 7 int64), and shape.
struct TensorType {
  int32_t element = 0;
  bool has_shape = false;
  std::vector<Extent> shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// An input, output or inner tensor. No type: a sequence, or not known.
struct Value {
  std::string name;
  std::optional<TensorType> type;
};

/// The elements of a tensor, rows first, as ONNX's raw_data has them.
struct TensorValue {
  int32_t type = 1;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// An attribute of another kind, as a serialized AttributeProto: a graph, say.
struct OtherAttribute {
  std::string bytes;
};
using AttributeValue = std::variant<int64_t, float, std::string, TensorValue, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>, OtherAttribute>;

/// What a node is; changing this changes no model.
struct Node {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;  // "" for one left out
  std::vector<std::pair<std::string, AttributeValue>> attributes;
};

/// Names a node of one model for as long as the model lives, also after it was removed.
struct NodeId {
  uint32_t number = UINT32_MAX;
  explicit operator bool() const { return number != UINT32_MAX; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};
/// Names the main graph, a graph inside a node, or a function.
struct GraphId {
  uint32_t number = UINT32_MAX;
  friend auto operator<=>(const GraphId&, const GraphId&) = default;
};

enum class ExternalData {
  /// As it is in the model; a model for another folder takes its data along, and one that has
  /// become
  /// larger than a file may be puts its tensors beside.
  kAsIs,
  kInside,  ///< all in the model, which then ends at 2 GiB
  kBeside,  ///< tensors of `threshold` bytes and more in one file beside the model
};
struct SaveOptions {
  ExternalData external = ExternalData::kAsIs;
  size_t threshold = 1024;
  std::string location;  ///< name of the file beside the model; default: the model's and ".data"
};

/// A model. Movable; one thread at a time.
class TENON_EDIT Model {
 public:
  /// Maps the file; external data stays in its files until it is needed.
  static Model load(const std::string& path);
  /// @param path where the bytes came from: the folder of external data.
  static Model parse(std::string bytes, const std::string& path = "");
  /// A model whose graph is empty, to be filled. Its IR version is that of ONNX's release with the
  /// opset (of the standard domain), 8 at least.
  static Model make(int64_t opset);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Writes the file whole or not at all; big tensors go from file to file. Throws where the file
  /// beside the model is there already and is not of the model that is replaced.
  void save(const std::string& path, const SaveOptions& options = {}) const;
  /// The file as bytes; at most 2 GiB. `external`: kAsIs, or kInside.
  std::string serialize(ExternalData external = ExternalData::kAsIs) const;

  // The journal: every change goes into it.
  /// A number for undo_to() and patches: how many steps were made.
  size_t steps() const;
  void undo_to(size_t steps);
  void undo() { undo_to(0); }
  /// What changed since, a line for each part: "- " removed, "+ " inserted, "~ " changed.
  std::string patch_text(size_t since = 0) const;
  /// The same as JSON that apply_patch() does again to the next export of the same model.
  std::string patch_json(size_t since = 0) const;
  /// Throws, naming the first part that is not there or is another.
  void apply_patch(const std::string& json);

  // Reading. Lists are as things are now: the model may change while one walks over them.
  GraphId graph() const;
  std::vector<GraphId> graphs() const;
  std::string name_of(GraphId graph) const;
  std::vector<NodeId> nodes(GraphId graph) const;
  std::vector<NodeId> nodes() const { return nodes(graph()); }
  bool is_there(NodeId node) const;
  Node node(NodeId node) const;
  /// The node of that name in the main graph, or the one that gives that tensor.
  std::optional<NodeId> find_node(const std::string& name) const;
  std::optional<NodeId> producer(GraphId graph, const std::string& tensor) const;
  std::vector<NodeId> users(GraphId graph, const std::string& tensor) const;
  std::vector<Value> inputs(GraphId graph) const;
  std::vector<Value> outputs(GraphId graph) const;
  std::vector<Value> inputs() const { return inputs(graph()); }
  std::vector<Value> outputs() const { return outputs(graph()); }
  std::vector<std::string> initializers(GraphId graph) const;
  std::vector<std::string> initializers() const { return initializers(graph()); }
  /// An initializer or Constant of the main graph; none when there is none.
  std::optional<TensorValue> constant(const std::string& name) const;
  int64_t opset(const std::string& domain = "") const;
  std::map<std::string, std::string> metadata() const;

  // Changing.
  NodeId insert_node(GraphId graph, const Node& node, std::optional<NodeId> before = {});
  void replace_node(NodeId node, const Node& with);
  /// With `relink`, readers of its first output read its first input.
  void remove_node(NodeId node, bool relink = false);
  /// Every reader of one tensor, and an output of that name, reads the other.
  void replace_uses(GraphId graph, const std::string& from, const std::string& to);
  /// Changes an initializer or Constant, or adds an initializer.
  void set_constant(const std::string& name, const TensorValue& value);
  void set_inputs(const std::vector<Value>& inputs);
  void set_outputs(const std::vector<Value>& outputs);
  void set_opset(int64_t version, const std::string& domain = "");
  void set_metadata(const std::string& key, const std::string& value);

  Store& store() const { return *store_; }

 private:
  explicit Model(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
};

// Looking.

struct ShowOptions {
  bool shapes = false;     ///< infer shapes where the model has none
  bool constants = false;  ///< a row for each initializer
};
/// A table of nodes, with inner graphs below their nodes.
TENON_EDIT std::string show_text(const Model& model, const ShowOptions& options = {});
TENON_EDIT std::string show_json(const Model& model, const ShowOptions& options = {});

// Cutting and naming.

/// Keeps what leads from `inputs` to `outputs`, tensors of the main graph. No inputs: those that
/// the outputs need. Throws for a name that is not there, or when outputs need other inputs.
TENON_EDIT void extract(Model& model, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);
/// Another name for a tensor, wherever it is read, or for a node.
TENON_EDIT void rename_tensor(Model& model, const std::string& from, const std::string& to);
TENON_EDIT void rename_node(Model& model, const std::string& from, const std::string& to);

// Simplifying. Each says how many nodes or tensors it removed or changed.

struct FoldOptions {
  size_t max_bytes = size_t{16} << 20;  ///< no tensor that is larger than this, and than what it is
                                        ///< computed of, is made
  bool shapes = true;                   ///< also what is computed of static extents
  bool quantized = false;               ///< also QuantizeLinear and DequantizeLinear
};
/// Computes what depends on constants alone, by the engine's reference kernels; in inner graphs,
/// which see constants around them, and in functions of the model's opset. Constant nodes of graphs
/// become initializers.
TENON_EDIT size_t fold_constants(Model& model, const FoldOptions& options = {});
/// What only scales what a Conv or ConvTranspose gives becomes part of its weights and bias, where
/// these are constants of float32: BatchNormalization, and Mul, Div, Add and Sub with a number or
/// one for each channel. A Pad with zeros in front of it becomes its pads. Results differ by
/// rounding.
TENON_EDIT size_t fold_into_weights(Model& model);
/// Nodes and initializers that no output needs, and types of tensors that are not there.
TENON_EDIT size_t remove_unused(Model& model);
/// Identity, Dropout that does nothing, Transpose that keeps the order, Concat and the like of one
/// input; Cast to the type that is there; Reshape, Expand, Slice, Pad, Resize and others where the
/// shape stays, as far as the engine infers it; of two Transposes, Reshapes, Unsqueezes or Slices
/// in a row the first; an Unsqueeze that puts back the axes which a reduction leaves out.
TENON_EDIT size_t remove_without_effect(Model& model);
/// One of equal nodes and of equal initializers stays.
TENON_EDIT size_t share_equal(Model& model);
/// Types of inner tensors of the main graph and of graphs inside nodes, by the engine's own import.
/// What is behind operators that nobody knows is inferred where the model says what they give; in
/// inner graphs, extents are numbers or unknown.
TENON_EDIT size_t infer_shapes(Model& model);
/// Without the types of inner tensors.
TENON_EDIT size_t clear_shapes(Model& model);

/// The branch of each `If` whose condition is known comes into the graph around it.
TENON_EDIT size_t resolve_conditions(Model& model);
/// Calls of functions of the model become their nodes.
TENON_EDIT size_t inline_functions(Model& model);

// Shapes. Each says how many constants followed: shapes of Reshape, and of Expand, that held an
// extent which is another now. Throws when the engine cannot import the model as it then is, also
// with two other numbers for each extent that is open now; calls of functions may become nodes.

TENON_EDIT size_t set_dims(Model& model, const std::string& input,
                           const std::vector<Extent>& shape);
/// Every extent of an input with that name.
TENON_EDIT size_t set_dim(Model& model, const std::string& name, const Extent& extent);
/// The first extent of every input.
TENON_EDIT size_t set_batch(Model& model, const Extent& extent);

// Rewriting.

/// What a node is, and what its inputs come from. An empty pattern is anything.
struct Pattern {
  std::string op_type;  ///< "": any
  std::function<bool(const Model&, NodeId)> predicate;
  std::vector<Pattern> inputs;  ///< of Add, Mul and the like in either order
};
/// Each match: the node, and then those of `inputs` in their order.
TENON_EDIT std::vector<std::vector<NodeId>> find_pattern(const Model& model,
                                                         const Pattern& pattern);
/// One node instead of those between tensors of the main graph; its inputs and outputs are these.
TENON_EDIT NodeId replace_between(Model& model, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs, Node node);
/// Another operator at the same place: a plugin, say. All attributes are new.
TENON_EDIT void set_operator(
    Model& model, NodeId node, const std::string& op_type, const std::string& domain = "",
    const std::vector<std::pair<std::string, AttributeValue>>& attributes = {});
/// Nodes of the main graph, by name or by a tensor that they give, go; what read their first output
/// reads their first input.
TENON_EDIT void remove_nodes(Model& model, const std::vector<std::string>& names);

// Putting models together.

struct MergeOptions {
  /// Outputs of the first model and the inputs of the second that they become.
  std::vector<std::pair<std::string, std::string>> links;
  std::string prefix;         ///< of all names of the other model
  bool keep_outputs = false;  ///< append: outputs that the other model reads stay outputs
};
TENON_EDIT void append_model(Model& model, const Model& other, const MergeOptions& options);
TENON_EDIT void prepend_model(Model& model, const Model& other, const MergeOptions& options);

// Other operators and types.

/// To another opset, 7 at least, functions from that which they import. Operators that a lower one
/// does not have become others where that is mechanical. Throws, naming the node and why, where it
/// is not, and where an input that must become an attribute is no constant.
TENON_EDIT void convert_opset(Model& model, int64_t version);

struct HalfOptions {
  bool keep_io = true;                           ///< inputs and outputs stay float32
  std::set<std::string, std::less<>> keep = {};  ///< nodes, by name or operator, that stay float32
};
struct HalfReport {
  size_t converted = 0, casts = 0;
  std::vector<std::string> kept;  ///< nodes that stay since float16 cannot hold what they compute
};
/// Weights, constants and operators in float16, also in graphs inside nodes, whose inputs and
/// outputs stay float32. NonMaxSuppression, Resize, Range and others that take scales, count, or
/// have no form in float16, and operators of other domains, stay float32 between casts. So do
/// squares, small sums and exponentials up to the root, logarithm or quotient behind them, integers
/// up to what tells them apart, masks up to their Softmax. Throws for a name to keep that no node
/// has.
TENON_EDIT HalfReport to_float16(Model& model, const HalfOptions& options = {});
struct QuantizationParameters {
  std::vector<float> scales;         ///< one, or one for each index along `axis`
  int32_t zero_point = 0;            ///< the integer that stands for 0
  std::optional<int64_t> axis = {};  ///< none: one scale for the whole tensor
  bool is_unsigned = false;          ///< uint8; else int8
};
/// QuantizeLinear and DequantizeLinear behind a tensor of the main graph, whose readers then read
/// what they give; an output of its name stays as it is. Throws for a tensor that is not there,
/// that no node reads, or that is quantized already.
TENON_EDIT void insert_quantization(Model& model, const std::string& tensor,
                                    const QuantizationParameters& parameters);
/// Such pairs behind these tensors go, whoever put them there. How many pairs.
/// Throws for a tensor that has none.
TENON_EDIT size_t remove_quantization_of(Model& model, const std::vector<std::string>& tensors);
struct WeightQuantization {
  int32_t bits = 4;     ///< of a weight: 4 or 8
  int64_t group = 128;  ///< weights along the axis summed over that share a scale; 0 for all
  std::set<std::string> keep = {};  ///< products whose weights stay
};
struct WeightQuantizationReport {
  size_t products = 0;                         ///< whose weights are integers now
  uint64_t bytes_before = 0, bytes_after = 0;  ///< of their weights, with the scales
};
/// Constant matrices of MatMul and Gemm, float32 or float16, become int4 or int8 with symmetric
/// scales and a DequantizeLinear behind them; what they are multiplied with stays as it is. A scale
/// of 4 bits has the least squared error of 12 that cut off up to 44 % of a group's range. Models
/// below opset 21 (8 bits without groups: 13, with float16 19) become such. Throws for other bits,
/// an odd group, names that no product has, and weights of NaN or infinity. Semantics: ONNX
/// DequantizeLinear.
TENON_EDIT WeightQuantizationReport quantize_weights(Model& model,
                                                     const WeightQuantization& options = {});
/// QuantizeLinear with DequantizeLinear behind it go, and integer weights become floats. How many
/// pairs. The way back is tenon/quantize.h.
TENON_EDIT size_t remove_quantization(Model& model);

}  // namespace tenon::edit

#endif  // TENON_ONNX_H
