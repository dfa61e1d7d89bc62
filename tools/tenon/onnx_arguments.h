// What stands behind the verbs of `tenon onnx`: names, numbers, extents, attributes as texts.
#pragma once

#include <tenon/onnx.h>

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

/// A name with a colon, comma or equals sign stands in quotes; without these.
std::string without_quotes(const std::string& text);

/// Names between commas.
std::vector<std::string> names_of(const std::string& text);

/// Throws Failure, with the verb's name, for what is no whole number.
int64_t integer_of(const char* verb, const std::string& text);

/// "A:B". Quotes stay in B, where it may be a list. Throws Failure for what is not two parts.
std::pair<std::string, std::string> two_parts(const char* verb, const std::string& text);
std::pair<std::string, std::string> two_names(const char* verb, const std::string& text);

/// A number from 0 on, a name, or unknown for "?" and "-1". Throws Failure for what is none.
edit::Extent extent_of(const std::string& text);

/// A number, a text, or for "[1;2]" a list of one of them. A text in quotes is a text.
edit::AttributeValue attribute_value_of(const std::string& text);

/// "Operator" or "domain::Operator", and attributes: "NAME=VALUE" between commas. Throws Failure
/// for what is none.
edit::Node node_of(const std::string& text);

/// The first colon from a place on that is outside of quotes and no part of a "::"; npos for none.
size_t single_colon(const std::string& text, size_t from = 0);

}  // namespace tenon::tool
