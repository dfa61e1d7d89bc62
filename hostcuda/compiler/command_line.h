/// nvcc's command line.
#pragma once

#include <string>
#include <vector>

namespace tenon::nvcc {

using Words = std::vector<std::string>;

/// What is made of the inputs.
enum class Stage {
  kLink,
  kCompile,       // -c, -dc, -dw
  kPreprocess,    // -E
  kDependencies,  // -M, -MM
  kRewrite,       // -cuda: C++ for the host compiler
  kDeviceLink,    // -dlink: nothing is left to do
  kArchive,       // -lib
};

struct CommandLine {
  Words compiler = {"g++"};  ///< with a launcher such as ccache before it
  Stage stage = Stage::kLink;
  Words inputs;
  std::string output;
  std::string language;    ///< of -x
  Words for_preprocessor;  ///< -D, -I and the like
  Words for_compiler;      ///< for preprocessor and compiler: -O2, -fPIC, -std=c++17
  Words for_linker;        ///< in their order, with libraries
  std::string dependencies_file, dependencies_target;  ///< -MF, -MT
  std::string dependencies_mode;                       ///< -MD, -MMD, -M, -MM, or ""
  bool is_relocatable = false;                         ///< -rdc=true, -dc
  bool is_verbose = false;                             ///< -v
  bool is_dry = false;                                 ///< --dryrun
  bool keeps_files = false;                            ///< --keep
  bool shows_version = false, shows_help = false;
};

/// @throws Failure for options that cannot be kept, by name.
CommandLine read_command_line(const Words& arguments);

}  // namespace tenon::nvcc
