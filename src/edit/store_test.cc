// What the store promises: untouched bytes stay, the index is right after every change, undoing
// gives the file back.
#include "edit/store.h"

#include <gtest/gtest.h>
#include <tenon/onnx.h>
#include <tenon_source_dir.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  const auto file = MappedFile::open(path.string());
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

// Models that lie in the tree.
std::vector<fs::path> models() {
  std::vector<fs::path> found;
  for (const char* folder : {"test/golden", "examples", "src/import/testdata", "plugins"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TENON_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".onnx") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

TEST(Store, WritesWhatItRead) {
  ASSERT_GT(models().size(), 3u);
  for (const fs::path& path : models()) {
    const std::string bytes = bytes_of(path);
    EXPECT_TRUE(Model::load(path.string()).serialize() == bytes) << path;
    // Written item by item, once anything changed.
    const Model model = Model::parse(bytes);
    const Id id = model.store().insert(0, Kind::kMetadata, 14, "");
    model.store().remove(id);
    EXPECT_TRUE(model.serialize() == bytes) << path;
  }
}

// Fields in an unusual order, unknown ones, a length of more bytes than it needs.
TEST(Store, KeepsStrangeBytes) {
  std::string node;
  append_bytes(node, 4, "Relu");
  append_bytes(node, 2, "y");
  append_number(node, 99, 7);
  append_bytes(node, 1, "x");
  std::string graph;
  append_bytes(graph, 12, value_info("y", {1, false, {}}));
  append_bytes(graph, 1, node);
  append_bytes(graph, 77, "unknown");
  append_bytes(graph, 11, value_info("x", {1, false, {}}));
  std::string bytes;
  bytes += std::string("\x08\x88\x00", 3);  // IR version 8 in two bytes
  append_bytes(bytes, 7, graph);
  append_float(bytes, 200, 1.5f);
  Model model = Model::parse(bytes);
  EXPECT_EQ(model.serialize(), bytes);
  rename_tensor(model, "x", "input");
  const std::string changed = model.serialize();
  EXPECT_NE(changed.find("unknown"), std::string::npos);
  EXPECT_NE(changed.find(node.substr(node.find('y') + 1, 3)), std::string::npos) << "field 99";
  EXPECT_EQ(changed.substr(0, 3), bytes.substr(0, 3));
  model.undo();
  EXPECT_EQ(model.serialize(), bytes);
}

// The index as a scan of everything finds it.
void expect_right_index(const Store& store) {
  for (const Id graph : store.containers()) {
    std::map<std::string_view, std::vector<Id>> readers;
    for (const Id id : store.items(graph, Kind::kNode))
      for (const std::string_view input : store.node(id).inputs)
        if (!input.empty()) readers[input].push_back(id);
    for (auto& [name, ids] : readers) {
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      const Id producer = store.producer(graph, name);
      if (producer == kNone || store.item(producer).container != graph) continue;
      std::vector<Id> found;
      for (const Id user : store.users(graph, name))
        if (store.item(user).kind == Kind::kNode && store.item(user).container == graph)
          found.push_back(user);
      std::ranges::sort(ids);
      EXPECT_EQ(found, ids) << name;
    }
  }
}

void edit_at_random(Model& model, std::mt19937& random) {
  Store& store = model.store();
  const auto graphs = store.containers();
  const Id graph = graphs[random() % graphs.size()];
  const auto nodes = store.items(graph, Kind::kNode);
  const auto initializers = store.items(graph, Kind::kInitializer);
  if (nodes.empty()) return;
  const Id node = nodes[random() % nodes.size()];
  const Content& content = store.content(node);
  switch (random() % 7) {
    case 0:
      model.remove_node({node});
      break;
    case 1:
      store.insert_node(graph, store.draft(node), random() % 2 == 0 ? node : kNone);
      break;
    case 2:
      if (!content.node->outputs.empty() && !content.node->outputs[0].empty())
        rename_value(store, graph, content.node->outputs[0], store.new_name("renamed"));
      break;
    case 3:
      if (!initializers.empty()) store.remove(initializers[random() % initializers.size()]);
      break;
    case 4:
      model.set_opset(static_cast<int64_t>(random() % 20 + 1));
      break;
    case 5:
      model.replace_node({node}, model.node({node}));
      break;
    default:
      if (!content.node->inputs.empty())
        store.replace_uses(graph, content.node->inputs[0], store.keep("other"));
  }
}

TEST(Store, UndoesRandomEdits) {
  std::mt19937 random(1);
  for (const fs::path& path : models()) {
    const std::string bytes = bytes_of(path);
    Model model = Model::parse(bytes);
    std::vector<std::pair<size_t, std::string>> marks;
    for (int i = 0; i < 30; ++i) {
      marks.emplace_back(model.steps(), model.serialize());
      edit_at_random(model, random);
    }
    expect_right_index(model.store());
    while (!marks.empty()) {
      model.undo_to(marks.back().first);
      ASSERT_TRUE(model.serialize() == marks.back().second) << path << " " << marks.size();
      marks.pop_back();
    }
    ASSERT_TRUE(model.serialize() == bytes) << path;
    expect_right_index(model.store());
  }
}

TEST(Store, RefusesWhatIsNoModel) {
  for (const std::string& bytes :
       {std::string(), std::string("dummy"), std::string("\x08\x08", 2),
        std::string("\xff\xff\xff"), std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10)})
    EXPECT_THROW(Model::parse(bytes), std::runtime_error) << bytes;
  std::string graph;
  for (int i = 0; i < 1000; ++i) {
    std::string attribute, node;
    append_bytes(attribute, 6, graph);
    append_bytes(node, 5, attribute);
    graph.clear();
    append_bytes(graph, 1, node);
  }
  std::string model;
  append_bytes(model, 7, graph);
  EXPECT_THROW(Model::parse(model), std::runtime_error) << "nested too deep";
}

TEST(Store, EveryTruncationIsRefusedOrWritten) {
  const std::string bytes = bytes_of(fs::path(TENON_SOURCE_DIR) / "test/golden/mlp/model.onnx");
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
    try {
      EXPECT_EQ(Model::parse(bytes.substr(0, size)).serialize(), bytes.substr(0, size));
    } catch (const std::runtime_error&) {}
  }
}

}  // namespace
}  // namespace tenon::edit
