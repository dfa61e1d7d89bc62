// `tenon onnx`: ONNX models looked at and edited, one verb after the other.
#include <fmt/format.h>
#include <tenon/onnx.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>

#include "commands.h"
#include "error.h"
#include "files.h"
#include "npz.h"
#include "onnx_lint.h"
#include "onnx_verbs.h"
#include "onnx_verify.h"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

struct OnnxOptions {
  std::vector<std::string> words;
  std::string output, patch, external = "asis", location;
  size_t threshold = 1024;
  bool prints_patch = false, verifies = false;
  VerifyOptions verify;
  CommonOptions common;
};

// Model files of a run that only it needs.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "tenon_onnx_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      fail(ErrorClass::kFile, "{}: cannot be made", pattern);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

edit::ExternalData external_of(const std::string& name) {
  if (name == "inside") return edit::ExternalData::kInside;
  return name == "beside" ? edit::ExternalData::kBeside : edit::ExternalData::kAsIs;
}

struct Command {
  std::vector<OnnxStep> steps;
  std::string model;
};

// Words that are verbs are steps, and the other one is the model.
Command command_of(const std::vector<std::string>& words) {
  Command command;
  for (const std::string& word : words) {
    const OnnxStep step = onnx_step(word);
    if (step.verb != nullptr)
      command.steps.push_back(step);
    else if (command.model.empty())
      command.model = word;
    else
      fail(ErrorClass::kOptions,
           "'{}' is no verb, and the model is '{}': `tenon onnx --help` lists the verbs", word,
           command.model);
  }
  if (command.model.empty())
    fail(ErrorClass::kOptions, "onnx: name a model, or - for standard input");
  if (command.steps.empty())
    fail(ErrorClass::kOptions,
         "onnx: say what to do with '{}': `tenon onnx --help` lists the verbs", command.model);
  return command;
}

// Tensors of the model before that are inputs after are outputs, too, so that a run gives them.
std::string with_outputs_for(const std::string& before, const edit::Model& after,
                             const std::string& path) {
  edit::Model wide = edit::Model::load(before);
  std::vector<edit::Value> outputs = wide.outputs();
  const size_t count = outputs.size();
  const auto is_among = [](const std::vector<edit::Value>& values, const std::string& name) {
    return std::ranges::any_of(values, [&](const edit::Value& each) { return each.name == name; });
  };
  for (const edit::Value& input : after.inputs())
    if (!is_among(wide.inputs(), input.name) && !is_among(outputs, input.name)
        && wide.producer(wide.graph(), input.name))
      outputs.push_back(input);
  if (outputs.size() == count) return before;
  wide.set_outputs(outputs);
  wide.save(path, {edit::ExternalData::kBeside, 1024, ""});
  return path;
}

void edit_model(const OnnxOptions& o, Logger& logger) {
  const Command command = command_of(o.words);
  const bool is_piped = command.model == "-";
  check_files(
      {{"model", is_piped ? "" : command.model}},
      {{"-o", o.output == "-" || o.output == command.model ? "" : o.output}, {"--patch", o.patch}});
  o.common.apply(logger);
  const std::string input = is_piped ? read_standard_input() : std::string();
  edit::Model model = is_piped ? edit::Model::parse(input) : edit::Model::load(command.model);
  // What the verbs say does not get into a model on standard output.
  std::FILE* const out = o.output == "-" ? stderr : stdout;
  for (const OnnxStep& step : command.steps) {
    const std::string text = step.verb->apply(model, step.argument);
    if (!text.empty()) fmt::print(out, "{}", text);
  }
  if (o.prints_patch) fmt::print(out, "{}", model.patch_text());
  if (o.verifies) {
    const TemporaryFolder folder;
    std::string before = command.model;
    if (is_piped) write_file(before = folder.file("before.onnx"), input.data(), input.size());
    const std::string after = folder.file("after.onnx");
    model.save(after, {edit::ExternalData::kBeside, 1024, ""});
    before = with_outputs_for(before, model, folder.file("wide.onnx"));
    verify_models(before, after, o.verify, logger);
  }
  if (!o.patch.empty()) {
    const std::string patch = model.patch_json();
    write_file(o.patch, patch.data(), patch.size());
  }
  if (o.output == "-") {
    const std::string bytes = model.serialize(external_of(o.external));
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
      fail(ErrorClass::kFile, "standard output cannot be written");
  } else if (!o.output.empty()) {
    model.save(o.output, {external_of(o.external), o.threshold, o.location});
  } else if (model.steps() > 0 && o.patch.empty() && !o.prints_patch && !o.verifies) {
    fail(ErrorClass::kOptions, "onnx: the model was changed: say with -o where to write it");
  }
}

std::string verb_table() {
  std::string text = "Verbs, in the order in which they are done:\n";
  for (const OnnxVerb& verb : onnx_verbs()) {
    const bool is_optional = verb.argument.starts_with('[') && verb.argument.ends_with(']');
    std::string form = verb.name;
    if (is_optional)
      form += "[=" + verb.argument.substr(1);
    else if (!verb.argument.empty())
      form += "=" + verb.argument;
    text += fmt::format("  {:<34}{}\n", form, verb.help);
  }
  return text;
}

}  // namespace

void add_onnx(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<OnnxOptions>();
  CLI::App* command = app.add_subcommand("onnx", "Look at ONNX models, and edit them");
  command->add_option("words", o->words, "Verbs, and the model (- is standard input)");
  command->add_option("-o,--output", o->output, "The model to write (- is standard output)");
  command
      ->add_option("--external", o->external,
                   "Tensors in files of their own: as they are, all inside, or large ones beside")
      ->check(CLI::IsMember({"asis", "inside", "beside"}));
  command->add_option("--externalSize", o->threshold,
                      "Bytes from which a tensor is a large one (default 1024)");
  command->add_option("--externalName", o->location,
                      "The file beside the model (default: its name and .data)");
  command->add_option("--patch", o->patch, "Write what was changed as JSON, for the verb patch");
  command->add_flag("--printPatch", o->prints_patch, "Print what was changed");
  command->add_flag("--verify", o->verifies,
                    "Run the model before and after, and print the largest difference");
  command->add_option("--verifyShapes", o->verify.shapes,
                      "Shapes of inputs for --verify; may be given several times");
  command->add_option("--verifyInputs", o->verify.inputs,
                      "Arrays for --verify: a NumPy .npz file (default: noise)");
  command
      ->add_option("--verifyError", o->verify.max_error,
                   "Largest difference that --verify takes, in parts of an output's range")
      ->check(number_from(0, 1e30));
  command->footer(verb_table());
  o->common.add_to(*command);
  const CLI::App* lint = add_onnx_lint(*command, logger);
  command->callback([o, &logger, lint] {
    if (!lint->parsed()) edit_model(*o, logger);
  });
}

}  // namespace tenon::tool
