// A model in another opset, step by step; functions from the opset that they import themselves.
#include <tenon/onnx.h>

#include <map>

#include "base/error.h"
#include "edit/opset_nodes.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

constexpr int64_t kOldest = 7;

// The function that a graph is or lies in, or the main graph.
Id root_of(const Store& store, Id graph) {
  while (store.container(graph).parent > 0) graph = store.container(graph).parent;
  return graph;
}

void convert(Store& store, int64_t version) {
  const int64_t before = opset_of(store, 0);
  require(before >= kOldest,
          "the model is of opset {}; conversion from before {} is not supported yet", before,
          kOldest);
  require(version <= kLatestOpset, "opset {} is not known; the latest here is {}", version,
          kLatestOpset);
  require(version >= kOldest, "conversion to opset {}, before {}, is not supported yet", version,
          kOldest);
  std::map<Id, int64_t> imports;  // of functions that say in what they are written
  for (const Id function : store.functions())
    if (const int64_t own = opset_of(store, function); own != 0) {
      require(own >= kOldest,
              "{} is written in opset {}, which cannot become {}: inline functions "
              "first",
              store.place(function), own, version);
      imports.emplace(function, own);
    }
  int64_t first = before, last = before;
  for (const auto& [function, own] : imports) {
    first = std::min(first, own);
    last = std::max(last, own);
  }
  const auto each = [&](int64_t opset, auto&& concerns, auto& conversion) {
    for (const Id graph : store.containers()) {
      const auto own = imports.find(root_of(store, graph));
      if (!concerns(own == imports.end() ? before : own->second)) continue;
      for (const Id id : store.items(graph, Kind::kNode))
        if (is_standard_node(store.node(id))) conversion.run(id, opset);
    }
  };
  if (first < version) {
    Upgrade upgrade(store);
    for (int64_t opset = first + 1; opset <= version; ++opset)
      each(opset, [&](int64_t own) { return own < opset; }, upgrade);
  }
  if (last > version) {
    Downgrade downgrade(store);
    for (int64_t opset = last - 1; opset >= version; --opset)
      each(opset, [&](int64_t own) { return own > opset; }, downgrade);
  }
  for (const auto& [function, own] : imports) set_opset(store, function, version);
  set_opset(store, 0, version);
}

}  // namespace

void convert_opset(Model& model, int64_t version) {
  undone_unless(model, [&] {
    convert(model.store(), version);
    return 0;
  });
}

}  // namespace tenon::edit
