// What edits changed, printed, and done again to another export of the model.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/show.h"
#include "edit/store.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

using nlohmann::json;

constexpr const char* kKindNames[kKinds] = {"node",       "initializer", "input",    "output",
                                            "value_info", "graph",       "function", "opset",
                                            "metadata",   "other"};

/// An item that is not what it was. No content: it was not there, or is no longer.
struct Difference {
  Id item = kNone;
  const Content* before = nullptr;
  const Content* now = nullptr;
};

// Each item once, in the order in which it was first touched.
std::vector<Difference> differences_since(const Store& store, size_t since) {
  const auto& journal = store.journal();
  require(since <= journal.size(), "the model has made {} steps, not {}", journal.size(), since);
  std::vector<Id> order;
  std::unordered_map<Id, const Content*> before;
  for (size_t i = since; i < journal.size(); ++i) {
    const Change& change = journal[i];
    if (before.contains(change.item)) continue;
    order.push_back(change.item);
    before[change.item] = change.kind == Change::Kind::kInsert    ? nullptr
                          : change.kind == Change::Kind::kReplace ? change.before
                                                                  : &store.content(change.item);
  }
  // What an item removed later was at the beginning is what its first replacement says.
  std::vector<Difference> found;
  for (const Id id : order) {
    const Item& item = store.item(id);
    const Content* now = item.is_linked ? item.content : nullptr;
    if (before[id] != now) found.push_back({id, before[id], now});
  }
  // Items of graphs in a node that changed, came or went are part of it.
  std::unordered_set<Id> changed;
  for (const Difference& each : found) changed.insert(each.item);
  std::erase_if(found, [&](const Difference& each) {
    for (Id at = store.item(each.item).container; at != kNone; at = store.container(at).parent) {
      const Id owner = store.container(at).owner;
      if (owner != kNone && (changed.contains(owner) || !store.item(owner).is_linked)) return true;
    }
    return false;
  });
  return found;
}

// What was inserted last, and in the order in which it lies in the model, so that each finds the
// one before it.
void sort_insertions(const Store& store, std::vector<Difference>& differences) {
  std::unordered_map<Id, size_t> positions;
  for (const Id container : store.containers())
    for (Id id = store.container(container).first; id != kNone; id = store.item(id).next)
      positions.emplace(id, positions.size());
  for (Id id = store.container(0).first; id != kNone; id = store.item(id).next)
    positions.emplace(id, positions.size());
  std::ranges::stable_sort(differences, {}, [&](const Difference& each) {
    return each.before != nullptr ? size_t{0} : positions.at(each.item) + 1;
  });
}

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const auto digit = std::string_view(kDigits).find(c);
    require(digit != std::string_view::npos, "the patch holds bytes that are not base64");
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255);
  }
  return bytes;
}

// The message that an item is or was; of a field that is no part of a graph the whole record, since
// it may be a number.
std::string message_of(const Content& content, Kind kind) {
  if (kind == Kind::kOther) return std::string(content.record);
  std::string message(content.fields);
  if (content.record.empty()) append_bytes(message, 9, content.raw);
  return message;
}

std::string message_now(const Store& store, Id id) {
  return store.item(id).kind == Kind::kOther ? store.record(id) : store.message(id);
}

// By what an item of another export is found again.
std::string key_of(const Content& content) {
  if (content.node == nullptr) return std::string(content.name);
  for (const std::string_view output : content.node->outputs)
    if (!output.empty()) return std::string(output);
  return std::string(content.name);
}

Id find_item(const Store& store, Id container, Kind kind, uint32_t field, const std::string& key) {
  if (kind == Kind::kNode)
    if (const Id id = store.producer(container, key);
        id != kNone && store.item(id).kind == kind && store.item(id).container == container)
      return id;
  for (const Id id : store.items(container, kind))
    if (store.item(id).field == field && key_of(store.content(id)) == key) return id;
  return kNone;
}

std::string line_of(Store& store, Id id, const Content& content) {
  const Item& item = store.item(id);
  const std::string name = printable(std::string(content.name));
  const std::string kind = kKindNames[static_cast<size_t>(item.kind)];
  if (content.node != nullptr) {
    if (&content == item.content) return node_line(store, id);
    return fmt::format("node '{}' ({})", printable(key_of(content)),
                       printable(std::string(content.node->op_type)));
  }
  const bool is_value =
      item.kind == Kind::kInput || item.kind == Kind::kOutput || item.kind == Kind::kValueInfo;
  const bool is_graph = store.container(item.container).kind == Container::Kind::kGraph;
  if (is_value && is_graph)
    if (const auto type = tensor_type(content.fields))
      return fmt::format("{} {}  {}", kind, name, text_of(*type));
  if (item.kind == Kind::kInitializer) {
    const StoredTensor stored = stored_tensor(content);
    TensorType type{stored.type, true, {}};
    for (const int64_t extent : stored.dims) type.shape.push_back({extent, ""});
    return fmt::format("{} {}  {}", kind, name, text_of(type));
  }
  if (item.kind == Kind::kOpset)
    return fmt::format("opset {} {}", name.empty() ? "ai.onnx" : name,
                       number_field(content.fields, 2));
  return fmt::format("{} {}", kind, name);
}

json change_of(Store& store, const Difference& difference) {
  const Item& item = store.item(difference.item);
  const Content& known = difference.before ? *difference.before : *difference.now;
  json change = {{"in", store.place(item.container)},
                 {"kind", kKindNames[static_cast<size_t>(item.kind)]},
                 {"field", item.field},
                 {"key", key_of(known)},
                 {"text", line_of(store, difference.item, known)}};
  if (difference.before) change["before"] = base64(message_of(*difference.before, item.kind));
  if (difference.now) {
    change["now"] = base64(message_now(store, difference.item));
    Id previous = item.previous;
    while (previous != kNone && store.item(previous).kind != item.kind)
      previous = store.item(previous).previous;
    if (!difference.before && previous != kNone) change["after"] = key_of(store.content(previous));
  }
  return change;
}

class Application {
 public:
  explicit Application(Store& store) : store_(store) {
    for (const Id id : store.containers()) places_.emplace(store.place(id), id);
    places_.emplace("model", 0);
  }

  void apply(const json& change) {
    const std::string in = change.at("in"), key = change.at("key"), kind_name = change.at("kind");
    const auto place = places_.find(in);
    require(place != places_.end(), "the patch is about '{}', which the model does not have",
            printable(in));
    container_ = place->second;
    const auto row = std::ranges::find(kKindNames, kind_name);
    require(row != std::end(kKindNames), "the patch names a kind '{}'", printable(kind_name));
    kind_ = static_cast<Kind>(row - kKindNames);
    field_ = change.at("field");
    require(store_.kind_at(container_, field_) == kind_ && kind_ != Kind::kGraph,
            "the patch says that field {} of {} is a {}", field_, printable(in), kind_name);
    const bool was_there = change.contains("before");
    const Id id = find_item(store_, container_, kind_, field_, key);
    const std::string what = fmt::format("{} '{}' in {}", kind_name, printable(key), printable(in));
    if (!was_there) {
      require(id == kNone || kind_ == Kind::kOther, "the patch adds {}, which is there already",
              what);
      insert(change);
      return;
    }
    require(id != kNone, "the patch changes {}, which is not there", what);
    const std::string before = from_base64(change.at("before"));
    require(kind_ != Kind::kNode || bytes_field(before, 4) == store_.node(id).op_type,
            "the patch changes {}, which is a {} now and was a {}", what,
            printable(std::string(kind_ == Kind::kNode ? store_.node(id).op_type : "")),
            printable(std::string(bytes_field(before, 4))));
    if (!change.contains("now"))
      store_.remove(id);
    else
      replace(id, before, from_base64(change.at("now")), what);
  }

 private:
  void insert(const json& change) {
    const std::vector<Id> others = store_.items(container_, kind_);
    Id before = others.empty() ? kNone : others.front();
    if (change.contains("after")) {
      const Id after = find_item(store_, container_, kind_, field_, change.at("after"));
      before = after == kNone ? kNone : store_.item(after).next;
    }
    const std::string_view now = store_.keep(from_base64(change.at("now")));
    if (kind_ == Kind::kOther)
      store_.insert_record(container_, kind_, now, before);
    else
      store_.insert(container_, kind_, field_, now, before);
  }

  void replace(Id id, const std::string& before, const std::string& now, const std::string& what) {
    const Content& content = store_.content(id);
    if (kind_ == Kind::kInitializer) {
      const StoredTensor expected = stored_tensor(before), found = stored_tensor(content);
      require(expected.type == found.type && expected.dims == found.dims,
              "the patch changes {}, whose type or shape is another now", what);
    }
    if (kind_ != Kind::kNode || message_now(store_, id) == before) {
      store_.replace(id, now);
      return;
    }
    merge_node(id, before, now);
  }

  // Only the fields that the edit changed, since the rest may be another in this export.
  void merge_node(Id id, const std::string& before, const std::string& now) {
    std::string merged;
    const std::string current = message_now(store_, id);
    for (const uint32_t field : {1u, 2u, 3u, 4u, 7u, 8u})
      merged +=
          records_of(records_of(before, field) == records_of(now, field) ? current : now, field);
    const auto attributes = [](const std::string& message) {
      std::map<std::string, std::string> found;
      Records records(message);
      while (const auto record = records.next())
        if (record->field == 5) found.emplace(bytes_field(record->payload, 1), record->whole);
      return found;
    };
    const auto was = attributes(before), is = attributes(now);
    for (const auto& [name, record] : attributes(current)) {
      const auto old = was.find(name), fresh = is.find(name);
      const bool is_same = (old == was.end()) == (fresh == is.end())
                           && (old == was.end() || old->second == fresh->second);
      if (is_same)
        merged += record;
      else if (fresh != is.end())
        merged += fresh->second;
    }
    for (const auto& [name, record] : is)
      if (!was.contains(name) && !attributes(current).contains(name)) merged += record;
    Records records(current);
    while (const auto record = records.next())
      if (record->field == 6 || record->field > 8) merged += record->whole;
    store_.replace(id, merged);
  }

  static std::string records_of(const std::string& message, uint32_t field) {
    std::string found;
    Records records(message);
    while (const auto record = records.next())
      if (record->field == field) found += record->whole;
    return found;
  }

  Store& store_;
  std::map<std::string, Id> places_;
  Id container_ = kNone;
  Kind kind_ = Kind::kOther;
  uint32_t field_ = 0;
};

}  // namespace

std::string Model::patch_text(size_t since) const {
  std::string text, place;
  for (const Difference& each : differences_since(*store_, since)) {
    const std::string in = store_->place(store_->item(each.item).container);
    if (in != place) text += printable(in) + "\n";
    place = in;
    if (each.before && each.now && each.before->node == nullptr) {
      text += "~ " + line_of(*store_, each.item, *each.before) + "\n    becomes "
              + line_of(*store_, each.item, *each.now) + "\n";
      continue;
    }
    text += each.before && each.now ? "~ " : each.now ? "+ " : "- ";
    text += line_of(*store_, each.item, each.now ? *each.now : *each.before) + "\n";
  }
  return text;
}

std::string Model::patch_json(size_t since) const {
  json changes = json::array();
  auto differences = differences_since(*store_, since);
  sort_insertions(*store_, differences);
  for (const Difference& each : differences) changes.push_back(change_of(*store_, each));
  const json patch = {{"format", "tenon.onnx.patch"}, {"version", 1}, {"changes", changes}};
  return patch.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void Model::apply_patch(const std::string& text) {
  const size_t steps = this->steps();
  try {
    const json patch = json::parse(text);
    require(patch.is_object() && patch.value("format", "") == "tenon.onnx.patch"
                && patch.value("version", 0) == 1,
            "the patch is not one of version 1: it begins with {{\"format\": "
            "\"tenon.onnx.patch\", \"version\": 1}}");
    Application application(*store_);
    // What goes makes way for what comes.
    for (const bool removals : {true, false})
      for (const json& change : patch.at("changes"))
        if (change.contains("now") != removals) application.apply(change);
  } catch (const json::exception& e) {
    undo_to(steps);
    fail(ErrorCode::kINVALID_ARGUMENT, "the patch is not valid: {}", e.what());
  } catch (...) {
    undo_to(steps);
    throw;
  }
}

}  // namespace tenon::edit
