// `tenon explain`: what the code at the end of a message means.
#include <fmt/format.h>
#include <tenon/error_codes.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

struct ExplainOptions {
  std::string code;
  bool json = false;
};

// Of "TN2002", "[TN2002]", "tn2002" or "2002".
const ErrorExplanation& explanation_of(const std::string& code) {
  std::string_view digits = code;
  if (digits.starts_with('[') && digits.ends_with(']'))
    digits = digits.substr(1, digits.size() - 2);
  if (digits.starts_with("TN") || digits.starts_with("tn")) digits.remove_prefix(2);
  const auto* const found = std::ranges::find_if(
      kErrorCodes, [&](const ErrorExplanation& e) { return std::to_string(e.number) == digits; });
  if (found == std::end(kErrorCodes))
    fail(ErrorClass::kOptions,
         "there is no code '{}': messages end with theirs, such as TN2002, and `tenon explain` "
         "lists all",
         code);
  return *found;
}

nlohmann::ordered_json json_of(const ErrorExplanation& e) {
  return {{"code", fmt::format("TN{}", e.number)},
          {"what", e.what},
          {"why", e.why},
          {"remedy", e.remedy}};
}

void explain(const ExplainOptions& o) {
  if (!o.code.empty()) {
    const ErrorExplanation& e = explanation_of(o.code);
    if (o.json)
      fmt::print("{}\n", json_of(e).dump(2));
    else
      fmt::print("TN{}: {}\n\n{}\n\nWhat to do: {}\n", e.number, e.what, e.why, e.remedy);
  } else if (o.json) {
    auto list = nlohmann::ordered_json::array();
    for (const ErrorExplanation& e : kErrorCodes) list.push_back(json_of(e));
    fmt::print("{}\n", list.dump(2));
  } else {
    for (const ErrorExplanation& e : kErrorCodes) fmt::print("TN{}  {}\n", e.number, e.what);
  }
}

}  // namespace

void add_explain(CLI::App& app, Logger&) {
  auto* command = app.add_subcommand("explain", "What the code of an error means, and what to do");
  const auto options = std::make_shared<ExplainOptions>();
  command->add_option("code", options->code,
                      "The code at the end of a message, as TN2002; without it all are listed");
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options] { explain(*options); });
}

}  // namespace tenon::tool
