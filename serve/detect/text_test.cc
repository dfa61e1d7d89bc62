#include "tenon/serve/text.h"

#include <gmock/gmock.h>

#include <cmath>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Alphabet, IsCodePoints) {
  EXPECT_THAT(*characters_of("aé字😀 "), ElementsAre("a", "é", "字", "😀", " "));
  EXPECT_THAT(characters_of("").error(), HasSubstr("one character or more, found none"));
}

TEST(Alphabet, IsLinesOfADictionary) {
  EXPECT_THAT(*characters_of_lines("a\r\n字\n\nxy\n"), ElementsAre("a", "字", "", "xy"));
  EXPECT_THAT(*characters_of_lines("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(characters_of_lines("").error(), HasSubstr("found none"));
  EXPECT_THAT(characters_of_lines("a\n\xFF").error(), HasSubstr("other bytes at offset 2"));
}

// Cut short, overlong, a surrogate, beyond U+10FFFF, a byte that begins nothing.
TEST(Alphabet, RefusesWhatIsNotUtf8) {
  for (const std::string_view text :
       {"a\xC3", "\xE5\xAD", "\xF0\x9F\x98", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80",
        "\xF0\x80\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF",
        "\xC3\x28", "\xE5\x28\x97"})
    EXPECT_THAT(characters_of(text).error(), HasSubstr("expected UTF-8")) << text;
  for (const std::string_view text : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                      "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(characters_of(text)) << characters_of(text).error();
}

TEST(Text, IsThePapers) {
  Golden logits("text.logits"), text("text.text"), score("text.score");
  const auto alphabet = *characters_of("aé字😀b ");
  const auto found = decode_text(logits.view(), alphabet, {.is_logit = true});
  ASSERT_TRUE(found) << found.error();
  const auto bytes = text.elements<uint8_t>();
  EXPECT_EQ(found->text, std::string(bytes.begin(), bytes.end()));
  EXPECT_NEAR(found->score, score.elements<float>()[0], 1e-6F);
}

// a a - a b, with the blank last.
TEST(Text, CollapsesRepeatsAndLeavesBlanksOut) {
  const std::vector<float> scores = {0.8F, 0.1F, 0.1F, 0.6F, 0.2F, 0.2F, 0.1F, 0.1F,
                                     0.8F, 0.7F, 0.1F, 0.2F, 0.1F, 0.5F, 0.4F};
  const auto alphabet = *characters_of("ab");
  const auto text = decode_text(view_of(scores, {5, 3}), alphabet, {.blank = 2});
  ASSERT_TRUE(text) << text.error();
  EXPECT_EQ(text->text, "aab");
  EXPECT_NEAR(text->score, (0.8F + 0.7F + 0.5F) / 3, 1e-6F);
  ASSERT_EQ(text->characters.size(), 3u);
  EXPECT_EQ(text->characters[1].step, 3);
  EXPECT_EQ(text->characters[2].class_label, 1);
  // The blank in the middle: classes behind it are a character earlier in the alphabet.
  const auto middle = decode_text(view_of(scores, {5, 3}), alphabet, {.blank = 1});
  EXPECT_EQ(middle->text, "aba");
}

TEST(Text, OfNaNsAndInfinities) {
  const std::vector<float> scores = {NAN, NAN, NAN, NAN, 1, NAN, 0, INFINITY, INFINITY};
  const auto alphabet = *characters_of("ab");
  const auto text = decode_text(view_of(scores, {3, 3}), alphabet, {.is_logit = true});
  ASSERT_TRUE(text) << text.error();
  EXPECT_EQ(text->text, "a");
  EXPECT_EQ(text->score, 1);
  const std::vector<float> infinite(scores.end() - 3, scores.end());
  EXPECT_EQ(decode_text(view_of(infinite, {1, 3}), alphabet, {.is_logit = true})->score, 0.5F);
  EXPECT_EQ(decode_text(view_of({}, {0, 3}), alphabet)->score, 0);
}

TEST(Text, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> scores(12);
  const auto alphabet = *characters_of("ab");
  EXPECT_EQ(
      decode_text(view_of(scores, {3, 4}), alphabet).error(),
      "text: expected scores of shape (steps, 3), for 2 characters and a blank, found float32 "
      "3x4");
  EXPECT_THAT(decode_text(view_of(scores, {1, 4, 3}), alphabet).error(), HasSubstr("1x4x3"));
  EXPECT_THAT(decode_text(view_of(scores, {12, 1}), {}).error(),
              HasSubstr("an alphabet of one character or more"));
  for (const int64_t blank : {-1, 3})
    EXPECT_THAT(decode_text(view_of(scores, {4, 3}), alphabet, {.blank = blank}).error(),
                HasSubstr("a blank from 0 to below 3"));
}

}  // namespace
}  // namespace tenon::serve
