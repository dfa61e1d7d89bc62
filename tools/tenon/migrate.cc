// `tenon migrate`: what sources use that later versions of TensorRT have not.
#include "migrate/migrate.h"

#include <fmt/format.h>
#include <tenon/printable.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "commands.h"
#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

struct MigrateOptions {
  std::vector<std::string> files;
  int to = 11;
  bool fix = false, json = false;
};

std::string source_of(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 26;  // 64 MiB
  const auto bytes = read_file(path, kMaxBytes + 1);
  if (bytes.size() > kMaxBytes)
    fail(ErrorClass::kContent, "{}: is larger than 64 MiB, and no source", path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of(const std::string& file, const migrate::Finding& f) {
  const std::string when =
      f.removed == 0 ? "is deprecated" : fmt::format("is not in TensorRT {}", f.removed);
  return fmt::format("{}:{}:{}: {}: {} {}{}: {}\n", printable(file), f.line, f.column,
                     f.removed == 0  ? "note"
                     : !f.is_certain ? "warning"
                                     : "error",
                     printable(f.what), f.is_certain ? "" : "(if it is that) ", when, f.instead);
}

ordered_json json_of(const std::string& file, const migrate::Finding& f) {
  return {{"file", file},
          {"line", f.line},
          {"column", f.column},
          {"what", f.what},
          {"removed", f.removed},
          {"instead", f.instead},
          {"certain", f.is_certain},
          {"inTenon", f.is_in_tenon},
          {"fixable", f.is_fixable}};
}

void migrate_files(const MigrateOptions& o) {
  ordered_json list = ordered_json::array();
  size_t gone = 0, perhaps = 0, fixable = 0, strange = 0;
  for (const std::string& file : o.files) {
    std::string source = source_of(file);
    if (o.fix) {
      const std::string better = migrate::fixed(source, o.to);
      if (better != source) write_file(file, better.data(), better.size());
      source = better;
    }
    for (const migrate::Finding& f : migrate::findings_of(source, o.to)) {
      gone += f.removed > 0 && f.is_certain ? 1 : 0;
      perhaps += f.is_certain ? 0 : 1;
      fixable += f.is_fixable ? 1 : 0;
      strange += f.removed > 0 && f.is_certain && !f.is_in_tenon ? 1 : 0;
      if (o.json)
        list.push_back(json_of(file, f));
      else
        fmt::print("{}", text_of(file, f));
    }
  }
  if (o.json) {
    fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{} use{} of what TensorRT {} has not{}{}{}\n", gone, gone == 1 ? "" : "s", o.to,
               perhaps > 0 ? fmt::format(", {} perhaps", perhaps) : "",
               fixable > 0 ? fmt::format("; --fix changes {}", fixable) : "",
               gone == 0      ? ""
               : strange == 0 ? "; Tenon's headers have all of them"
                              : fmt::format("; Tenon's headers lack {} of them", strange));
  }
  if (gone > 0) fail(ErrorClass::kVerdict, "the sources use what TensorRT {} has not", o.to);
}

}  // namespace

void add_migrate(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<MigrateOptions>();
  CLI::App* command = app.add_subcommand(
      "migrate", "List what C++ sources use that later versions of TensorRT have not");
  command->add_option("files", o->files, "C++ sources and headers")->required();
  command->add_option("--to", o->to, "The version that they are to compile with (default 11)")
      ->check(CLI::IsMember({"10", "11"}));
  command->add_flag("--fix", o->fix, "Change what can be changed safely, in the files");
  command->add_flag("--json", o->json, "Print JSON");
  command->callback([o] { migrate_files(*o); });
}

}  // namespace tenon::tool
