// `tenon new-plugin`: writes a folder with a plugin of the kit, its cases and its test. The files
// are those of examples/new_plugin under another name.
#include "new_plugin.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

const PluginNames kTemplate{"MyPlugin", "my_plugin"};

bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string renamed(std::string_view text, const PluginNames& names) {
  return replaced(replaced(std::string(text), kTemplate.type, names.type), kTemplate.file,
                  names.file);
}

// A struct cannot have a name that its own file uses for something else.
void require_free(const PluginNames& names) {
  const std::regex word("\\b" + names.type + "\\b");
  for (const TemplateFile& file : template_files())
    if (names.type != kTemplate.type && fs::path(file.name).extension() == ".cc"
        && std::regex_search(file.text.begin(), file.text.end(), word))
      fail(ErrorClass::kOptions,
           "a plugin cannot be named '{}', which has a meaning in C++ or in the kit", names.type);
}

void write_files(const fs::path& folder, const PluginNames& names) {
  for (const TemplateFile& file : template_files()) {
    const fs::path path = folder / renamed(file.name, names);
    std::ofstream out(path, std::ios::binary);
    out << renamed(file.text, names);
    out.close();
    if (!out)
      fail(ErrorClass::kFile, "{} cannot be written: {}", path.string(), std::strerror(errno));
  }
}

void write_folder(const fs::path& folder, const PluginNames& names) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error)))
    fail(ErrorClass::kFile, "{} exists: remove it, or say --folder=ANOTHER", folder.string());
  if (!fs::create_directory(folder, error))
    fail(ErrorClass::kFile, "the folder {} cannot be made: {}", folder.string(), error.message());
  try {
    write_files(folder, names);
  } catch (...) {
    fs::remove_all(folder, error);
    throw;
  }
}

// Where this program is installed; a text to fill in when it is not.
std::string installed_in() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  return fs::exists(prefix / "lib/cmake/Tenon", error) ? prefix.string() : "<tenon>/out";
}

}  // namespace

PluginNames plugin_names(const std::string& given) {
  static const std::regex kName("[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*");
  if (!std::regex_match(given, kName))
    fail(ErrorClass::kOptions,
         "'{}' is no name for a plugin: expected letters, digits and single underscores, as in "
         "MyPlugin or my_plugin",
         given);
  PluginNames names;
  for (size_t i = 0; i < given.size(); ++i) {
    const char c = given[i];
    if (c == '_') continue;
    const bool first = i == 0 || given[i - 1] == '_';
    // A capital starts a word after a small letter, and as the last of several capitals.
    const bool ends_capitals =
        i + 1 < given.size() && std::islower(static_cast<unsigned char>(given[i + 1])) != 0;
    const bool starts = first || (is_upper(c) && (!is_upper(given[i - 1]) || ends_capitals));
    if (starts && i > 0) names.file += '_';
    names.file += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    names.type += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
  }
  return names;
}

void add_new_plugin(CLI::App& app, Logger&) {
  struct Options {
    std::string name, folder;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("new-plugin", "Write a folder with a plugin that builds and passes");
  command->add_option("name", o->name, "The plugin's name, as MyPlugin or my_plugin")->required();
  command->add_option("--folder", o->folder, "The folder to write; my_plugin if not given");
  command->callback([o] {
    const PluginNames names = plugin_names(o->name);
    require_free(names);
    const std::string folder = o->folder.empty() ? names.file : o->folder;
    write_folder(folder, names);
    fmt::print(
        "{} has the plugin {}, and README.md there says what to do with it. To build and test "
        "it:\n\ncd {}\ncmake -B build -DCMAKE_PREFIX_PATH={} && cmake --build build && ctest "
        "--test-dir build\n",
        folder, names.type, folder, installed_in());
  });
}

}  // namespace tenon::tool
