// What to tell a user whose plugin is not registered.
#include <fmt/ranges.h>
#include <tenon/closest_names.h>

#include "registry/registry.h"

namespace tenon {
namespace {

std::vector<std::string> names_of(const std::vector<CreatorInfo>& creators) {
  std::vector<std::string> names;
  for (const CreatorInfo& c : creators) names.push_back(c.name);
  return names;
}

}  // namespace

std::string explain_missing(std::string_view name, std::string_view version,
                            std::string_view name_space) {
  const std::vector<CreatorInfo> creators = registered_creators();
  std::string text =
      fmt::format("no plugin \"{}\" version \"{}\" is registered in namespace \"{}\"", name,
                  version, name_space);
  std::vector<std::string> others;
  for (const CreatorInfo& c : creators)
    if (c.name == name)
      others.push_back(fmt::format("version \"{}\" in namespace \"{}\"", c.version, c.name_space));
  if (!others.empty()) {
    text += fmt::format(
        "; there is {} (node attributes plugin_version and plugin_namespace select "
        "one)",
        fmt::join(others, ", "));
  } else if (const auto names = closest_names(name, names_of(creators)); !names.empty()) {
    text += fmt::format("; the closest names are {}", fmt::join(names, ", "));
  } else if (creators.empty()) {
    text += "; no plugins are registered at all";
  }
  return text +
         ". Load the library that has it: --plugins=lib.so on the command line, "
         "tenon.load_plugins(\"lib.so\") in Python, IPluginRegistry::loadLibrary(\"lib.so\") in C++";
}

}  // namespace tenon
