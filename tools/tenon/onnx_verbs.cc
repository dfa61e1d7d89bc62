#include "onnx_verbs.h"

#include <fmt/format.h>

#include "error.h"
#include "npz.h"
#include "onnx_arguments.h"
#include "options.h"
#include "page/page.h"
#include "pages.h"

namespace tenon::tool {
namespace {

using edit::Model;
using Apply = std::function<std::string(Model&, const std::string&)>;

// What a verb that changes things counts.
Apply counting(const char* what, size_t (*change)(Model&)) {
  return
      [=](Model& model, const std::string&) { return fmt::format("{} {}\n", change(model), what); };
}

std::string show(Model& model, const std::string& text) {
  edit::ShowOptions options;
  bool is_json = false, is_page = false;
  for (const std::string& word : names_of(text)) {
    if (word == "json")
      is_json = true;
    else if (word == "html")
      is_page = true;
    else if (word == "shapes")
      options.shapes = true;
    else if (word == "constants")
      options.constants = true;
    else
      fail(ErrorClass::kOptions, "show: '{}' is not 'shapes', 'constants', 'json' or 'html'", word);
  }
  if (!is_page) return is_json ? edit::show_json(model, options) : edit::show_text(model, options);
  options.shapes = true;
  return filled_page(kOnnxPage, "ONNX model", edit::show_json(model, options));
}

std::string extract_part(Model& model, const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() > 2)
    fail(ErrorClass::kOptions,
         "extract: '{}' is not INPUTS:OUTPUTS or OUTPUTS; a name with a colon stands in quotes",
         text);
  const bool has_inputs = parts.size() == 2;
  edit::extract(model, has_inputs ? names_of(parts[0]) : std::vector<std::string>(),
                names_of(parts.back()));
  return {};
}

std::string rename_tensor(Model& model, const std::string& text) {
  const auto [from, to] = two_names("rename", text);
  edit::rename_tensor(model, from, to);
  return {};
}

std::string rename_node(Model& model, const std::string& text) {
  const auto [from, to] = two_names("rename-node", text);
  edit::rename_node(model, from, to);
  return {};
}

std::string fold(Model& model, const std::string& text) {
  edit::FoldOptions options;
  if (!text.empty()) {
    const int64_t mib = integer_of("fold", text);
    if (mib < 0 || mib > (1 << 20))
      fail(ErrorClass::kOptions, "fold: the limit of {} MiB is not possible", mib);
    options.max_bytes = static_cast<size_t>(mib) << 20;
  }
  const size_t folded = edit::fold_constants(model, options);
  const size_t taken = edit::fold_into_weights(model);
  return fmt::format("{} nodes folded, {} into weights\n", folded, taken);
}

std::string clean(Model& model, const std::string&) {
  const size_t passed = edit::remove_without_effect(model);
  const size_t shared = edit::share_equal(model);
  const size_t unused = edit::remove_unused(model);
  return fmt::format("{} without effect, {} equal to others, {} unused\n", passed, shared, unused);
}

std::string followed(size_t count) {
  return count == 0 ? "" : fmt::format("{} constants of Reshape and Expand followed\n", count);
}

std::string set_dims(Model& model, const std::string& text) {
  const auto [input, extents] = two_parts("set-dims", text);
  std::vector<edit::Extent> shape;
  for (const std::string& extent : split(extents, ',')) shape.push_back(extent_of(extent));
  return followed(edit::set_dims(model, input, shape));
}

std::string set_dim(Model& model, const std::string& text) {
  const auto [name, extent] = two_names("set-dim", text);
  return followed(edit::set_dim(model, name, extent_of(extent)));
}

edit::NodeId find_node(const Model& model, const std::string& name) {
  const auto node = model.find_node(name);
  if (!node) fail(ErrorClass::kNotInModel, "there is no node '{}'", name);
  return *node;
}

std::string swap(Model& model, const std::string& text) {
  const size_t colon = single_colon(text);
  if (colon == std::string::npos || colon == 0)
    fail(ErrorClass::kOptions, "swap: '{}' is not NODE:OPERATOR", text);
  const edit::Node node = node_of(text.substr(colon + 1));
  edit::set_operator(model, find_node(model, without_quotes(text.substr(0, colon))), node.op_type,
                     node.domain, node.attributes);
  return {};
}

std::string replace(Model& model, const std::string& text) {
  const size_t first = single_colon(text);
  const size_t second =
      first == std::string::npos ? std::string::npos : single_colon(text, first + 1);
  if (second == std::string::npos)
    fail(ErrorClass::kOptions, "replace: '{}' is not INPUTS:OUTPUTS:OPERATOR", text);
  edit::replace_between(model, names_of(text.substr(0, first)),
                        names_of(text.substr(first + 1, second - first - 1)),
                        node_of(text.substr(second + 1)));
  return {};
}

std::string set_attribute(Model& model, const std::string& text) {
  const size_t colon = single_colon(text), equals = text.find('=', colon);
  if (colon == std::string::npos || equals == std::string::npos)
    fail(ErrorClass::kOptions, "set-attribute: '{}' is not NODE:NAME=VALUE", text);
  const edit::NodeId id = find_node(model, without_quotes(text.substr(0, colon)));
  edit::Node node = model.node(id);
  const std::string name = text.substr(colon + 1, equals - colon - 1);
  std::erase_if(node.attributes, [&](const auto& each) { return each.first == name; });
  if (const std::string value = text.substr(equals + 1); !value.empty())
    node.attributes.emplace_back(name, attribute_value_of(value));
  model.replace_node(id, node);
  return {};
}

// An array from an .npz file, in the type that the constant has.
std::string set_constant(Model& model, const std::string& text) {
  const auto [name, path] = two_names("set-constant", text);
  const auto old = model.constant(name);
  if (!old) fail(ErrorClass::kNotInModel, "there is no initializer or Constant '{}'", name);
  const Arrays arrays = read_npz(path);
  const auto found = arrays.size() == 1 ? arrays.begin() : arrays.find(name);
  if (found == arrays.end()) fail(ErrorClass::kContent, "{}: holds no array '{}'", path, name);
  static const std::map<int32_t, nvinfer1::DataType> types = {
      {1, nvinfer1::DataType::kFLOAT}, {2, nvinfer1::DataType::kUINT8},
      {3, nvinfer1::DataType::kINT8},  {6, nvinfer1::DataType::kINT32},
      {7, nvinfer1::DataType::kINT64}, {9, nvinfer1::DataType::kBOOL},
      {10, nvinfer1::DataType::kHALF}, {16, nvinfer1::DataType::kBF16}};
  const auto type = types.find(old->type);
  if (type == types.end())
    fail(ErrorClass::kNotSupported, "'{}' is of element type {}, which arrays cannot have", name,
         old->type);
  const Array array = value_or_fail(session::convert(found->second, type->second, name));
  model.set_constant(name,
                     {old->type,
                      array.shape,
                      {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()}});
  return {};
}

// "FILE:OUTPUT=INPUT,…", and ":PREFIX".
std::string merge(Model& model, const std::string& text, bool in_front) {
  const auto parts = split(text, ':');
  const char* const verb = in_front ? "prepend" : "append";
  if (parts.size() < 2 || parts.size() > 3)
    fail(ErrorClass::kOptions, "{}: '{}' is not FILE:OUTPUT=INPUT", verb, text);
  edit::MergeOptions options;
  for (const std::string& link : split(parts[1], ',')) {
    const auto names = split(link, '=');
    if (names.size() != 2) fail(ErrorClass::kOptions, "{}: '{}' is not OUTPUT=INPUT", verb, link);
    options.links.emplace_back(without_quotes(names[0]), without_quotes(names[1]));
  }
  if (parts.size() == 3) options.prefix = without_quotes(parts[2]);
  const Model other = Model::load(without_quotes(parts[0]));
  (in_front ? edit::prepend_model : edit::append_model)(model, other, options);
  return {};
}

std::string to_float16(Model& model, const std::string& text) {
  edit::HalfOptions options;
  for (const std::string& word : names_of(text))
    if (word == "io")
      options.keep_io = false;
    else
      options.keep.insert(word);
  const edit::HalfReport report = edit::to_float16(model, options);
  std::string said = fmt::format("{} nodes in float16, {} casts\n", report.converted, report.casts);
  for (const std::string& kept : report.kept) said += "stays float32: " + printable(kept) + "\n";
  return said;
}

std::string insert_qdq(Model& model, const std::string& text) {
  const auto words = split(text, ',');
  edit::QuantizationParameters parameters;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const edit::AttributeValue value = equals == std::string::npos
                                           ? edit::AttributeValue()
                                           : attribute_value_of(words[i].substr(equals + 1));
    const auto* integer = std::get_if<int64_t>(&value);
    if (const auto* one = std::get_if<float>(&value); name == "scale" && one != nullptr)
      parameters.scales = {*one};
    else if (name == "scale" && equals != std::string::npos && integer != nullptr)
      parameters.scales = {static_cast<float>(*integer)};
    else if (const auto* many = std::get_if<std::vector<float>>(&value);
             name == "scale" && many != nullptr)
      parameters.scales = *many;
    else if (const auto* whole = std::get_if<std::vector<int64_t>>(&value);
             name == "scale" && whole != nullptr)
      parameters.scales.assign(whole->begin(), whole->end());
    else if (name == "zero_point" && integer != nullptr && std::abs(*integer) <= 255)
      parameters.zero_point = static_cast<int32_t>(*integer);
    else if (name == "axis" && integer != nullptr)
      parameters.axis = *integer;
    else if (words[i] == "type=uint8" || words[i] == "type=int8")
      parameters.is_unsigned = words[i] == "type=uint8";
    else
      fail(ErrorClass::kOptions,
           "insert-qdq: '{}' is not scale=0.1, scale=[0.1;0.2], zero_point=0, axis=1, type=int8 or "
           "type=uint8",
           words[i]);
  }
  edit::insert_quantization(model, without_quotes(words[0]), parameters);
  return {};
}

std::string apply_patch(Model& model, const std::string& path) {
  const auto bytes = read_file(path);
  model.apply_patch({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return {};
}

}  // namespace

const std::vector<OnnxVerb>& onnx_verbs() {
  static const std::vector<OnnxVerb> verbs = {
      {"show", "[shapes|constants|json|html]",
       "Print nodes, inputs and outputs, or a page with a picture", show},
      {"extract", "[INPUTS:]OUTPUTS", "Keep what leads from tensors to tensors", extract_part},
      {"rename", "FROM:TO", "Rename a tensor, wherever it is read", rename_tensor},
      {"rename-node", "FROM:TO", "Rename a node", rename_node},
      {"fold", "[MIB]", "Compute what depends on constants and static shapes alone", fold},
      {"clean", "", "Remove what is unused, without effect, or there twice", clean},
      {"unused", "", "Remove what no output needs", counting("removed", &edit::remove_unused)},
      {"share", "", "Keep one of equal nodes and tensors", counting("removed", &edit::share_equal)},
      {"resolve-if", "", "Put the branch of each If of a known condition in its place",
       counting("resolved", &edit::resolve_conditions)},
      {"inline", "", "Put the nodes of functions where they are called",
       counting("calls and nodes inlined", &edit::inline_functions)},
      {"set-dims", "INPUT:N,3,H,W", "Give an input other extents: numbers, names, or ?", set_dims},
      {"set-dim", "NAME:EXTENT", "Give all extents of that name another number or name", set_dim},
      {"set-batch", "EXTENT", "Give all inputs another first extent",
       [](Model& model, const std::string& text) {
         return followed(edit::set_batch(model, extent_of(text)));
       }},
      {"delete", "NODES", "Remove nodes; their first input stands for their first output",
       [](Model& model, const std::string& text) {
         edit::remove_nodes(model, names_of(text));
         return std::string();
       }},
      {"swap", "NODE:OPERATOR[,NAME=VALUE]", "Make another operator of a node, a plugin, say",
       swap},
      {"replace", "INPUTS:OUTPUTS:OPERATOR[,NAME=VALUE]",
       "Put one node in the place of those between tensors", replace},
      {"set-attribute", "NODE:NAME=VALUE", "Change an attribute ([1;2] is a list; no value: none)",
       set_attribute},
      {"set-constant", "NAME:FILE.npz", "Give an initializer or Constant other elements",
       set_constant},
      {"append", "FILE:OUTPUT=INPUT,…[:PREFIX]", "Put another model behind this one",
       [](Model& model, const std::string& text) { return merge(model, text, false); }},
      {"prepend", "FILE:OUTPUT=INPUT,…[:PREFIX]", "Put another model before this one",
       [](Model& model, const std::string& text) { return merge(model, text, true); }},
      {"opset", "VERSION", "Bring the model to another opset, later or earlier",
       [](Model& model, const std::string& text) {
         edit::convert_opset(model, integer_of("opset", text));
         return std::string();
       }},
      {"float16", "[io,NODES]", "Compute in float16 (io: inputs and outputs, too), NODES excepted",
       to_float16},
      {"remove-quantization", "", "Remove QuantizeLinear and DequantizeLinear",
       counting("pairs removed", &edit::remove_quantization)},
      {"insert-qdq", "TENSOR,scale=S[,zero_point=Z,axis=A,type=uint8]",
       "Put QuantizeLinear and DequantizeLinear behind a tensor", insert_qdq},
      {"remove-qdq", "TENSORS", "Remove QuantizeLinear and DequantizeLinear behind tensors",
       [](Model& model, const std::string& text) {
         return fmt::format("{} pairs removed\n",
                            edit::remove_quantization_of(model, names_of(text)));
       }},
      {"infer-shapes", "", "Write the types of inner tensors",
       counting("types written", &edit::infer_shapes)},
      {"clear-shapes", "", "Remove the types of inner tensors",
       counting("types removed", &edit::clear_shapes)},
      {"patch", "FILE", "Do again what --patch wrote of an edit of another export", apply_patch},
  };
  return verbs;
}

OnnxStep onnx_step(const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  for (const OnnxVerb& verb : onnx_verbs()) {
    if (verb.name != name) continue;
    const bool has_argument = equals != std::string::npos;
    const bool needs_one =
        !verb.argument.empty() && !(verb.argument.front() == '[' && verb.argument.back() == ']');
    if (needs_one && !has_argument)
      fail(ErrorClass::kOptions, "{} needs {}={}", name, name, verb.argument);
    if (verb.argument.empty() && has_argument)
      fail(ErrorClass::kOptions, "{} takes nothing behind it", name);
    return {&verb, has_argument ? word.substr(equals + 1) : ""};
  }
  return {};
}

}  // namespace tenon::tool
