// Edits through the public header alone, as a program makes them.
#include <gtest/gtest.h>
#include <tenon/onnx.h>

#include <cstring>

#include "edit/wire.h"

namespace tenon::edit {
namespace {

// y = Relu(Add(x, w)), twice over.
Model small_model() {
  Model model = Model::make(17);
  model.set_inputs({{"x", TensorType{1, true, {{2, ""}, {3, ""}}}}});
  model.set_outputs({{"y", TensorType{1, true, {{2, ""}, {3, ""}}}}});
  model.set_constant("w", {1, {1}, std::string(4, '\0')});
  model.insert_node(model.graph(), {"add", "Add", "", {"x", "w"}, {"a"}, {}});
  model.insert_node(model.graph(), {"relu", "Relu", "", {"a"}, {"r"}, {}});
  model.insert_node(model.graph(), {"add2", "Add", "", {"w", "r"}, {"b"}, {}});
  model.insert_node(model.graph(), {"relu2", "Relu", "", {"b"}, {"y"}, {}});
  return model;
}

// The versions are those of onnx.helper.VERSION_TABLE.
TEST(Edit, ModelsAreMadeFromNothing) {
  for (const auto& [opset, version] :
       std::map<int64_t, std::string>{{17, "8"}, {20, "9"}, {22, "10"}, {24, "12"}, {28, "14"}}) {
    const Model model = Model::parse(Model::make(opset).serialize());
    EXPECT_EQ(model.opset(), opset);
    EXPECT_TRUE(show_text(model).starts_with("IR version " + version + ", opset")) << opset;
  }
}

TEST(Edit, NodesChangeWhileOneWalksOverThem) {
  Model model = small_model();
  std::vector<std::string> seen;
  for (const NodeId id : model.nodes()) {
    if (!model.is_there(id)) continue;
    const Node node = model.node(id);
    seen.push_back(node.name);
    if (node.op_type == "Add")
      for (const NodeId user : model.users(model.graph(), node.outputs[0]))
        if (model.node(user).name == "relu") model.remove_node(user, true);
    if (node.name == "add")
      model.insert_node(model.graph(), {"first", "Neg", "", {"x"}, {"n"}, {}}, id);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"add", "add2", "relu2"}));
  std::vector<std::string> names;
  for (const NodeId id : model.nodes()) names.push_back(model.node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "add", "add2", "relu2"}));
  EXPECT_EQ(model.node(*model.find_node("add2")).inputs[1], "a");
}

TEST(Edit, PatternsMatchInEitherOrder) {
  Model model = small_model();
  const Pattern pattern{"Relu", {}, {{"Add", {}, {{}, {"Relu", {}, {}}}}}};
  const auto matches = find_pattern(model, pattern);
  ASSERT_EQ(matches.size(), 1u);
  std::vector<std::string> names;
  for (const NodeId id : matches[0]) names.push_back(model.node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"relu2", "add2", "relu"}));
  const auto none = [](const Model&, NodeId) { return false; };
  EXPECT_TRUE(find_pattern(model, {"Relu", none, {}}).empty());
  EXPECT_EQ(find_pattern(model, {"", {}, {}}).size(), 4u);
}

TEST(Edit, AttributesComeBack) {
  Model model = small_model();
  const std::vector<std::pair<std::string, AttributeValue>> attributes = {
      {"i", int64_t{-7}},
      {"f", 0.5f},
      {"s", std::string("Grüße")},
      {"t", TensorValue{7, {2}, std::string(16, '\1')}},
      {"is", std::vector<int64_t>{1, -2}},
      {"fs", std::vector<float>{1.5f, 2}},
      {"ss", std::vector<std::string>{"a", ""}}};
  const NodeId id = *model.find_node("relu");
  set_operator(model, id, "Mine", "my", attributes);
  const Model again = Model::parse(model.serialize());
  const Node node = again.node(*again.find_node("relu"));
  ASSERT_EQ(node.attributes.size(), attributes.size());
  for (size_t i = 0; i < attributes.size(); ++i) {
    EXPECT_EQ(node.attributes[i].first, attributes[i].first);
    if (const auto* tensor = std::get_if<TensorValue>(&attributes[i].second))
      EXPECT_EQ(std::get<TensorValue>(node.attributes[i].second).bytes, tensor->bytes);
    else if (const auto* text = std::get_if<std::string>(&attributes[i].second))
      EXPECT_EQ(std::get<std::string>(node.attributes[i].second), *text);
    else
      EXPECT_EQ(node.attributes[i].second.index(), attributes[i].second.index());
  }
  EXPECT_EQ(again.opset("my"), 1);
}

TEST(Edit, BadRequestsChangeNothing) {
  Model model = small_model();
  const std::string before = model.serialize();
  EXPECT_THROW(extract(model, {}, {"nowhere"}), std::runtime_error);
  EXPECT_THROW(rename_tensor(model, "a", "b"), std::runtime_error);
  EXPECT_THROW(model.insert_node(model.graph(), {"", "", "", {}, {"n"}, {}}), std::runtime_error);
  EXPECT_THROW(model.insert_node(model.graph(), {"", "Neg", "", {"x"}, {"a"}, {}}),
               std::runtime_error);
  EXPECT_THROW(model.set_constant("a", {1, {}, std::string(4, '\0')}), std::runtime_error);
  EXPECT_THROW(model.set_constant("k", {1, {2}, std::string(4, '\0')}), std::runtime_error);
  EXPECT_THROW(model.set_constant("k", {1, {int64_t{1} << 40, int64_t{1} << 40}, ""}),
               std::runtime_error);
  EXPECT_THROW(model.node({}), std::runtime_error);
  EXPECT_THROW(remove_nodes(model, {"add", "nowhere"}), std::runtime_error);
  EXPECT_THROW(set_dims(model, "x", {{3, ""}}), std::runtime_error);
  EXPECT_THROW(convert_opset(model, 99), std::runtime_error);
  EXPECT_THROW(model.apply_patch("{}"), std::runtime_error);
  EXPECT_THROW(model.apply_patch("[1"), std::runtime_error);
  for (const char* change :
       {R"({"in": "model", "kind": "node", "field": 1, "key": "k", "now": "AAAA"})",
        R"({"in": "model", "kind": "other", "field": 1, "key": "k", "now": ""})",
        R"({"in": "graph", "kind": "node", "field": 1, "key": "k", "now": "////"})",
        R"({"in": "graph", "kind": "node", "field": 1, "key": "k", "now": "*"})",
        R"({"in": "graph", "kind": "node", "field": 1})", R"(3)"})
    EXPECT_THROW(model.apply_patch(std::string(R"({"format": "tenon.onnx.patch", "version": 1, )")
                                   + R"("changes": [)" + change + "]}"),
                 std::runtime_error)
        << change;
  EXPECT_THROW(append_model(model, small_model(), {{{"y", "nowhere"}}, "p_"}), std::runtime_error);
  EXPECT_EQ(model.serialize(), before);
}

TEST(Edit, FailedEditsAreTakenBack) {
  Model model = small_model();
  model.insert_node(model.graph(), {"", "Neg", "", {"b"}, {"n"}, {}});
  model.insert_node(model.graph(), {"pass", "Identity", "", {"x"}, {"o"}, {}});
  model.insert_node(model.graph(), {"read", "Abs", "", {"o"}, {"p"}, {}});
  model.set_outputs({{"y", {}}, {"o", {}}});
  const std::string before = model.serialize();
  const NodeId pass = *model.find_node("pass");
  EXPECT_THROW(model.remove_node(pass, true), std::runtime_error) << "no node gives x";
  EXPECT_EQ(model.serialize(), before);
  EXPECT_THROW(model.replace_uses(model.graph(), "o", "x"), std::runtime_error);
  EXPECT_EQ(model.serialize(), before);
  EXPECT_THROW(model.set_outputs({{"y", {}}, {"", {}}}), std::runtime_error);
  EXPECT_EQ(model.serialize(), before);
  // A graph in an attribute that is damaged, more often than graphs may nest.
  std::string bad;
  append_bytes(bad, 1, "body");
  append_bytes(bad, 6, "\x0a\x7f");
  for (int i = 0; i < 40; ++i)
    EXPECT_THROW(model.insert_node(model.graph(),
                                   {"", "Loop", "", {}, {"l"}, {{"body", OtherAttribute{bad}}}}),
                 std::runtime_error);
  std::string good;
  append_bytes(good, 1, "body");
  append_bytes(good, 6, "");
  EXPECT_NO_THROW(model.insert_node(model.graph(),
                                    {"", "Loop", "", {}, {"l"}, {{"body", OtherAttribute{good}}}}));
}

TEST(Edit, APatchDoesTheSameAgain) {
  const Model first = small_model();
  const std::string bytes = first.serialize();
  Model model = Model::parse(bytes);
  remove_nodes(model, {"relu"});
  rename_tensor(model, "b", "middle");
  model.set_constant("w", {1, {1}, std::string("\0\0\x80\x3f", 4)});
  model.set_metadata("author", "me");
  convert_opset(model, 21);
  Model next = Model::parse(bytes);
  next.apply_patch(model.patch_json());
  EXPECT_EQ(next.serialize(), model.serialize());
  const std::string text = model.patch_text();
  EXPECT_NE(text.find("- Relu 'relu'"), std::string::npos) << text;
  EXPECT_NE(text.find("opset ai.onnx 17\n    becomes opset ai.onnx 21"), std::string::npos) << text;
  EXPECT_THROW(next.apply_patch(model.patch_json()), std::runtime_error) << "relu is gone";
}

}  // namespace
}  // namespace tenon::edit
