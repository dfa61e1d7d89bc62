#include "migrate/tokens.h"

#include <gmock/gmock.h>

#include <string>

namespace tenon::migrate {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts_of(std::string_view source) {
  std::vector<std::string> texts;
  for (const Token& token : tokens_of(source)) {
    EXPECT_EQ(source.substr(token.at, token.text.size()), token.text);
    texts.emplace_back(token.text);
  }
  return texts;
}

TEST(Tokens, CommentsAreLeftOut) {
  EXPECT_THAT(texts_of("a // b \\\n c\n d /* e \n f */ g"), ElementsAre("a", "d", "g"));
  EXPECT_THAT(texts_of("a /* never closed"), ElementsAre("a"));
  EXPECT_THAT(texts_of("a / b"), ElementsAre("a", "/", "b"));
}

TEST(Tokens, TextsAreOneTokenWithWhatIsInThem) {
  EXPECT_THAT(texts_of(R"src(f("a \" // b", 'c', '\'', u8"d", L'e'))src"),
              ElementsAre("f", "(", R"("a \" // b")", ",", "'c'", ",", R"('\'')", ",", "u8\"d\"",
                          ",", "L'e'", ")"));
  EXPECT_THAT(texts_of("R\"x(a)\" b)x\" c"), ElementsAre("R\"x(a)\" b)x\"", "c"));
  EXPECT_THAT(texts_of("\"not closed\nb"), ElementsAre("\"not closed", "b"));
  EXPECT_THAT(texts_of("R\"x(not closed"), ElementsAre("R\"x(not closed"));
  EXPECT_THAT(texts_of("R\"no bracket"), ElementsAre("R\"no bracket"));
}

TEST(Tokens, NumbersKeepTheirSignsAndQuotes) {
  EXPECT_THAT(
      texts_of("1e-3f 0x1p+4 1'000'000 .5 1U<<20 a.b"),
      ElementsAre("1e-3f", "0x1p+4", "1'000'000", ".5", "1U", "<", "<", "20", "a", ".", "b"));
}

TEST(Tokens, IncludesAreTheirFiles) {
  const auto tokens = tokens_of(
      "#include <NvInfer.h>\n# include \"a/b.h\"\n#define X y\n#include NAME\n#include <no end\n");
  ASSERT_GE(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].text, "NvInfer.h");
  EXPECT_EQ(tokens[0].kind, Token::Kind::kInclude);
  EXPECT_EQ(tokens[1].text, "a/b.h");
  EXPECT_EQ(tokens[2].text, "#");
  EXPECT_EQ(tokens[3].text, "define");
}

TEST(Tokens, ArrowsAndScopesAreOne) {
  EXPECT_THAT(texts_of("a->b::c - > d"), ElementsAre("a", "->", "b", "::", "c", "-", ">", "d"));
  EXPECT_THAT(texts_of(""), ElementsAre());
}

}  // namespace
}  // namespace tenon::migrate
