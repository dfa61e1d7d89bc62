#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/error_codes.h"

namespace tenon {
namespace {

template <class Body> Error error_of(Body body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  return {ErrorCode::kSUCCESS, "nothing was thrown"};
}

TEST(ErrorClass, IsTheCodesUnlessItIsSaid) {
  const Error plain = error_of([] { require(false, "{} is odd", 3); });
  EXPECT_EQ(plain.code(), ErrorCode::kINVALID_ARGUMENT);
  EXPECT_EQ(plain.error_class(), ErrorClass::kArgument);
  const Error own = error_of([] { require(false, ErrorClass::kAddress, "no address"); });
  EXPECT_EQ(own.code(), ErrorCode::kINVALID_STATE);
  EXPECT_EQ(with_code(own.what(), own.error_class()), "no address [TN5002]");
  EXPECT_EQ(class_of(ErrorCode::kUNSUPPORTED_STATE), ErrorClass::kNotSupported);
  EXPECT_EQ(class_of(ErrorCode::kUNSPECIFIED_ERROR), ErrorClass::kOther);
}

TEST(ErrorClass, StaysBehindAContext) {
  const Error e = error_of(
      [] { with_context("layer a", [] { fail(ErrorClass::kPluginFailed, "it failed"); }); });
  EXPECT_STREQ(e.what(), "layer a: it failed");
  EXPECT_EQ(e.error_class(), ErrorClass::kPluginFailed);
}

TEST(ErrorClass, OfWorkIsThatOfItsPlainErrorsAlone) {
  const auto within = [](auto body) {
    return error_of([&] { in_class(ErrorClass::kPlan, body); }).error_class();
  };
  EXPECT_EQ(within([] { require(false, "truncated"); }), ErrorClass::kPlan);
  EXPECT_EQ(within([] { fail(ErrorClass::kPlanVersion, "old"); }), ErrorClass::kPlanVersion);
  EXPECT_EQ(within([] { fail(ErrorCode::kFAILED_ALLOCATION, "full"); }), ErrorClass::kMemory);
}

TEST(ErrorCodes, AreInOrderAndComplete) {
  int before = 1000;
  for (const ErrorExplanation& e : kErrorCodes) {
    EXPECT_LT(before, e.number);
    before = e.number;
    for (const char* text : {e.why, e.remedy})
      EXPECT_THAT(text, ::testing::EndsWith(".")) << e.number;
    EXPECT_THAT(e.what, ::testing::Not(::testing::EndsWith("."))) << e.number;
  }
}

}  // namespace
}  // namespace tenon
