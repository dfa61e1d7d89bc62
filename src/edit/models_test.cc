// Every edit of ONNX's node tests and of bad models: it works or refuses, and undoing gives the
// file back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "edit/testing.h"

namespace tenon::edit {
namespace {

namespace fs = std::filesystem;

std::string file_bytes(const fs::path& path) {
  const auto file = MappedFile::open(path.string());
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

std::vector<fs::path> files_in(const char* folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".onnx" && entry.file_size() > 0) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

void expect_undone(const fs::path& path) {
  const std::string bytes = file_bytes(path);
  SCOPED_TRACE(path.string());
  for (const NamedEdit& edit : every_edit()) {
    Model model = Model::parse(bytes, path.string());
    attempt(edit, model);
    // What came out is a model, of whatever worth.
    EXPECT_NO_THROW(Model::parse(model.serialize())) << edit.first;
    model.undo();
    EXPECT_TRUE(model.serialize() == bytes) << edit.first;
  }
}

TEST(Models, EveryEditOfNodeTestsIsUndone) {
  const auto files = files_in(TENON_ONNX_CASES);
  ASSERT_GT(files.size(), 1000u);
  size_t patched = 0;
  for (const fs::path& path : files) {
    expect_undone(path);
    // All edits, one after the other; what a patch does is the same.
    const std::string bytes = file_bytes(path);
    Model model = Model::parse(bytes, path.string());
    for (const NamedEdit& edit : every_edit())
      if (edit.first != "patch" && edit.first != "remove") attempt(edit, model);
    Model again = Model::parse(bytes, path.string());
    try {
      again.apply_patch(model.patch_json());
      EXPECT_EQ(show_text(again), show_text(model)) << path;
      ++patched;
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(std::string(), e.what()) << path;
    }
    model.undo();
    EXPECT_TRUE(model.serialize() == bytes) << path;
  }
  EXPECT_GT(patched, 1000u);
}

TEST(Models, BadOnesAreRefusedOrUndone) {
  const auto files = files_in(TENON_BAD_MODELS);
  ASSERT_GT(files.size(), 50u);
  for (const fs::path& path : files) {
    try {
      Model::load(path.string());
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(path.filename().string()), std::string::npos)
          << e.what();
      continue;
    }
    expect_undone(path);
  }
}

}  // namespace
}  // namespace tenon::edit
