// A model in memory as the records of its file: untouched ones stay the bytes that they are.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "onnx_model/tensors.h"

namespace tenon::edit {

/// Numbers items and containers; one is never used again.
using Id = uint32_t;
constexpr Id kNone = UINT32_MAX;

enum class Kind : uint8_t {
  kNode,
  kInitializer,
  kInput,
  kOutput,
  kValueInfo,
  kGraph,     // of the model
  kFunction,  // of the model
  kOpset,
  kMetadata,
  kOther,
};
constexpr size_t kKinds = 10;

/// An attribute as stored; graphs inside it are containers.
struct AttributeContent {
  std::string_view name;
  std::string_view bytes;  // the AttributeProto
  std::vector<Id> graphs;
};

struct NodeContent {
  std::string_view op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeContent> attributes;
  std::string_view others;  // records of other fields, one after the other

  const AttributeContent* find(std::string_view attribute) const;
};

/// What an item is, which never changes: an edit gives the item another content.
struct Content {
  std::string_view record;  // with its tag; empty for a tensor whose elements lie apart
  std::string_view fields;  // the message; without raw_data for such a tensor
  std::string_view raw;     // the elements of such a tensor
  std::string_view name;    // of a node, value or function; the domain of an opset, the key of a
                            // metadata entry
  std::unique_ptr<NodeContent> node;
  Id container = kNone;  // of kGraph and kFunction
};

/// One record of a container.
struct Item {
  Id container = kNone, previous = kNone, next = kNone;
  uint32_t field = 0;
  Kind kind = Kind::kOther;
  bool is_linked = false;   // in the list of its container
  bool is_indexed = false;  // linked, and so are the nodes around it
  const Content* content = nullptr;
};

/// The model itself, a graph or a function.
struct Container {
  enum class Kind : uint8_t { kModel, kGraph, kFunction } kind = Kind::kModel;
  Id parent = kNone;  // the graph around this one; for the main graph and functions the model
  Id owner = kNone;   // the item that holds it
  Id first = kNone, last = kNone;
  std::array<Id, kKinds> last_of;  // the last item of each kind
  std::string_view stored;
  int64_t changes = 0;  // of it and all inside that are not undone
};

/// A node to be put into the model. Texts must live as long as the model: Store::keep().
struct NodeDraft {
  std::string_view name;
  NodeContent content;

  void set(AttributeContent attribute);
  void erase(std::string_view attribute);
};

/// One step of the journal.
struct Change {
  enum class Kind : uint8_t { kInsert, kRemove, kReplace } kind = Kind::kInsert;
  Id item = kNone;
  const Content* before = nullptr;  // of kReplace
};

class Store {
 public:
  /// @param bytes stay valid while `owner` lives.
  /// @param path where the model came from, the folder of external data; "" when unknown.
  Store(std::shared_ptr<const void> owner, std::string_view bytes, std::string path);

  // Reading.
  Id graph() const { return graph_; }
  const Item& item(Id id) const { return items_[id]; }
  const Content& content(Id id) const { return *items_[id].content; }
  const NodeContent& node(Id id) const { return *items_[id].content->node; }
  const Container& container(Id id) const { return containers_[id]; }
  size_t item_count() const { return items_.size(); }
  size_t container_count() const { return containers_.size(); }
  /// Items of a kind in their order, as they are now: the container may change while one walks.
  std::vector<Id> items(Id container, Kind kind) const;
  /// The main graph, functions and all graphs in their nodes, that are part of the model.
  std::vector<Id> containers() const;
  std::vector<Id> functions() const;
  /// What a field of the container holds.
  Kind kind_at(Id container, uint32_t field) const;
  /// "graph", "function NAME", and with nodes that hold a graph behind it: "/NODE.then_branch".
  std::string place(Id container) const;

  // Names. A name means what the container defines, or else the graphs around it.
  /// The node, initializer or input that gives a value; kNone if nothing does.
  Id producer(Id container, std::string_view name) const;
  /// Nodes (also those of inner graphs) and outputs that read what the container itself defines.
  std::vector<Id> users(Id container, std::string_view name) const;
  /// Whether users() has one, without looking at all of them.
  bool has_users(Id container, std::string_view name) const;
  /// An input, output or value_info of the container with the type of the value; kNone for none.
  Id type_of(Id container, std::string_view name) const;
  /// True for the container itself, too.
  bool is_inside(Id inner, Id outer) const;
  bool is_name_used(std::string_view name) const;
  /// `wish`, or with a number behind it that makes it new in the model.
  std::string_view new_name(const std::string& wish);

  // Changing. Everything goes into the journal.
  Id insert(Id container, Kind kind, uint32_t field, std::string_view message, Id before = kNone);
  /// The same for a record with its tag, as write_item() gives it; its text must live on.
  Id insert_record(Id container, Kind kind, std::string_view record, Id before = kNone);
  Id insert_tensor(Id container, std::string_view fields, std::string_view raw);
  Id insert_node(Id container, NodeDraft draft, Id before = kNone);
  void remove(Id id);
  void replace(Id id, std::string_view message);
  void replace_tensor(Id id, std::string_view fields, std::string_view raw);
  void replace_node(Id id, NodeDraft draft);
  NodeDraft draft(Id id) const;
  /// Every reader of the value in the container, outputs of the graph but for, reads `to`.
  void replace_uses(Id container, std::string_view from, std::string_view to);
  /// A text with the lifetime of the model.
  std::string_view keep(std::string text);
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  /// Elements with the lifetime of the model. Where there are many of them they go into temporary
  /// files, so that a model larger than the memory can be edited.
  std::string_view keep_elements(const Tensor& tensor);

  // The journal.
  const std::vector<Change>& journal() const { return journal_; }
  void undo_to(size_t length);

  // Writing.
  using Sink = std::function<void(std::string_view)>;
  uint64_t size() const;
  void write(const Sink& sink) const;
  /// One item as the file would hold it.
  void write_item(Id id, const Sink& sink) const;
  /// The same as one text: a record with its tag.
  std::string record(Id id) const;
  /// The message within it.
  std::string message(Id id) const;
  std::string bytes() const;

  const std::string& path() const { return path_; }
  TensorSource& source() { return source_; }
  std::string_view file() const { return containers_[0].stored; }

 private:
  struct Name {
    std::vector<Id> producers, users, types;
    size_t removed = 0;
  };

  Id add_container(Container::Kind kind, Id parent, Id owner, std::string_view bytes);
  Id add_item(Id container, Kind kind, uint32_t field);
  const Content* parse(Id item, std::string_view record, std::string_view message);
  void parse_node(Id item, Content& content);
  Id insert_content(Id id, const Content* content, Id before);
  void link(Id id);
  void unlink(Id id);
  void index(Id id, bool is_there);
  void index_container(Id container, bool is_there);
  void index_name(std::string_view name, std::vector<Id> Name::* list, Id id, bool is_there);
  void tidy(Name& name, std::string_view text) const;
  bool still_has(Id id, std::vector<Id> Name::* list, std::string_view name) const;
  std::vector<Id> listed(std::string_view name, std::vector<Id> Name::* list) const;
  void count_change(Id container, int64_t by);
  const Content* content_of(Id item, NodeDraft draft);
  uint64_t size_of(Id container) const;
  void write_container(Id container, const Sink& sink) const;
  std::string changed_node(Id id) const;

  std::string path_;
  TensorSource source_;
  std::vector<std::shared_ptr<const void>> owners_;
  size_t elements_ = 0;  // bytes of them in memory
  std::deque<std::string> texts_;
  std::deque<Content> contents_;
  std::deque<Item> items_;
  std::deque<Container> containers_;
  std::unordered_map<std::string_view, Name> names_;
  std::unordered_map<std::string, size_t> new_names_;  // numbers that new_name() gave
  std::vector<Change> journal_;
  Id graph_ = kNone;
  int depth_ = 0;
};

}  // namespace tenon::edit
