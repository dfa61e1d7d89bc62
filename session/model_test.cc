#include "tenon/session/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tenon/session/engine.h"
#include "tenon_source_dir.h"

namespace tenon::session {
namespace {

using ::testing::HasSubstr;

const std::string kModel = TENON_SOURCE_DIR "/test/golden/mlp/model.onnx";
const Ranges kRanges{{"input", {{1, 1, 12, 12}, {1, 1, 12, 12}, {5, 1, 12, 12}}}};

std::string bytes_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(Model, BecomesAPlan) {
  ErrorLog log;
  auto model = Model::parse_file(kModel, log);
  ASSERT_TRUE(model) << model.error();
  ASSERT_EQ(model->varying_inputs().size(), 1u);
  ASSERT_TRUE(model->add_profile(kRanges, log));
  const auto plan = model->build(log);
  ASSERT_TRUE(plan) << plan.error();
  const auto engine = Engine::load(**plan, log);
  ASSERT_TRUE(engine) << engine.error();
  EXPECT_EQ(engine->engine->getNbIOTensors(), 2);
}

TEST(Model, ComesFromBytes) {
  ErrorLog log;
  const std::string bytes = bytes_of(kModel);
  EXPECT_TRUE(Model::parse(std::as_bytes(std::span(bytes)), log));
  const auto bad = Model::parse(std::as_bytes(std::span(bytes).first(bytes.size() / 2)), log);
  EXPECT_THAT(bad.error(), HasSubstr("the model: "));
}

TEST(Model, AnErrorNamesTheFile) {
  ErrorLog log;
  EXPECT_THAT(Model::parse_file("/nowhere.onnx", log).error(), HasSubstr("/nowhere.onnx"));
}

TEST(Model, AProfileNeedsWhatVaries) {
  ErrorLog log;
  auto model = Model::parse_file(kModel, log);
  ASSERT_TRUE(model);
  EXPECT_THAT(model->add_profile({}, log).error(),
              HasSubstr("input 'input' has extents known only at run time (-1x1x12x12): give its "
                        "range"));
  EXPECT_THAT(model->add_profile({{"input", {{2, 1, 12, 12}, {1, 1, 12, 12}, {5, 1, 12, 12}}}}, log)
                  .error(),
              HasSubstr("input"));
}

}  // namespace
}  // namespace tenon::session
