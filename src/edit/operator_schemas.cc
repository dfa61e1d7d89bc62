#include "edit/operator_schemas.h"

#include <charconv>
#include <unordered_map>

namespace tenon::edit {

/// operator_schemas.txt.
extern const std::string_view kOperatorSchemas;

namespace {

std::string_view take(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

template <class Number> Number number_in(std::string_view text, int base = 10) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

using Schemas = std::unordered_map<std::string_view, std::vector<OperatorSchema>>;

Schemas parsed() {
  Schemas schemas;
  for (std::string_view text = kOperatorSchemas; !text.empty();) {
    std::string_view line = take(text, '\n');
    auto& history = schemas[take(line, ' ')];
    OperatorSchema& schema = history.emplace_back();
    for (int64_t* number :
         {&schema.since, &schema.min_inputs, &schema.max_inputs, &schema.max_outputs})
      *number = number_in<int64_t>(take(line, ' '));
    for (std::string_view types = take(line, ' '); !types.empty() && types != "-";)
      schema.input_types.push_back(number_in<uint64_t>(take(types, ','), 16));
    if (const std::string_view types = take(line, ' '); types != "-")
      schema.output_types = number_in<uint64_t>(types, 16);
    while (!line.empty() && line != "-") {
      std::string_view value = take(line, ',');
      const std::string_view name = take(value, '=');
      schema.attributes.emplace_back(name, value);
    }
  }
  return schemas;
}

}  // namespace

const std::string_view* OperatorSchema::default_of(std::string_view attribute) const {
  for (const auto& [name, value] : attributes)
    if (name == attribute) return &value;
  return nullptr;
}

const OperatorSchema* schema_of(std::string_view op_type, int64_t opset) {
  static const Schemas schemas = parsed();
  const auto history = schemas.find(op_type);
  if (history == schemas.end()) return nullptr;
  const OperatorSchema* found = nullptr;
  for (const OperatorSchema& schema : history->second)
    if (schema.since <= opset) found = &schema;
  return found == nullptr || found->is_deprecated() ? nullptr : found;
}

}  // namespace tenon::edit
