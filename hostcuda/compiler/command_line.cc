/// nvcc's command line.
#include "hostcuda/compiler/command_line.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "hostcuda/compiler/lexer.h"

namespace tenon::nvcc {
namespace {

namespace fs = std::filesystem;

bool starts_with(const std::string& text, const char* what) {
  return text.rfind(what, 0) == 0;
}

// "a,b" as two words.
Words split(const std::string& text) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

// Options of the device's compiler, which has no work here. With a value, and without.
bool is_ignored_with_value(const std::string& option) {
  static const std::set<std::string> options = {"-gencode",
                                                "--generate-code",
                                                "-arch",
                                                "--gpu-architecture",
                                                "-code",
                                                "--gpu-code",
                                                "-maxrregcount",
                                                "--maxrregcount",
                                                "-Xptxas",
                                                "--ptxas-options",
                                                "-Xcudafe",
                                                "--cudafe-options",
                                                "-Xnvlink",
                                                "--nvlink-options",
                                                "-Xfatbin",
                                                "--fatbin-options",
                                                "-t",
                                                "--threads",
                                                "-ftz",
                                                "--ftz",
                                                "-prec-div",
                                                "--prec-div",
                                                "-prec-sqrt",
                                                "--prec-sqrt",
                                                "-fmad",
                                                "--fmad",
                                                "-diag-suppress",
                                                "--diag-suppress",
                                                "-diag-error",
                                                "--diag-error",
                                                "-diag-warn",
                                                "--diag-warn",
                                                "-keep-dir",
                                                "--keep-dir",
                                                "-cudart",
                                                "--cudart",
                                                "-cudadevrt",
                                                "--cudadevrt",
                                                "-m",
                                                "--machine",
                                                "-split-compile",
                                                "--split-compile",
                                                "-default-stream",
                                                "--default-stream",
                                                "-brief-diag",
                                                "--brief-diagnostics",
                                                "-target-dir",
                                                "--target-directory",
                                                "-idp",
                                                "--input-drive-prefix"};
  return options.count(option) > 0;
}
bool is_ignored(const std::string& option) {
  static const std::set<std::string> options = {"-m64",
                                                "-lineinfo",
                                                "--generate-line-info",
                                                "-use_fast_math",
                                                "--use_fast_math",
                                                "-restrict",
                                                "--restrict",
                                                "-G",
                                                "--device-debug",
                                                "-extended-lambda",
                                                "--extended-lambda",
                                                "-dlto",
                                                "--dlink-time-opt",
                                                "-ewp",
                                                "-Wno-deprecated-gpu-targets",
                                                "-forward-unknown-to-host-compiler",
                                                "--forward-unknown-to-host-compiler",
                                                "-forward-unknown-opts",
                                                "--forward-unknown-opts",
                                                "-res-usage",
                                                "--resource-usage",
                                                "-src-in-ptx",
                                                "--source-in-ptx",
                                                "-clean",
                                                "--clean-targets",
                                                "-extra-device-vectorization",
                                                "-allow-unsupported-compiler",
                                                "--allow-unsupported-compiler"};
  return options.count(option) > 0 || starts_with(option, "-expt-")
         || starts_with(option, "--expt-");
}

bool is_kind_of_warning(const std::string& word) {
  static const std::set<std::string> kinds = {
      "all-warnings",           "cross-execution-space-call", "reorder",
      "default-stream-launch",  "missing-launch-bounds",      "ext-lambda-captures-this",
      "deprecated-declarations"};
  return kinds.count(word) > 0;
}

// Whether a word names a program, by its path or as PATH has it. Programs may end in a version
// (g++-12.2), inputs in letters.
bool is_program(const std::string& word) {
  const fs::path path(word);
  const std::string extension = path.extension();
  if (word.empty() || word[0] == '-' || word.find(".so.") != std::string::npos) return false;
  if (extension.size() > 1 && std::isdigit(static_cast<unsigned char>(extension[1])) == 0)
    return false;
  const auto is_there = [](const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return is_there(path);
  const char* folders = std::getenv("PATH");
  std::istringstream all(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(all, folder, ':');)
    if (is_there(fs::path(folder) / word)) return true;
  return false;
}

class Reader {
 public:
  explicit Reader(Words arguments) : words_(std::move(arguments)) {
    if (const char* compiler = std::getenv("NVCC_CCBIN")) line_.compiler = {compiler};
    take_launched_compiler();
  }

  CommandLine read() {
    while (at_ < words_.size()) read_option(words_[at_++]);
    // CMake says so of each source whose language is C++ (CMP0119): .cu files are known by their
    // names.
    if (is_launched_ && line_.language == "c++" && line_.inputs.size() == 1
        && fs::path(line_.inputs[0]).extension() == ".cu")
      line_.language.clear();
    return std::move(line_);
  }

 private:
  // As a compiler launcher: tenon-nvcc [ccache] /usr/bin/c++ options...
  void take_launched_compiler() {
    std::size_t end = 0;  // of what ends in a program's path
    for (std::size_t i = 0; i < words_.size() && is_program(words_[i]); ++i)
      if (words_[i].find('/') != std::string::npos) end = i + 1;
    if (end == 0) return;
    line_.compiler.assign(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(end));
    at_ = end;
    is_launched_ = true;
  }

  const std::string& value(const std::string& option) {
    if (at_ == words_.size()) throw Failure{"nvcc fatal   : " + option + " needs a value"};
    return words_[at_++];
  }

  void read_option(const std::string& word) {
    if (word[0] != '-' || word == "-") {
      line_.inputs.push_back(word);
      line_.for_linker.push_back(word);
      return;
    }
    // "--name=value" and "-name=value" are "-name value".
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    const auto value_of = [&]() -> std::string {
      return has_value ? word.substr(equals + 1) : value(name);
    };
    if (read_joined(word)) return;
    if (const auto found = options().find(name); found != options().end()) {
      found->second(*this, value_of);
    } else if (is_ignored_with_value(name)) {
      value_of();
    } else if (name == "-Werror" && !is_launched_) {
      if (!has_value && at_ < words_.size() && is_kind_of_warning(words_[at_])) ++at_;
    } else if (!is_ignored(name)) {
      line_.for_compiler.push_back(word);  // the host compiler's
      line_.for_linker.push_back(word);
    }
  }

  // -DNAME, -Ifolder, -lname, -MD: options that stand alone, or with their value joined.
  bool read_joined(const std::string& word) {
    static const std::map<std::string, Words CommandLine::*> joined = {
        {"-D", &CommandLine::for_preprocessor},
        {"-U", &CommandLine::for_preprocessor},
        {"-I", &CommandLine::for_preprocessor},
        {"-l", &CommandLine::for_linker},
        {"-L", &CommandLine::for_linker}};
    if (word == "-lineinfo" || word == "-lib") return false;
    if (const auto found = joined.find(word.substr(0, 2)); found != joined.end()) {
      (line_.*found->second).push_back(word.size() > 2 ? word : word + value(word));
      return true;
    }
    static const std::set<std::string> dependencies = {"-MD", "-MMD", "-M", "-MM"};
    if (dependencies.count(word)) {
      line_.dependencies_mode = word;
      if (word == "-M" || word == "-MM") line_.stage = Stage::kDependencies;
      return true;
    }
    if (word == "-MP" || word == "-MG") {
      line_.for_preprocessor.push_back(word);
      return true;
    }
    return false;
  }

  using Value = std::function<std::string()>;
  using Handler = std::function<void(Reader&, const Value&)>;

  static Handler stage(Stage stage) {
    return [stage](Reader& r, const Value&) { r.line_.stage = stage; };
  }
  static Handler flag(bool CommandLine::* member) {
    return [member](Reader& r, const Value&) { r.line_.*member = true; };
  }
  static Handler text(std::string CommandLine::* member) {
    return [member](Reader& r, const Value& value) { r.line_.*member = value(); };
  }
  // One option with its value, in front of which the host compiler wants `prefix`.
  static Handler list(Words CommandLine::* member, const char* prefix) {
    return [member, prefix](Reader& r, const Value& value) {
      for (const std::string& word : split(value())) {
        const std::string p = prefix;
        if (!p.empty() && p.back() == ' ') {
          (r.line_.*member).push_back(p.substr(0, p.size() - 1));
          (r.line_.*member).push_back(word);
        } else {
          (r.line_.*member).push_back(p + word);
        }
      }
    };
  }
  static Handler refused(const char* what) {
    return [what](Reader&, const Value&) {
      throw Failure{std::string("nvcc fatal   : ") + what + " cannot be made for the CPU"};
    };
  }

  static const std::map<std::string, Handler>& options() {
    static const Handler relocatable = [](Reader& r, const Value& value) {
      r.line_.is_relocatable = value() == "true";
    };
    static const Handler separate = [](Reader& r, const Value&) {
      r.line_.stage = Stage::kCompile;
      r.line_.is_relocatable = true;
    };
    static const Handler compiler = [](Reader& r, const Value& value) {
      std::string path = value();
      if (access((path + "/g++").c_str(), X_OK) == 0) path += "/g++";
      r.line_.compiler = {path};
    };
    static const Handler host = [](Reader& r, const Value& value) {
      for (const std::string& word : split(value())) {
        r.line_.for_compiler.push_back(word);
        r.line_.for_linker.push_back(word);
      }
    };
    static const Handler optimize = [](Reader& r, const Value& value) {
      r.line_.for_compiler.push_back("-O" + value());
    };
    static const Handler standard = [](Reader& r, const Value& value) {
      r.line_.for_compiler.push_back("-std=" + value());
    };
    static const Handler file = [](Reader& r, const Value& value) { r.read_file(value()); };
    static const std::map<std::string, Handler> handlers = {
        {"-c", stage(Stage::kCompile)},
        {"--compile", stage(Stage::kCompile)},
        {"-dc", separate},
        {"--device-c", separate},
        {"-dw", stage(Stage::kCompile)},
        {"-E", stage(Stage::kPreprocess)},
        {"--preprocess", stage(Stage::kPreprocess)},
        {"-cuda", stage(Stage::kRewrite)},
        {"--cuda", stage(Stage::kRewrite)},
        {"-dlink", stage(Stage::kDeviceLink)},
        {"--device-link", stage(Stage::kDeviceLink)},
        {"-lib", stage(Stage::kArchive)},
        {"--lib", stage(Stage::kArchive)},
        {"-ptx", refused("PTX")},
        {"--ptx", refused("PTX")},
        {"-cubin", refused("a cubin")},
        {"--cubin", refused("a cubin")},
        {"-fatbin", refused("a fatbin")},
        {"--fatbin", refused("a fatbin")},
        {"-optix-ir", refused("OptiX IR")},
        {"-o", text(&CommandLine::output)},
        {"--output-file", text(&CommandLine::output)},
        {"-x", text(&CommandLine::language)},
        {"--x", text(&CommandLine::language)},
        {"-MF", text(&CommandLine::dependencies_file)},
        {"--dependency-output", text(&CommandLine::dependencies_file)},
        {"-MT", text(&CommandLine::dependencies_target)},
        {"-MQ", text(&CommandLine::dependencies_target)},
        {"-rdc", relocatable},
        {"--relocatable-device-code", relocatable},
        {"-ccbin", compiler},
        {"--compiler-bindir", compiler},
        {"-Xcompiler", host},
        {"--compiler-options", host},
        {"-Xlinker", list(&CommandLine::for_linker, "-Wl,")},
        {"--linker-options", list(&CommandLine::for_linker, "-Wl,")},
        {"-O", optimize},
        {"--optimize", optimize},
        {"-std", standard},
        {"--std", standard},
        {"-isystem", list(&CommandLine::for_preprocessor, "-isystem ")},
        {"--system-include", list(&CommandLine::for_preprocessor, "-isystem ")},
        {"-include", list(&CommandLine::for_preprocessor, "-include ")},
        {"--pre-include", list(&CommandLine::for_preprocessor, "-include ")},
        {"--include-path", list(&CommandLine::for_preprocessor, "-I")},
        {"--define-macro", list(&CommandLine::for_preprocessor, "-D")},
        {"--undefine-macro", list(&CommandLine::for_preprocessor, "-U")},
        {"--library", list(&CommandLine::for_linker, "-l")},
        {"--library-path", list(&CommandLine::for_linker, "-L")},
        {"-optf", file},
        {"--options-file", file},
        {"-v", flag(&CommandLine::is_verbose)},
        {"--verbose", flag(&CommandLine::is_verbose)},
        {"-dryrun", flag(&CommandLine::is_dry)},
        {"--dryrun", flag(&CommandLine::is_dry)},
        {"-keep", flag(&CommandLine::keeps_files)},
        {"--keep", flag(&CommandLine::keeps_files)},
        {"-V", flag(&CommandLine::shows_version)},
        {"--version", flag(&CommandLine::shows_version)},
        {"-h", flag(&CommandLine::shows_help)},
        {"--help", flag(&CommandLine::shows_help)}};
    return handlers;
  }

  // Options of a file, in front of what follows.
  void read_file(const std::string& name) {
    std::ifstream in(name);
    if (!in) throw Failure{"nvcc fatal   : cannot read the options in " + name};
    Words more;
    for (std::string word; in >> word;) {
      if (word.size() > 1 && word.front() == '"' && word.back() == '"')
        word = word.substr(1, word.size() - 2);
      more.push_back(word);
    }
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_), more.begin(), more.end());
  }

  Words words_;
  std::size_t at_ = 0;
  bool is_launched_ = false;
  CommandLine line_;
};

}  // namespace

CommandLine read_command_line(const Words& arguments) {
  return Reader(arguments).read();
}

}  // namespace tenon::nvcc
