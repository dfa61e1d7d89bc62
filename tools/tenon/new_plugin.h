// The names of a new plugin, and the files that it starts with.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon::tool {

struct PluginNames {
  std::string type;  // MyPlugin: the struct, and what engines know
  std::string file;  // my_plugin
};

/// From MyPlugin, my_plugin, or any mixture. Throws Failure when it is no name.
PluginNames plugin_names(const std::string& given);

struct TemplateFile {
  std::string_view name, text;
};

/// examples/new_plugin, as it was when this program was built.
std::span<const TemplateFile> template_files();

}  // namespace tenon::tool
