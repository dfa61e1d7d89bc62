// What the importer makes of models that are damaged, hostile or merely unusual.
#include <onnx_schema.pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/small_models.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace testing;

TEST(Reader, ImportsASmallModel) {
  EXPECT_EQ(numbers(run(relu_model(), {floats({-1, 0, 2})})), (std::vector<double>{0, 0, 2}));
}

TEST(Reader, NamesWhatIsNotAModel) {
  EXPECT_THAT(error_of(std::string()), HasSubstr("empty"));
  EXPECT_THAT(error_of("dummy text, not a model"), HasSubstr("not an ONNX model"));
  EXPECT_THAT(error_of("dummy", "some/file.onnx"), HasSubstr("some/file.onnx"));
  EXPECT_THAT(error_of(std::string(1000, '\0')), HasSubstr("not an ONNX model"));
}

TEST(Reader, RefusesMoreThanTwoGigabytesUnread) {
  const std::byte first{};  // the rest is never looked at
  Network network;
  ImportReport report;
  EXPECT_THROW(import_onnx({&first, size_t{1} << 31}, ImportOptions(), network, report), Error);
  EXPECT_THAT(report.problems.at(0).text, HasSubstr("at most 2 GiB"));
}

TEST(Reader, SurvivesTruncationAtEveryByte) {
  const std::string whole = add_model(float_tensor("w", {3}, {1, 2, 3})).SerializeAsString();
  ASSERT_EQ(error_of(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) error_of(whole.substr(0, size));
}

TEST(Reader, SurvivesEveryChangedByte) {
  const std::string whole = add_model(float_tensor("w", {3}, {1, 2, 3})).SerializeAsString();
  for (size_t i = 0; i < whole.size(); ++i)
    for (const int change : {1, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      error_of(damaged);
    }
}

TEST(Reader, ChecksVersions) {
  auto model = relu_model();
  model.set_ir_version(999);
  EXPECT_THAT(error_of(model), HasSubstr("IR version is 999"));
  model.clear_ir_version();
  EXPECT_THAT(error_of(model), HasSubstr("IR version is 0"));
  model = relu_model();
  model.mutable_opset_import(0)->set_version(-3);
  EXPECT_THAT(error_of(model), HasSubstr("opset -3"));
  model.mutable_opset_import(0)->set_version(4000);
  EXPECT_THAT(error_of(model), HasSubstr("opset 4000"));
  model.clear_opset_import();
  EXPECT_THAT(error_of(model), HasSubstr("opset_import does not name the standard domain"));
}

TEST(Reader, RefusesBadGraphs) {
  auto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_THAT(error_of(model), HasSubstr("tensor 'nowhere' does not exist"));

  model = relu_model();
  *model.mutable_graph()->add_node() = model.graph().node(0);
  EXPECT_THAT(error_of(model), HasSubstr("two tensors are called 'y'"));

  model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "y");
  EXPECT_THAT(error_of(model), HasSubstr("cycle"));

  model = relu_model();
  model.mutable_graph()->clear_output();
  EXPECT_THAT(error_of(model), HasSubstr("no outputs"));

  model = relu_model();
  model.mutable_graph()->mutable_node(0)->clear_input();
  EXPECT_THAT(error_of(model), HasSubstr("it has 0 inputs; expected 1"));

  model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_output(0, "\xff\xfe");
  EXPECT_THAT(error_of(model), HasSubstr("UTF-8"));
}

TEST(Reader, ChecksTheSizeOfTensors) {
  EXPECT_THAT(error_of(add_model(float_tensor("w", {4}, {1, 2, 3}))),
              HasSubstr("raw_data has 12 bytes; type float32 and shape 4 need 16"));
  EXPECT_THAT(error_of(add_model(float_tensor("w", {-3}, {1, 2, 3}))),
              HasSubstr("a dimension is -3"));
  EXPECT_THAT(error_of(add_model(float_tensor("w", {int64_t{1} << 40, int64_t{1} << 40}, {1}))),
              HasSubstr("more elements than fit 64 bits"));
  auto tensor = float_tensor("w", {3}, {1, 2, 3});
  tensor.set_data_type(77);
  EXPECT_THAT(error_of(add_model(tensor)), HasSubstr("77"));
}

TEST(Reader, ConvertsWhatHasNoCounterpart) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::DOUBLE);
  tensor.add_dims(3);
  for (double v : {0.5, 1.5, 2.5}) tensor.add_double_data(v);
  EXPECT_EQ(numbers(run(add_model(tensor), {floats({1, 1, 1})})),
            (std::vector<double>{1.5, 2.5, 3.5}));
  tensor.clear_double_data();
  tensor.set_data_type(onnx::TensorProto::UINT64);
  for (int i = 0; i < 3; ++i) tensor.add_uint64_data(UINT64_MAX);
  EXPECT_THAT(error_of(add_model(tensor)), HasSubstr("does not fit int64"));
}

TEST(Reader, RefusesDeepNesting) {
  // Each level is a graph attribute of a node: a million of them would overflow a stack.
  std::string inner;
  const auto wrap = [](char tag, const std::string& text) {
    std::string out(1, tag);
    for (size_t size = text.size();; size >>= 7) {
      out += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) break;
    }
    return out + text;
  };
  for (int i = 0; i < 5000; ++i) inner = wrap('\x0a', wrap('\x2a', wrap('\x32', inner)));
  EXPECT_THAT(error_of(wrap('\x3a', inner)), HasSubstr("deeper than"));
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("tenon_external_{}", ::getpid());
    fs::create_directories(folder_ / "model" / "inside");
    write("model/inside/weights.bin", 32);
    write("secret.bin", 32);
    fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
    fs::create_directory_symlink(folder_, folder_ / "model" / "up");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const char* name, size_t floats) {
    const std::vector<float> values(floats, 2.0f);
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(floats * sizeof(float)));
  }
  onnx::ModelProto model(std::map<std::string, std::string> entries) {
    onnx::TensorProto t = float_tensor("w", {3}, {});
    t.clear_raw_data();
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& entry = *t.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return add_model(t);
  }
  std::string error(std::map<std::string, std::string> entries) {
    return error_of(model(std::move(entries)), folder_ / "model" / "m.onnx");
  }
  fs::path folder_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(error({{"location", "inside/weights.bin"}}), "");
  EXPECT_EQ(error({{"location", "inside/weights.bin"}, {"offset", "116"}, {"length", "12"}}), "");
}

TEST_F(ExternalData, CannotLeaveTheModelsFolder) {
  EXPECT_THAT(error({{"location", "../secret.bin"}}), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(error({{"location", "inside/../../secret.bin"}}), HasSubstr("leaves"));
  EXPECT_THAT(error({{"location", folder_ / "secret.bin"}}), HasSubstr("not a relative path"));
  EXPECT_THAT(error({{"location", "C:\\secret.bin"}}), HasSubstr("not a relative path"));
  EXPECT_THAT(error({{"location", "link.bin"}}), HasSubstr("link that leaves"));
  EXPECT_THAT(error({{"location", "up/secret.bin"}}), HasSubstr("link that leaves"));
  fs::create_hard_link(folder_ / "secret.bin", folder_ / "model" / "hard.bin");
  EXPECT_THAT(error({{"location", "hard.bin"}}), HasSubstr("2 names"));
}

TEST_F(ExternalData, IgnoresKeysThatNobodyKnows) {
  EXPECT_EQ(error({{"location", "inside/weights.bin"}, {"__class__", "x"}, {"checksum", "?"}}), "");
}

TEST_F(ExternalData, MustBeARegularFile) {
  ASSERT_EQ(::mkfifo((folder_ / "model" / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error({{"location", "fifo"}}), HasSubstr("not a regular file"));
  fs::create_symlink("/dev/zero", folder_ / "model" / "zero");
  EXPECT_THAT(error({{"location", "zero"}}), HasSubstr("link that leaves"));
}

TEST_F(ExternalData, MustFit) {
  const std::string file = "inside/weights.bin";
  EXPECT_THAT(error({{"location", file}, {"offset", "120"}}), HasSubstr("needs 12 bytes"));
  EXPECT_THAT(error({{"location", file}, {"offset", "18446744073709551615"}}),
              HasSubstr("needs 12"));
  EXPECT_THAT(error({{"location", file}, {"offset", "-1"}}), HasSubstr("offset is '-1'"));
  EXPECT_THAT(error({{"location", file}, {"length", "4611686018427387904"}}), HasSubstr("length"));
  EXPECT_THAT(error({{"location", "missing.bin"}}), HasSubstr("missing"));
  EXPECT_THAT(error({{"location", "inside"}}), HasSubstr("directory"));
  EXPECT_THAT(error({{"offset", "0"}}), HasSubstr("without a location"));
}

}  // namespace
}  // namespace tenon
