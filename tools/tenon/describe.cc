// `tenon dump`, `inspect`, `plugins` and `operators`: what there is, as text or JSON.
#include <NvInferPlugin.h>
#include <fmt/format.h>
#include <tenon/describe.h>
#include <tenon/plugin_host.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check_plugins.h"
#include "commands.h"
#include "error.h"
#include "model.h"
#include "precision_report.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

void print(const tenon::Text& text, Logger& logger, const std::string& otherwise) {
  if (text == nullptr) fail_with_log(logger, otherwise);
  fmt::print("{}\n", std::string_view(static_cast<const char*>(text->data()), text->size()));
}

const char* field_type_name(nvinfer1::PluginFieldType type) {
  using nvinfer1::PluginFieldType;
  switch (type) {
    case PluginFieldType::kFLOAT16:
      return "float16";
    case PluginFieldType::kFLOAT32:
      return "float32";
    case PluginFieldType::kFLOAT64:
      return "float64";
    case PluginFieldType::kINT8:
      return "int8";
    case PluginFieldType::kINT16:
      return "int16";
    case PluginFieldType::kINT32:
      return "int32";
    case PluginFieldType::kCHAR:
      return "char";
    case PluginFieldType::kDIMS:
      return "dims";
    case PluginFieldType::kBF16:
      return "bfloat16";
    case PluginFieldType::kINT64:
      return "int64";
    case PluginFieldType::kFP8:
      return "float8";
    case PluginFieldType::kINT4:
      return "int4";
    case PluginFieldType::kFP4:
      return "float4";
    default:
      return "unknown";
  }
}

struct FieldRow {
  std::string name, type, text;
};
struct PluginRow {
  std::string name, version, name_space, kind;
  std::string text, differs, ports;
  std::vector<FieldRow> fields;
};

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

template <class Creator> PluginRow row_of(Creator& creator, const char* kind) {
  PluginRow row{text_or_empty(creator.getPluginName()),
                text_or_empty(creator.getPluginVersion()),
                text_or_empty(creator.getPluginNamespace()),
                kind,
                {},
                {},
                {},
                {}};
  const TenonPluginText* said =
      tenonPluginText(static_cast<nvinfer1::IPluginCreatorInterface*>(&creator));
  if (said != nullptr) {
    row.text = said->text;
    row.differs = said->differs;
    row.ports = said->ports;
  }
  const nvinfer1::PluginFieldCollection* fields = creator.getFieldNames();
  for (int32_t i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i)
    row.fields.push_back({text_or_empty(fields->fields[i].name),
                          field_type_name(fields->fields[i].type),
                          said != nullptr ? said->fields[i] : ""});
  return row;
}

std::vector<PluginRow> plugin_rows() {
  int32_t count = 0;
  auto* const* creators = getPluginRegistry()->getAllCreatorsRecursive(&count);
  std::vector<PluginRow> rows;
  for (int32_t i = 0; i < count; ++i) {
    nvinfer1::IPluginCreatorInterface& creator = *creators[i];
    const std::string kind = text_or_empty(creator.getInterfaceInfo().kind);
    if (kind == "PLUGIN CREATOR_V1")
      rows.push_back(row_of(static_cast<nvinfer1::IPluginCreator&>(creator), "V2"));
    else if (kind == "PLUGIN CREATOR_V3ONE")
      rows.push_back(row_of(static_cast<nvinfer1::IPluginCreatorV3One&>(creator), "V3"));
  }
  std::sort(rows.begin(), rows.end(), [](const PluginRow& a, const PluginRow& b) {
    return std::tie(a.name, a.version, a.name_space) < std::tie(b.name, b.version, b.name_space);
  });
  return rows;
}

// @param name those of this name; empty for all
void print_plugins(const std::string& name, bool json) {
  auto rows = plugin_rows();
  if (!name.empty()) std::erase_if(rows, [&](const PluginRow& row) { return row.name != name; });
  if (rows.empty() && !name.empty())
    fail(ErrorClass::kPluginMissing,
         "--plugin: no plugin is called '{}'; `tenon plugins` lists those that are registered",
         name);
  if (json) {
    ordered_json list = ordered_json::array();
    for (const PluginRow& r : rows) {
      ordered_json fields = ordered_json::array();
      for (const auto& [name, type, text] : r.fields)
        fields.push_back({{"name", name}, {"type", type}, {"text", text}});
      list.push_back({{"name", r.name},
                      {"version", r.version},
                      {"namespace", r.name_space},
                      {"interface", r.kind},
                      {"text", r.text},
                      {"differs", r.differs},
                      {"ports", r.ports},
                      {"fields", fields}});
    }
    fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{} registered plugin{}\n", rows.size(), rows.size() == 1 ? "" : "s");
  for (const PluginRow& r : rows) {
    fmt::print("  {} version {} ({}){}\n", printable(r.name), printable(r.version), r.kind,
               r.name_space.empty() ? "" : " in namespace " + printable(r.name_space));
    for (const std::string* line : {&r.text, &r.ports, &r.differs})
      if (!line->empty()) fmt::print("      {}\n", printable(*line));
    for (const auto& [name, type, text] : r.fields)
      fmt::print("      {}: {}{}{}\n", printable(name), type, text.empty() ? "" : ", ",
                 printable(text));
  }
}

}  // namespace

void add_dump(CLI::App& app, Logger& logger) {
  struct Options {
    std::string model, stage = "import";
    bool json = false;
    CommonOptions common;
    BuildOptions build;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("dump", "Print an ONNX model at a stage of the pipeline");
  command->add_option("model", o->model, "The ONNX model")->required();
  command->add_option("--stage", o->stage, "import, optimize or plan")
      ->check(CLI::IsMember({"import", "optimize", "plan"}));
  command->add_flag("--json", o->json, "Print JSON");
  o->common.add_to(*command);
  o->build.add_to(*command);
  command->callback([o, &logger] {
    o->common.apply(logger);
    const DumpStage stage = o->stage == "import"     ? DumpStage::kIMPORT
                            : o->stage == "optimize" ? DumpStage::kOPTIMIZE
                                                     : DumpStage::kPLAN;
    BuildOptions build = o->build;
    const session::Model model =
        parse_model(o->model, build, {}, logger, stage == DumpStage::kPLAN);
    print(tenon::dump(*model.network, *model.config, stage,
                      o->json ? DumpFormat::kJSON : DumpFormat::kTEXT),
          logger, o->model + ": cannot be printed");
  });
}

void add_inspect(CLI::App& app, Logger& logger) {
  struct Options {
    std::string plan;
    bool json = false, precision = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Print what a plan holds, without loading any plugin");
  command->add_option("plan", o->plan, "The plan")->required();
  CLI::Option* const as_json = command->add_flag("--json", o->json, "Print JSON");
  command
      ->add_flag("--precision", o->precision, "Print what each layer computes in, with the reason")
      ->excludes(as_json);
  command->callback([o, &logger] {
    const DumpFormat format = o->json || o->precision ? DumpFormat::kJSON : DumpFormat::kTEXT;
    const tenon::Text text = tenon::describe_plan(logger, o->plan.c_str(), format);
    if (o->precision && text != nullptr)
      fmt::print("{}\n", precision_report({static_cast<const char*>(text->data()), text->size()}));
    else
      print(text, logger, o->plan + ": cannot be printed");
  });
}

void add_plugins(CLI::App& app, Logger& logger) {
  struct Options {
    std::string name;
    bool json = false;
    CommonOptions common;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plugins", "List the registered plugins and their fields");
  command->add_option("--plugin", o->name, "Those of this name (default: all)");
  command->add_flag("--json", o->json, "Print JSON");
  o->common.add_to(*command);
  add_check(*command);
  command->callback([o, command, &logger] {
    if (!command->get_subcommands().empty()) return;
    initLibNvInferPlugins(&logger, "");
    o->common.apply(logger);
    print_plugins(o->name, o->json);
  });
}

void add_operators(CLI::App& app, Logger& logger) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("operators", "List the ONNX operators that models may use");
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &logger] {
    const tenon::Text text = tenon::describe_operators();
    if (text == nullptr) fail_with_log(logger, "the operators cannot be listed");
    const auto table =
        ordered_json::parse(std::string_view(static_cast<const char*>(text->data()), text->size()));
    if (*json) {
      fmt::print("{}\n", table.dump(2));
      return;
    }
    for (const auto& row : table["operators"]) {
      const auto restriction = row["restriction"].get<std::string>();
      const auto domain = row["domain"].get<std::string>();
      fmt::print("{}{}{} from opset {}{}\n", domain,
                 domain.empty() ? "" : "::", row["name"].get<std::string>(),
                 row["since"].get<int64_t>(), restriction.empty() ? "" : ": " + restriction);
    }
  });
}

}  // namespace tenon::tool
