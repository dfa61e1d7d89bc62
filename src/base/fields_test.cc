#include "base/fields.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

enum class Colour : int32_t { kRed, kBlue };

struct Sample {
  bool flag = false;
  int64_t count = 1;
  Colour colour = Colour::kRed;
  float factor = 0.1f;
  std::string label;
  Shape shape;
  std::vector<int32_t> axes;
  std::vector<float> scales;

  void visit(FieldVisitor& v) {
    v("flag", flag);
    v("count", count);
    v("colour", colour);
    v("factor", factor);
    v("label", label);
    v("shape", shape);
    v("axes", axes);
    v("scales", scales);
  }
};

Sample filled() {
  return {true, -5, Colour::kBlue, 0.3f, "a \"b\"", {2, 3}, {1, 0}, {0.5f, 2}};
}

TEST(Fields, WhatIsSavedIsRestored) {
  const Sample from = filled();
  Sample to;
  set_fields(to, fields_of(from));
  EXPECT_EQ(fields_of(to), fields_of(from));
  EXPECT_TRUE(to.flag);
  EXPECT_EQ(to.count, -5);
  EXPECT_EQ(to.colour, Colour::kBlue);
  EXPECT_EQ(to.factor, 0.3f);
  EXPECT_EQ(to.label, from.label);
  EXPECT_EQ(to.shape, from.shape);
  EXPECT_EQ(to.axes, from.axes);
  EXPECT_EQ(to.scales, from.scales);
}

TEST(Fields, MissingUnknownAndMistypedAttributesAreErrors) {
  Sample s;
  FieldList fields = fields_of(filled());
  FieldList missing(fields.begin(), fields.end() - 1);
  EXPECT_THROW(set_fields(s, missing), Error);
  FieldList unknown = fields;
  unknown.emplace_back("more", true);
  EXPECT_THROW(set_fields(s, unknown), Error);
  fields[1].second = 1.5;
  EXPECT_THROW(set_fields(s, fields), Error);
}

TEST(Fields, Text) {
  EXPECT_EQ(text_of(FieldValue(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(text_of(FieldValue(std::string("x"))), "\"x\"");
  EXPECT_EQ(text_of(FieldValue(true)), "true");
}

}  // namespace
}  // namespace tenon
