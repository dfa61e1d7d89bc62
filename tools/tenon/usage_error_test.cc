#include "usage_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::tool {
namespace {

using ::testing::HasSubstr;

// The message about these arguments of `tenon`; "" where they are fine.
std::string error_of(const std::string& arguments) {
  CLI::App app;
  CLI::App* const run = app.add_subcommand("run", "Runs");
  std::string text;
  run->add_option("model", text)->required();
  for (const char* name : {"--inputs", "--image", "--shapes", "--minShapes", "--optShapes"})
    run->add_option(name, text);
  CLI::App* const check = app.add_subcommand("plugins", "")->add_subcommand("check", "");
  check->add_option("--cases", text);
  app.require_subcommand(1);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return "";
}

TEST(UsageError, NamesTheCommandAndOptionsLikeAMisspeltOne) {
  EXPECT_EQ(error_of("run m --inputs a"), "");
  EXPECT_EQ(error_of("run m --input a.npz"),
            "`tenon run` has no option --input; the closest is --inputs: `tenon run --help` lists "
            "what it takes");
  EXPECT_THAT(error_of("run m --shape=x:1"),
              HasSubstr("no option --shape; the closest are --shapes, --minShapes, --optShapes: "));
  EXPECT_THAT(error_of("plugins check --case=c"),
              HasSubstr("`tenon plugins check` has no option --case; the closest is --cases: "));
  EXPECT_THAT(error_of("run m --entirely"), HasSubstr("no option --entirely: `tenon run --help`"));
}

TEST(UsageError, SaysWhatElseIsWrong) {
  EXPECT_THAT(error_of("run m n"), HasSubstr("`tenon run` takes no argument 'n': "));
  EXPECT_THAT(error_of("run"), HasSubstr("model is required: `tenon run --help`"));
  EXPECT_THAT(error_of(""), HasSubstr("subcommand is required: `tenon --help`"));
}

TEST(UnknownCommand, NamesThoseThatAreClose) {
  CLI::App app;
  for (const char* name : {"run", "build", "bench"}) app.add_subcommand(name, "");
  EXPECT_EQ(unknown_command(app, "run"), "");
  EXPECT_EQ(unknown_command(app, "--version"), "");
  EXPECT_EQ(unknown_command(app, "biuld"),
            "there is no command 'biuld'; the closest is build: `tenon --help` lists them");
  EXPECT_THAT(unknown_command(app, "entirely"), HasSubstr("command 'entirely': `tenon --help`"));
}

}  // namespace
}  // namespace tenon::tool
