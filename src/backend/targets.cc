#include "backend/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace tenon {
namespace {

// Sorted by name, so that the order does not depend on that of the linker.
std::vector<TargetEntry>& entries() {
  static auto& list = *new std::vector<TargetEntry>;
  return list;
}

}  // namespace

bool register_target(const TargetEntry& entry) {
  auto& list = entries();
  const auto at =
      std::lower_bound(list.begin(), list.end(), entry.name,
                       [](const TargetEntry& e, std::string_view name) { return e.name < name; });
  list.insert(at, entry);
  return true;
}

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> names;
  for (const TargetEntry& entry : entries()) names.push_back(entry.name);
  return names;
}

const Target& target_named(std::string_view name) {
  for (const TargetEntry& entry : entries()) {
    if (entry.name != name) continue;
    const std::string reason = entry.reason_for_absence();
    require(reason.empty(), "there is no target \"{}\": {}", name, reason);
    return entry.get();
  }
  fail(ErrorCode::kINVALID_ARGUMENT, "there is no target \"{}\"; expected {}", name,
       fmt::join(target_names(), " or "));
}

const Target& default_target() {
  if (const char* name = std::getenv("TENON_TARGET"); name != nullptr && *name != '\0')
    return with_context("the environment variable TENON_TARGET",
                        [&]() -> const Target& { return target_named(name); });
  const TargetEntry* best = nullptr;
  for (const TargetEntry& entry : entries())
    if ((best == nullptr || entry.preference > best->preference)
        && entry.reason_for_absence().empty())
      best = &entry;
  require(best != nullptr, "this build has no target that this machine can run");
  return best->get();
}

}  // namespace tenon
