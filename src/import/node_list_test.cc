#include "import/node_list.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void add(NodeList::Nodes& nodes, const char* name, std::vector<const char*> inputs) {
  auto& node = *nodes.Add();
  node.set_name(name);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(name);
}

std::vector<std::string> rest_of(NodeList& list) {
  std::vector<std::string> names;
  while (list.next()) names.push_back(list.current().name());
  return names;
}

TEST(NodeList, FollowersReadWhatANodeMakes) {
  NodeList::Nodes nodes;
  add(nodes, "branch", {"x"});
  add(nodes, "apart", {"x"});
  add(nodes, "near", {"apart", "branch"});
  add(nodes, "far", {"near"});
  add(nodes, "loop", {"x"});
  auto& body = *nodes.Mutable(4)->add_attribute()->mutable_g();
  add(*body.mutable_node(), "inside", {"far"});
  add(nodes, "last", {"apart"});
  NodeList list(nodes, {"apart", "far", "branch"});
  EXPECT_TRUE(list.next());
  EXPECT_EQ(list.current().name(), "branch");
  NodeList followers = list.take_followers();
  EXPECT_THAT(list.taken_by(0), ElementsAre(2, 3, 4));
  EXPECT_THAT(followers.outputs(), ElementsAre("far", "branch"));
  NodeList copy = followers.copy();
  onnx::NodeProto first;
  first.set_name("first");
  copy.prepend(first);
  EXPECT_THAT(rest_of(followers), ElementsAre("near", "far", "loop"));
  EXPECT_THAT(rest_of(list), ElementsAre("apart", "last"));
  EXPECT_THAT(list.taken_by(1), IsEmpty());
  nodes.Clear();
  EXPECT_THAT(rest_of(copy), ElementsAre("first", "near", "far", "loop"));
}

// "other" would take "joined" and "more" from "branch", which has taken "near".
TEST(NodeList, WhatHasSeveralRanksGoesAlongWithFollowersThatNeedIt) {
  NodeList::Nodes nodes;
  add(nodes, "branch", {"x"});
  add(nodes, "apart", {"x"});
  add(nodes, "before", {"apart"});
  add(nodes, "other", {"before"});
  add(nodes, "joined", {"other"});
  add(nodes, "near", {"branch", "joined"});
  add(nodes, "more", {"other"});
  add(nodes, "not_needed", {"apart"});
  for (const int i : {0, 2, 3, 7}) nodes.Mutable(i)->set_op_type("Squeeze");
  NodeList list(nodes, {"near", "more", "apart"});
  EXPECT_TRUE(list.next());
  NodeList followers = list.take_followers();
  EXPECT_THAT(rest_of(followers), ElementsAre("before", "other", "joined", "near", "more"));
  EXPECT_THAT(followers.outputs(), ElementsAre("near", "more"));
  EXPECT_THAT(rest_of(list), ElementsAre("apart", "not_needed"));
}

}  // namespace
}  // namespace tenon
