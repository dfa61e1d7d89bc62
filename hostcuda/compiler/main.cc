/// tenon-nvcc: takes nvcc's command line, and compiles CUDA C++ for the CPU with the host's
/// compiler.
#include <cstdio>
#include <filesystem>
#include <set>

#include "hostcuda/compiler/command_line.h"
#include "hostcuda/compiler/lexer.h"
#include "hostcuda/compiler/process.h"
#include "hostcuda/compiler/rewrite.h"

namespace tenon::nvcc {
namespace {

namespace fs = std::filesystem;

constexpr char kVersion[] =
    "nvcc: NVIDIA (R) Cuda compiler driver compatible: Tenon's compiler of CUDA C++ for the CPU\n"
    "Cuda compilation tools, release 13.0, V13.0.0\n";
constexpr char kHelp[] =
    "usage: tenon-nvcc [options] file...\n\n"
    "Compiles CUDA C++ for the CPU; takes nvcc's options. What it does not know goes to the host\n"
    "compiler (-ccbin, NVCC_CCBIN; g++), what concerns devices alone is ignored. As a compiler\n"
    "launcher, it is followed by the compiler: tenon-nvcc /usr/bin/c++ -c x.cu -o x.o\n";

class Driver {
 public:
  explicit Driver(CommandLine line) : line_(std::move(line)), toolkit_(toolkit_folder()) {}

  int run() {
    if (line_.is_verbose || line_.is_dry) describe();
    if (line_.inputs.empty()) throw Failure{"nvcc fatal   : no input files"};
    switch (line_.stage) {
      case Stage::kLink:
        return link();
      case Stage::kDeviceLink:
        return make_empty_object();
      case Stage::kArchive:
        return archive();
      default:
        break;
    }
    if (!line_.output.empty() && line_.inputs.size() > 1)
      throw Failure{"nvcc fatal   : one output for several inputs"};
    for (const std::string& input : line_.inputs)
      if (const int status = compile(input, line_.output)) return status;
    return 0;
  }

 private:
  using Path = fs::path;

  int call(const Words& command) const {
    return nvcc::run(command, line_.is_verbose, line_.is_dry);
  }

  // What build systems read from nvcc's own output.
  void describe() const {
    const char* const t = toolkit_.c_str();
    std::fprintf(stderr, "#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ PATH=%s/bin:%s\n",
                 t, t, t, std::getenv("PATH"));
    std::fprintf(stderr, "#$ INCLUDES=-I%s/include\n#$ LIBRARIES=-L%s/lib64\n", t, t);
    std::fprintf(stderr, "#$ tenon-nvcc -arch compute_80\n");
  }

  bool is_cuda(const std::string& input) const {
    return line_.language == "cu" || (line_.language.empty() && Path(input).extension() == ".cu");
  }
  static bool is_source(const std::string& input) {
    static const std::set<std::string> extensions = {".cu",  ".cc", ".cpp", ".cxx",
                                                     ".c++", ".C",  ".c"};
    return extensions.count(Path(input).extension().string()) > 0;
  }

  // Folders of another toolkit would bring headers that ours lack.
  Words preprocessor_options() const {
    Words options = {"-I" + toolkit_ + "/include"};
    for (std::size_t i = 0; i < line_.for_preprocessor.size(); ++i) {
      const std::string& word = line_.for_preprocessor[i];
      const bool is_folder = word.rfind("-I", 0) == 0;
      const bool is_system = word == "-isystem";
      const std::string folder = is_folder   ? word.substr(2)
                                 : is_system ? line_.for_preprocessor[i + 1]
                                             : "";
      if ((is_folder || is_system) && fs::exists(Path(folder) / "cuda_runtime_api.h")) {
        i += is_system;
        continue;
      }
      options.push_back(word);
    }
    return options;
  }

  Words dependency_options(const std::string& object) const {
    if (line_.dependencies_mode.empty()) return {};
    const std::string& target = line_.dependencies_target;
    if (line_.stage == Stage::kDependencies) {
      Words options = {line_.dependencies_mode};
      if (!target.empty()) options.insert(options.end(), {"-MT", target});
      if (!line_.dependencies_file.empty())
        options.insert(options.end(), {"-MF", line_.dependencies_file});
      return options;
    }
    const std::string file = line_.dependencies_file.empty()
                                 ? Path(object).replace_extension(".d").string()
                                 : line_.dependencies_file;
    return {line_.dependencies_mode, "-MT", target.empty() ? object : target, "-MF", file};
  }

  bool says(const char* prefix) const {
    for (const std::string& word : line_.for_compiler)
      if (word.rfind(prefix, 0) == 0) return true;
    return false;
  }

  Words compiler_options() const {
    Words options;
    if (!says("-std") && !says("--std")) options.push_back("-std=c++17");
    if (!says("-O")) options.push_back("-O2");
    options.insert(options.end(), line_.for_compiler.begin(), line_.for_compiler.end());
    // Kernels read memory as what it is not: floats as float4, halves as integers.
    options.push_back("-fno-strict-aliasing");
    return options;
  }

  static void add(Words& words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  }

  int compile(const std::string& input, const std::string& output) const {
    const bool is_object = line_.stage == Stage::kCompile || line_.stage == Stage::kLink;
    const std::string object =
        output.empty()
            ? Path(input).stem().string() + (line_.stage == Stage::kRewrite ? ".cu.cpp.ii" : ".o")
            : output;
    if (!is_cuda(input) && is_object) {
      Words command = line_.compiler;
      add(command, line_.for_compiler);
      add(command, preprocessor_options());
      add(command, dependency_options(object));
      if (!line_.language.empty()) add(command, {"-x", line_.language});
      add(command, {"-c", input, "-o", object});
      return call(command);
    }
    const bool is_rewritten = is_object || line_.stage == Stage::kRewrite;
    const std::string text = line_.stage == Stage::kRewrite ? object : object + ".ii";
    Words command = line_.compiler;
    add(command, compiler_options());
    add(command, {"-D__CUDACC__", "-D__NVCC__", "-D__TENON_HOSTCUDA__", "-D__CUDACC_VER_MAJOR__=13",
                  "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
                  "-D__CUDACC_EXTENDED_LAMBDA__", "-D__CUDACC_RELAXED_CONSTEXPR__"});
    if (line_.is_relocatable) command.push_back("-D__CUDACC_RDC__");
    add(command, preprocessor_options());
    add(command, {"-include", "tenon/hostcuda/cuda.h"});
    add(command, dependency_options(object));
    if (line_.stage != Stage::kDependencies) command.push_back("-E");
    add(command, {"-x", "c++", input});
    if (is_rewritten) {
      add(command, {"-o", text});
    } else if (!line_.output.empty()) {
      add(command, {"-o", line_.output});
    }
    if (const int status = call(command)) return status;
    if (!is_rewritten || line_.is_dry) return 0;
    try {
      write_file(text, rewrite(read_file(text), line_.is_relocatable));
    } catch (...) {
      if (!line_.keeps_files) fs::remove(text);
      throw;
    }
    return line_.stage == Stage::kRewrite ? 0 : compile_rewritten(text, object);
  }

  int compile_rewritten(const std::string& text, const std::string& object) const {
    Words command = line_.compiler;
    add(command, compiler_options());
    add(command, {"-Wno-unknown-pragmas", "-Wno-unused-value", "-x", "c++-cpp-output", "-c", text,
                  "-o", object});
    const int status = call(command);
    if (!line_.keeps_files) fs::remove(text);
    return status;
  }

  // Sources are compiled to objects beside the output, which go again.
  int link() {
    const std::string output = line_.output.empty() ? "a.out" : line_.output;
    Words command = line_.compiler, objects;
    int status = 0;
    add(command, {"-o", output});
    for (const std::string& word : line_.for_linker) {
      if (!is_source(word)) {
        command.push_back(word);
        continue;
      }
      objects.push_back(output + "." + std::to_string(objects.size()) + ".o");
      command.push_back(objects.back());
      if (status == 0) status = compile(word, objects.back());
    }
    add(command, {"-L" + toolkit_ + "/lib64", "-Wl,-rpath," + toolkit_ + "/lib64",
                  "-ltenon_hostcuda", "-lcudadevrt", "-lcudart"});
    if (status == 0) status = call(command);
    for (const std::string& object : objects) fs::remove(object);
    return status;
  }

  // Build systems link it with the rest.
  int make_empty_object() const {
    const std::string output = line_.output.empty() ? "a_dlink.o" : line_.output;
    Words command = line_.compiler;
    add(command, {"-x", "c++", "-c", "/dev/null", "-o", output});
    return call(command);
  }

  int archive() const {
    Words command = {"ar", "qc", line_.output.empty() ? "a.a" : line_.output};
    add(command, line_.inputs);
    return call(command);
  }

  const CommandLine line_;
  const std::string toolkit_;
};

int main(const Words& arguments) {
  CommandLine line = read_command_line(arguments);
  if (line.shows_version) return std::fputs(kVersion, stdout), 0;
  if (line.shows_help) return std::fputs(kHelp, stdout), 0;
  return Driver(std::move(line)).run();
}

}  // namespace
}  // namespace tenon::nvcc

int main(int count, char** words) try {
  return tenon::nvcc::main({words + 1, words + count});
} catch (const tenon::nvcc::Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.text.c_str());
  return 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "nvcc fatal   : %s\n", e.what());
  return 1;
}
