#include "hostcuda/compiler/command_line.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "hostcuda/compiler/lexer.h"

namespace tenon::nvcc {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(CommandLineTest, ReadsWhatCMakePasses) {
  const CommandLine line =
      read_command_line({"-forward-unknown-to-host-compiler",
                         "-DA=1",
                         "-I/x",
                         "-isystem=/y",
                         "-O3",
                         "-DNDEBUG",
                         "--generate-code=arch=compute_80,code=[compute_80,sm_80]",
                         "-Xcompiler=-fPIC",
                         "-std=c++17",
                         "-MD",
                         "-MT",
                         "x.o",
                         "-MF",
                         "x.o.d",
                         "-x",
                         "cu",
                         "-c",
                         "x.cu",
                         "-o",
                         "x.o"});
  EXPECT_EQ(line.stage, Stage::kCompile);
  EXPECT_THAT(line.inputs, ElementsAre("x.cu"));
  EXPECT_EQ(line.output, "x.o");
  EXPECT_EQ(line.language, "cu");
  EXPECT_EQ(line.dependencies_file, "x.o.d");
  EXPECT_THAT(line.for_preprocessor, ElementsAre("-DA=1", "-I/x", "-isystem", "/y", "-DNDEBUG"));
  EXPECT_THAT(line.for_compiler, ElementsAre("-O3", "-fPIC", "-std=c++17"));
}

TEST(CommandLineTest, ReadsWhatMakefilesPass) {
  const CommandLine line = read_command_line({"-gencode",
                                              "arch=compute_70,code=sm_70",
                                              "-arch",
                                              "sm_80",
                                              "-Xcompiler",
                                              "-Wall,-fPIC",
                                              "--std",
                                              "c++14",
                                              "--expt-relaxed-constexpr",
                                              "-lineinfo",
                                              "-rdc=true",
                                              "-dc",
                                              "-Werror",
                                              "all-warnings",
                                              "-Xptxas",
                                              "-v",
                                              "-ccbin",
                                              "clang++",
                                              "-D",
                                              "B",
                                              "-lcudnn",
                                              "a.cu"});
  EXPECT_EQ(line.stage, Stage::kCompile);
  EXPECT_TRUE(line.is_relocatable);
  EXPECT_FALSE(line.is_verbose);
  EXPECT_THAT(line.compiler, ElementsAre("clang++"));
  EXPECT_THAT(line.for_compiler, ElementsAre("-Wall", "-fPIC", "-std=c++14"));
  EXPECT_THAT(line.for_preprocessor, ElementsAre("-DB"));
  EXPECT_THAT(line.for_linker, Contains("-lcudnn"));
  EXPECT_THAT(line.inputs, ElementsAre("a.cu"));
}

TEST(CommandLineTest, IsACompilerLauncher) {
  const CommandLine line = read_command_line({"/bin/sh", "-Werror", "-c", "x.cu"});
  EXPECT_THAT(line.compiler, ElementsAre("/bin/sh"));
  EXPECT_THAT(line.for_compiler, ElementsAre("-Werror"));
  EXPECT_THAT(line.inputs, ElementsAre("x.cu"));
}

TEST(CommandLineTest, OtherLaunchersGoBeforeTheCompiler) {
  const CommandLine line =
      read_command_line({"env", "/bin/sh", "-c", "x.cu"});  // as "ccache", from PATH
  EXPECT_THAT(line.compiler, ElementsAre("env", "/bin/sh"));
  EXPECT_THAT(line.inputs, ElementsAre("x.cu"));
  EXPECT_THAT(read_command_line({"env", "-c"}).inputs, ElementsAre("env"));
}

TEST(CommandLineTest, ALaunchedFileOfCudaIsNoneOfCxx) {
  EXPECT_EQ(read_command_line({"/bin/sh", "-x", "c++", "-c", "x.cu"}).language, "");
  EXPECT_EQ(read_command_line({"/bin/sh", "-x", "c++", "-c", "x.inl"}).language, "c++");
  EXPECT_EQ(read_command_line({"-x", "c++", "-c", "x.cu"}).language, "c++");
}

TEST(CommandLineTest, ACompilersNameMayHaveAVersion) {
  const std::string folder = ::testing::TempDir() + "/.tools-1.2";
  const std::string program = folder + "/c++-12.2", source = folder + "/x.cu";
  std::filesystem::create_directories(folder);
  for (const std::string& file : {program, source}) {
    std::filesystem::copy_file("/bin/true", file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const CommandLine line = read_command_line({program, source});
  EXPECT_THAT(line.compiler, ElementsAre(program));
  EXPECT_THAT(line.inputs, ElementsAre(source));
  std::filesystem::remove_all(folder);
}

TEST(CommandLineTest, RefusesWhatIsForDevicesByName) {
  try {
    read_command_line({"-ptx", "x.cu"});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.text, "nvcc fatal   : PTX cannot be made for the CPU");
  }
  EXPECT_THROW(read_command_line({"-o"}), Failure);
}

}  // namespace
}  // namespace tenon::nvcc
