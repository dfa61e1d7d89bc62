// The index of a store: who gives a name its value, and who reads it, kept up to date by every
// change.
#include <algorithm>
#include <unordered_set>

#include "edit/store.h"

namespace tenon::edit {
namespace {

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Where several give the same name: an input with a default is an initializer, too.
int rank_of(Kind kind) {
  return kind == Kind::kNode ? 0 : kind == Kind::kInput ? 2 : 1;
}

}  // namespace

void Store::index_container(Id container, bool is_there) {
  for (Id id = containers_[container].first; id != kNone; id = items_[id].next) index(id, is_there);
}

void Store::index(Id id, bool is_there) {
  Item& item = items_[id];
  if (item.is_indexed == is_there) return;
  item.is_indexed = is_there;
  const Content& content = *item.content;
  // Inputs and outputs of functions are bare names.
  const bool has_type = containers_[item.container].kind == Container::Kind::kGraph;
  switch (item.kind) {
    case Kind::kNode:
      for (const std::string_view input : content.node->inputs)
        index_name(input, &Name::users, id, is_there);
      for (const std::string_view output : content.node->outputs)
        index_name(output, &Name::producers, id, is_there);
      for (const AttributeContent& attribute : content.node->attributes)
        for (const Id graph : attribute.graphs) index_container(graph, is_there);
      break;
    case Kind::kInput:
      index_name(content.name, &Name::producers, id, is_there);
      if (has_type) index_name(content.name, &Name::types, id, is_there);
      break;
    case Kind::kOutput:
      index_name(content.name, &Name::users, id, is_there);
      if (has_type) index_name(content.name, &Name::types, id, is_there);
      break;
    case Kind::kValueInfo:
      index_name(content.name, &Name::types, id, is_there);
      break;
    case Kind::kInitializer:
    case Kind::kOther:
      index_name(content.name, &Name::producers, id, is_there);
      break;
    case Kind::kGraph:
    case Kind::kFunction:
      index_container(content.container, is_there);
      break;
    default:
      break;
  }
}

// What is gone stays in the list until half of it is: a value that all nodes read would otherwise
// be searched for each of them.
void Store::index_name(std::string_view text, std::vector<Id> Name::* list, Id id, bool is_there) {
  if (text.empty()) return;
  Name& name = names_[text];
  if (is_there) {
    (name.*list).push_back(id);
    return;
  }
  if (++name.removed > 8 && name.removed > (name.users.size() + name.producers.size()) / 2)
    tidy(name, text);
}

void Store::tidy(Name& name, std::string_view text) const {
  for (const auto list : {&Name::producers, &Name::users, &Name::types}) {
    std::vector<Id>& ids = name.*list;
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::erase_if(ids, [&](Id id) { return !still_has(id, list, text); });
  }
  name.removed = 0;
}

bool Store::still_has(Id id, std::vector<Id> Name::* list, std::string_view name) const {
  const Item& item = items_[id];
  if (!item.is_indexed) return false;
  if (item.kind != Kind::kNode) return item.content->name == name;
  return has(list == &Name::users ? item.content->node->inputs : item.content->node->outputs, name);
}

std::vector<Id> Store::listed(std::string_view name, std::vector<Id> Name::* list) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return {};
  std::vector<Id> ids = found->second.*list;
  std::erase_if(ids, [&](Id id) { return !still_has(id, list, name); });
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Id Store::producer(Id container, std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return kNone;
  const auto order = [&](Id id) { return std::pair(rank_of(items_[id].kind), id); };
  for (Id at = container; at != kNone && at != 0; at = containers_[at].parent) {
    Id best = kNone;
    for (const Id id : found->second.producers)
      if (items_[id].container == at && (best == kNone || order(id) < order(best))
          && still_has(id, &Name::producers, name))
        best = id;
    if (best != kNone) return best;
  }
  return kNone;
}

std::vector<Id> Store::users(Id container, std::string_view name) const {
  std::vector<Id> ids = listed(name, &Name::users);
  std::erase_if(ids, [&](Id id) { return !is_inside(items_[id].container, container); });
  const bool is_alone =
      std::ranges::all_of(ids, [&](Id id) { return items_[id].container == container; });
  if (is_alone) return ids;
  std::unordered_set<Id> definitions;  // containers that define the name
  for (const Id id : listed(name, &Name::producers)) definitions.insert(items_[id].container);
  std::erase_if(ids, [&](Id id) {
    for (Id at = items_[id].container; at != container; at = containers_[at].parent)
      if (definitions.contains(at)) return true;
    return false;
  });
  return ids;
}

// From behind: what is gone gathers at the front when nodes are changed one after the other.
bool Store::has_users(Id container, std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return false;
  const std::vector<Id>& ids = found->second.users;
  return std::any_of(ids.rbegin(), ids.rend(), [&](Id id) {
    if (!still_has(id, &Name::users, name)) return false;
    const Id reading = items_[id].container;
    if (reading == container) return true;
    if (!is_inside(reading, container)) return false;
    const Id made = producer(reading, name);
    return made == kNone || items_[made].container == container
           || !is_inside(items_[made].container, container);
  });
}

bool Store::is_inside(Id inner, Id outer) const {
  while (inner != kNone && inner != outer) inner = containers_[inner].parent;
  return inner == outer;
}

Id Store::type_of(Id container, std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return kNone;
  Id first = kNone;
  for (const Id id : found->second.types)
    if (items_[id].container == container && id < first && still_has(id, &Name::types, name))
      first = id;
  return first;
}

bool Store::is_name_used(std::string_view name) const {
  return !listed(name, &Name::producers).empty() || !listed(name, &Name::users).empty();
}

std::string_view Store::new_name(const std::string& wish) {
  std::string name = wish;
  size_t& number = new_names_[wish];
  while (is_name_used(name)) name = fmt::format("{}_{}", wish, ++number);
  return keep(std::move(name));
}

}  // namespace tenon::edit
