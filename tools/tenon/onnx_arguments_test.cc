#include "onnx_arguments.h"

#include <gtest/gtest.h>

#include "error.h"

namespace tenon::tool {
namespace {

TEST(OnnxArguments, NamesStandInQuotes) {
  EXPECT_EQ(names_of("a,'b,c:0',\"d\""), (std::vector<std::string>{"a", "b,c:0", "d"}));
  EXPECT_EQ(two_names("rename", "'images:0':x"),
            std::pair(std::string("images:0"), std::string("x")));
  EXPECT_THROW(two_names("rename", "images:0:x"), Failure);
  EXPECT_THROW(two_names("rename", "x:"), Failure);
  EXPECT_EQ(single_colon("my::op:x"), 6u);
  EXPECT_EQ(single_colon("'a:b'::c"), std::string::npos);
}

TEST(OnnxArguments, Extents) {
  EXPECT_EQ(extent_of("8"), (edit::Extent{8, ""}));
  EXPECT_EQ(extent_of("batch"), (edit::Extent{-1, "batch"}));
  EXPECT_EQ(extent_of("?"), edit::Extent());
  EXPECT_THROW(extent_of("-2"), Failure);
  EXPECT_THROW(extent_of(""), Failure);
  EXPECT_THROW(extent_of("99999999999999999999"), Failure);
}

TEST(OnnxArguments, Attributes) {
  const edit::Node node = node_of(
      "my::Op,axis=-1,alpha=0.5,scales=[0.5;2],pads=[1;0],mode=linear,"
      "text='7',words=[a;b]");
  EXPECT_EQ(node.domain, "my");
  EXPECT_EQ(node.op_type, "Op");
  const std::vector<std::pair<std::string, edit::AttributeValue>> expected = {
      {"axis", int64_t{-1}},
      {"alpha", 0.5F},
      {"scales", std::vector<float>{0.5F, 2}},
      {"pads", std::vector<int64_t>{1, 0}},
      {"mode", std::string("linear")},
      {"text", std::string("7")},
      {"words", std::vector<std::string>{"a", "b"}}};
  ASSERT_EQ(node.attributes.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(node.attributes[i].first, expected[i].first);
    ASSERT_EQ(node.attributes[i].second.index(), expected[i].second.index()) << expected[i].first;
  }
  EXPECT_EQ(std::get<std::vector<float>>(node.attributes[2].second),
            std::get<std::vector<float>>(expected[2].second));
  EXPECT_EQ(std::get<std::string>(node.attributes[5].second), "7");
  EXPECT_THROW(node_of("Op,axis"), Failure);
}

}  // namespace
}  // namespace tenon::tool
