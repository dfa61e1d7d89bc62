// The targets of this build, by name. A target's folder registers it: no list names them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// What a target's folder says of it. All strings live as long as the process,
/// and `name` ends with a zero.
struct TargetEntry {
  std::string_view name;  // "cpu": for --target, TENON_TARGET and plans
  /// Without a name, the usable target of the highest preference is taken.
  int preference = 0;
  /// Why this build or this machine has no such target; "" when it has it.
  std::string (*reason_for_absence)();
  /// The target for the calling thread's current device. Throws when there is none.
  const Target& (*get)();
};

/// Called by TENON_REGISTER_TARGET before main().
bool register_target(const TargetEntry& entry);

/// Every target's name in order, those that this build or this machine lacks among them.
std::vector<std::string_view> target_names();

/// The target of that name, for the current device. Throws, saying why, when this build or this
/// machine does not have it.
const Target& target_named(std::string_view name);

/// What the environment variable TENON_TARGET names; without it the usable target of the highest
/// preference.
const Target& default_target();

/// In a target's folder: makes it known. `Entry` is a TargetEntry.
#define TENON_REGISTER_TARGET(...) \
  [[maybe_unused]] static const bool kTargetRegistered = ::tenon::register_target(__VA_ARGS__)

}  // namespace tenon
