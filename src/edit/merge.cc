// Another model in front of a model, or behind it.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/graph_uses.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

class Merge {
 public:
  /// @param other lives as long as the store of `model`, and is changed.
  Merge(Model& model, Model& other, const MergeOptions& options)
      : model_(model), store_(model.store()), other_(other.store()), options_(options) {}

  /// @param links names of the first model's outputs and of the second model's inputs.
  void run(bool in_front) {
    in_front_ = in_front;
    check_links();
    merge_opsets();
    merge_functions();
    rename_others();
    drop_linked();
    move();
  }

 private:
  Store& first() { return in_front_ ? other_ : store_; }
  Store& second() { return in_front_ ? store_ : other_; }

  static Id value_of(const Store& store, Kind kind, const std::string& name) {
    for (const Id id : store.items(store.graph(), kind))
      if (store.content(id).name == name) return id;
    return kNone;
  }

  void check_links() {
    require(!options_.links.empty(), "name the outputs that become inputs");
    for (const auto& [output, input] : options_.links) {
      const Id from = value_of(first(), Kind::kOutput, output);
      const Id to = value_of(second(), Kind::kInput, input);
      require(from != kNone, ErrorClass::kNotInModel, "the first model has no output '{}'",
              printable(output));
      require(to != kNone, ErrorClass::kNotInModel, "the second model has no input '{}'",
              printable(input));
      const auto a = tensor_type(first().content(from).fields);
      const auto b = tensor_type(second().content(to).fields);
      if (!a || !b) continue;
      require(a->element == b->element, "output '{}' is {}, and input '{}' is {}",
              printable(output), text_of(*a), printable(input), text_of(*b));
      if (!a->has_shape || !b->has_shape) continue;
      bool fits = a->shape.size() == b->shape.size();
      for (size_t i = 0; fits && i < a->shape.size(); ++i)
        fits = !a->shape[i].is_known() || !b->shape[i].is_known() || a->shape[i] == b->shape[i];
      require(fits, "output '{}' is {}, and input '{}' is {}", printable(output), text_of(*a),
              printable(input), text_of(*b));
    }
  }

  void merge_opsets() {
    for (const Id id : other_.items(0, Kind::kOpset)) {
      const std::string domain(other_.content(id).name);
      const int64_t theirs = number_field(other_.content(id).fields, 2);
      const int64_t ours = opset_of(store_, 0, domain);
      require(
          ours == 0 || ours == theirs,
          "the models are of opsets {} and {} of '{}': bring the older one to the other's first "
          "(opset={})",
          ours, theirs, domain.empty() ? "ai.onnx" : printable(domain), std::max(ours, theirs));
      if (ours == 0) set_opset(store_, 0, theirs, store_.keep(domain));
    }
  }

  void merge_functions() {
    for (const Id id : other_.items(0, Kind::kFunction)) {
      const std::string_view record = store_.keep(other_.record(id));
      bool is_there = false;
      for (const Id own : store_.items(0, Kind::kFunction)) {
        const bool is_same_name = store_.content(own).name == other_.content(id).name
                                  && bytes_field(store_.content(own).fields, 10)
                                         == bytes_field(other_.content(id).fields, 10);
        if (!is_same_name) continue;
        require(store_.record(own) == record,
                "both models define a function '{}', in different ways",
                printable(std::string(store_.content(own).name)));
        is_there = true;
      }
      if (!is_there) store_.insert_record(0, Kind::kFunction, record);
    }
  }

  std::vector<std::string_view> names_of_others() const {
    std::vector<std::string_view> names;
    for (const Id graph : other_.containers()) {
      if (other_.container(graph).kind != Container::Kind::kGraph) continue;
      for (const Kind kind : {Kind::kInput, Kind::kInitializer, Kind::kOther})
        for (const Id id : other_.items(graph, kind))
          if (!other_.content(id).name.empty()) names.push_back(other_.content(id).name);
      for (const Id id : other_.items(graph, Kind::kNode))
        for (const std::string_view output : other_.node(id).outputs)
          if (!output.empty()) names.push_back(output);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  void rename_all(std::string_view from, std::string_view to) {
    for (const Id graph : other_.containers()) {
      const Id producer = other_.producer(graph, from);
      if (producer != kNone && other_.item(producer).container == graph)
        rename_value(other_, graph, from, to);
    }
  }

  // The other model's names get the prefix; what is linked, the name that it has in this one.
  void rename_others() {
    std::map<std::string, std::string> linked;
    for (const auto& [output, input] : options_.links)
      linked.emplace(in_front_ ? output : input, in_front_ ? input : output);
    for (const std::string_view name : names_of_others()) {
      const auto found = linked.find(std::string(name));
      const std::string fresh = options_.prefix + std::string(name);
      if (found == linked.end()) {
        require(!store_.is_name_used(fresh), "both models have a tensor '{}': give a prefix",
                printable(fresh));
        if (fresh != name) rename_all(name, other_.keep(fresh));
      }
    }
    for (const auto& [from, to] : linked)
      if (from != to) {
        require(!other_.is_name_used(to), "both models have a tensor '{}': give a prefix",
                printable(to));
        rename_all(other_.keep(from), other_.keep(to));
      }
    for (const Id id : other_.items(other_.graph(), Kind::kNode)) {
      if (other_.content(id).name.empty() || options_.prefix.empty()) continue;
      NodeDraft draft = other_.draft(id);
      draft.name = other_.keep(options_.prefix + std::string(draft.name));
      other_.replace_node(id, std::move(draft));
    }
  }

  void drop_linked() {
    for (const auto& [output, input] : options_.links) {
      const std::string& name = in_front_ ? input : output;
      const Id own = value_of(store_, in_front_ ? Kind::kInput : Kind::kOutput, name);
      const Id theirs = value_of(other_, in_front_ ? Kind::kOutput : Kind::kInput, name);
      // An output that is also kept for the caller stays one.
      if (own != kNone && (in_front_ || !options_.keep_outputs)) store_.remove(own);
      if (theirs != kNone) other_.remove(theirs);
    }
  }

  void move() {
    const auto nodes = store_.items(store_.graph(), Kind::kNode);
    const Id before = in_front_ && !nodes.empty() ? nodes.front() : kNone;
    for (const Id id : other_.items(other_.graph(), Kind::kNode))
      store_.insert_record(store_.graph(), Kind::kNode, store_.keep(other_.record(id)), before);
    for (const Id id : other_.items(other_.graph(), Kind::kInitializer)) {
      const Content& content = other_.content(id);
      if (content.record.empty())
        store_.insert_tensor(store_.graph(), content.fields, content.raw);
      else
        store_.insert_record(store_.graph(), Kind::kInitializer, content.record);
    }
    for (const Id id : other_.items(other_.graph(), Kind::kOther))
      if (!other_.content(id).name.empty())  // a sparse initializer
        store_.insert_record(store_.graph(), Kind::kOther, other_.content(id).record);
    const auto first_input = store_.items(store_.graph(), Kind::kInput);
    for (const auto& [kind, before_it] :
         {std::pair(Kind::kInput, in_front_ && !first_input.empty() ? first_input[0] : kNone),
          std::pair(Kind::kOutput, kNone), std::pair(Kind::kValueInfo, kNone)})
      for (const Id id : other_.items(other_.graph(), kind))
        store_.insert_record(store_.graph(), kind, other_.content(id).record, before_it);
  }

  Model& model_;
  Store& store_;
  Store& other_;
  const MergeOptions& options_;
  bool in_front_ = false;
};

// What a file beside the other model holds is not beside this one.
void take_along(Store& other) {
  for (const Id graph : other.containers())
    for (const Id id : other.items(graph, Kind::kNode))
      for (const AttributeContent& attribute : other.node(id).attributes) {
        Records records(attribute.bytes);
        while (const auto record = records.next())
          require(attribute.name == "value" || (record->field != 5 && record->field != 10)
                      || record->wire != Record::kBytes
                      || !stored_tensor(record->payload).is_external,
                  "{}: its attribute '{}' lies in a file beside the other model, and cannot come "
                  "along: save that model with all data inside first",
                  description(other, id), printable(std::string(attribute.name)));
      }
  take_in_external(other);
}

void merge(Model& model, const Model& other, const MergeOptions& options, bool in_front) {
  undone_unless(model, [&] {
    const auto copy =
        std::make_shared<Model>(Model::parse(other.serialize(), other.store().path()));
    model.store().keep(copy);
    if (copy->store().path() != model.store().path()) take_along(copy->store());
    Merge(model, *copy, options).run(in_front);
    return 0;
  });
}

}  // namespace

void append_model(Model& model, const Model& other, const MergeOptions& options) {
  merge(model, other, options, false);
}

void prepend_model(Model& model, const Model& other, const MergeOptions& options) {
  merge(model, other, options, true);
}

}  // namespace tenon::edit
