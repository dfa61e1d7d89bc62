#include "import/node.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ops/dequantize.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

using onnx::AttributeProto;
using Code = nvonnxparser::ErrorCode;

ErrorCode engine_code(Code code) {
  switch (code) {
    case Code::kINTERNAL_ERROR:
      return ErrorCode::kINTERNAL_ERROR;
    case Code::kMEM_ALLOC_FAILED:
      return ErrorCode::kFAILED_ALLOCATION;
    case Code::kUNSUPPORTED_GRAPH:
    case Code::kUNSUPPORTED_NODE:
    case Code::kUNSUPPORTED_NODE_ATTR:
    case Code::kUNSUPPORTED_NODE_INPUT:
    case Code::kUNSUPPORTED_NODE_DATATYPE:
    case Code::kUNSUPPORTED_NODE_DYNAMIC:
    case Code::kUNSUPPORTED_NODE_SHAPE:
      return ErrorCode::kUNSUPPORTED_STATE;
    default:
      return ErrorCode::kINVALID_ARGUMENT;
  }
}

struct RegisteredOperator {
  OperatorRow row;
  ImportFunction import;
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// By operator, in no order.
using Rows =
    std::unordered_map<std::string, std::vector<RegisteredOperator>, TextHash, std::equal_to<>>;

Rows& rows() {
  static Rows table;
  return table;
}

// Some exporters leave the type out; then the field that is set tells it.
AttributeProto::AttributeType kind_of(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size() > 0) return AttributeProto::FLOATS;
  if (a.ints_size() > 0) return AttributeProto::INTS;
  if (a.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

}  // namespace

ImportError::ImportError(Code code, const std::string& text)
    : Error(engine_code(code),
            code == Code::kUNSUPPORTED_NODE ? ErrorClass::kOperator : class_of(engine_code(code)),
            text),
      parser_code_(code) {}

NodeContext::NodeContext(ImportState& state, onnx::NodeProto& node, std::string name, int64_t opset,
                         std::vector<Item> inputs, TensorSource& source, BodyImporter& bodies)
    : Layers(state, std::move(name)),
      node_(node),
      opset_(opset),
      inputs_(std::move(inputs)),
      outputs_(static_cast<size_t>(node.output_size())),
      source_(source),
      bodies_(bodies) {
  while (!inputs_.empty() && is_null(inputs_.back())) inputs_.pop_back();
}

void NodeContext::expect_inputs(int min, int max) const {
  if (input_count() < min || input_count() > max)
    fail_import(Code::kINVALID_NODE, "it has {} inputs; expected {}", input_count(),
                min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max));
}

Value& NodeContext::given(int i) const {
  if (!has_input(i)) fail_import(Code::kINVALID_NODE, "input {} is missing", i);
  const Item& item = inputs_[index(i)];
  Value* const* tensor = std::get_if<Value*>(&item);
  return tensor != nullptr ? **tensor : *as_tensor(item, fmt::format("input {}", i));
}

Value& NodeContext::input(int i) {
  Value& v = given(i);
  return v.is_weight() ? constant(v) : v;
}

Value& NodeContext::weight(int i) {
  Value& v = given(i);
  // Layers of dequantised weights are where the optimizer finds products of integers.
  if (v.is_weight() || (v.producer != nullptr && v.producer->as<Dequantize>() != nullptr)) return v;
  const Tensor* folded = known_tensor(v);
  return folded != nullptr ? network().add_weight(*folded, v.name) : v;
}

const Tensor* NodeContext::constant_input(int i) {
  return has_input(i) ? known_tensor(given(i)) : nullptr;
}

std::vector<Dim> NodeContext::host_elements(int i, const char* what) {
  if (!has_input(i)) fail_import(Code::kINVALID_NODE, "input {} ({}) is missing", i, what);
  Value& v = given(i);
  if (const Tensor* t = known_tensor(v)) {
    std::vector<Dim> elements;
    if (is_float(t->type()))
      for (double x : t->numbers()) elements.push_back(pool().constant_float(x));
    else
      for (int64_t x : t->integers()) elements.push_back(pool().constant(x));
    return elements;
  }
  if (!v.content) network().read_back(v);
  if (!v.content)
    fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                "{} (input {}, tensor '{}') must be a constant, follow from shapes, or be at most "
                "{} integers; it is {} of shape {}",
                what, i, v.name, kMaxReadableElements, name_of(v.type), text_of(v.dims));
  know_elements(input(i));
  return *v.content;
}

std::vector<int64_t> NodeContext::integers_of(int i, const char* what) {
  std::vector<int64_t> values;
  for (Dim d : host_elements(i, what)) {
    if (!d->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                  "{} (input {}) must be constant integers; it depends on the shapes of the inputs",
                  what, i);
    values.push_back(d->value.integer);
  }
  return values;
}

std::vector<double> NodeContext::numbers_of(int i, const char* what) {
  std::vector<double> values;
  for (Dim d : host_elements(i, what)) {
    if (!d->is_constant())
      fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                  "{} (input {}) must be constant; it depends on the shapes of the inputs", what,
                  i);
    values.push_back(d->value.as_double());
  }
  return values;
}

const std::string& NodeContext::op() const {
  return node_.op_type();
}

AttributeProto* NodeContext::find(std::string_view name, int kind) {
  AttributeProto* found = nullptr;
  for (AttributeProto& a : *node_.mutable_attribute()) {
    if (a.name() != name) continue;
    if (found != nullptr)
      fail_import(Code::kINVALID_NODE, "attribute '{}' is given more than once", name);
    found = &a;
  }
  if (found == nullptr) return nullptr;
  read_attributes_.insert(found->name());
  if (kind_of(*found) != kind && kind != AttributeProto::UNDEFINED) {
    // An empty list without a type is any list.
    const bool empty_list = kind_of(*found) == AttributeProto::UNDEFINED
                            && (kind == AttributeProto::INTS || kind == AttributeProto::FLOATS
                                || kind == AttributeProto::STRINGS);
    if (!empty_list)
      fail_import(Code::kINVALID_NODE, "attribute '{}' is of kind {}; expected {}", name,
                  AttributeProto::AttributeType_Name(kind_of(*found)),
                  AttributeProto::AttributeType_Name(kind));
  }
  return found;
}

bool NodeContext::has(std::string_view attribute) const {
  return std::any_of(node_.attribute().begin(), node_.attribute().end(),
                     [&](const AttributeProto& a) { return a.name() == attribute; });
}

int64_t NodeContext::integer(std::string_view attribute) {
  const AttributeProto* a = find(attribute, AttributeProto::INT);
  if (a == nullptr)
    fail_import(Code::kINVALID_NODE, "the required attribute '{}' is missing", attribute);
  return a->i();
}

int64_t NodeContext::integer(std::string_view attribute, int64_t otherwise) {
  const AttributeProto* a = find(attribute, AttributeProto::INT);
  return a != nullptr ? a->i() : otherwise;
}

float NodeContext::real(std::string_view attribute, float otherwise) {
  const AttributeProto* a = find(attribute, AttributeProto::FLOAT);
  return a != nullptr ? a->f() : otherwise;
}

std::string NodeContext::text(std::string_view attribute, const std::string& otherwise) {
  const AttributeProto* a = find(attribute, AttributeProto::STRING);
  return a != nullptr ? a->s() : otherwise;
}

std::vector<int64_t> NodeContext::integers_in(std::string_view attribute) {
  const AttributeProto* a = find(attribute, AttributeProto::INTS);
  return a == nullptr ? std::vector<int64_t>{}
                      : std::vector<int64_t>(a->ints().begin(), a->ints().end());
}

std::vector<float> NodeContext::reals_in(std::string_view attribute) {
  const AttributeProto* a = find(attribute, AttributeProto::FLOATS);
  return a == nullptr ? std::vector<float>{}
                      : std::vector<float>(a->floats().begin(), a->floats().end());
}

std::vector<std::string> NodeContext::texts_in(std::string_view attribute) {
  const AttributeProto* a = find(attribute, AttributeProto::STRINGS);
  return a == nullptr ? std::vector<std::string>{}
                      : std::vector<std::string>(a->strings().begin(), a->strings().end());
}

Tensor NodeContext::tensor_in(std::string_view attribute, std::optional<Tensor>* float64) {
  AttributeProto* a = find(attribute, AttributeProto::TENSOR);
  if (a == nullptr)
    fail_import(Code::kINVALID_NODE, "the required attribute '{}' is missing", attribute);
  return make_tensor(*a->mutable_t(), source_, std::nullopt, float64);
}

onnx::GraphProto& NodeContext::graph_in(std::string_view attribute) {
  AttributeProto* a = find(attribute, AttributeProto::GRAPH);
  if (a == nullptr)
    fail_import(Code::kINVALID_NODE, "the required attribute '{}' is missing", attribute);
  return *a->mutable_g();
}

void NodeContext::ignore(std::string_view attribute) {
  find(attribute, AttributeProto::UNDEFINED);
}

std::vector<std::string> NodeContext::unused_attributes() const {
  std::vector<std::string> names;
  for (const AttributeProto& a : node_.attribute())
    if (!read_attributes_.contains(a.name())) names.push_back(a.name());
  return names;
}

std::optional<std::vector<int64_t>> NodeContext::integers_from(int i, const char* attribute) {
  if (has_input(i)) return integers_of(i, attribute);
  if (has(attribute)) return integers_in(attribute);
  return std::nullopt;
}

bool NodeContext::output_is_used(int i) const {
  return i < node_.output_size() && !node_.output(i).empty();
}

void NodeContext::set_output(int i, Item item) {
  if (i < output_count()) outputs_[index(i)] = std::move(item);
}

const Sequence& NodeContext::sequence_input(int i) const {
  if (!is_sequence(i)) fail_import(Code::kINVALID_NODE, "input {} is no sequence of tensors", i);
  return *as_sequence(inputs_[index(i)]);
}

void NodeContext::import_as(std::string_view standard_operator, int64_t opset, int max_inputs) {
  const ImportFunction row = find_row(standard_operator, opset);
  if (row == nullptr)
    fail_import(Code::kUNSUPPORTED_NODE, "operator '{}' is not supported yet", standard_operator);
  opset_ = opset;
  if (input_count() > max_inputs) inputs_.resize(static_cast<size_t>(max_inputs));
  row(*this);
}

std::string qualified_operator(const std::string& domain, const std::string& op) {
  return domain.empty() || domain == "ai.onnx" ? op : domain + "::" + op;
}

ImportFunction find_row(std::string_view op, int64_t opset) {
  ImportFunction best = nullptr;
  int64_t since = 0;
  const auto found = rows().find(op);
  if (found == rows().end()) return nullptr;
  for (const RegisteredOperator& each : found->second)
    if (each.row.since <= opset && each.row.since > since) {
      best = each.import;
      since = each.row.since;
    }
  return best;
}

bool operator_is_known(std::string_view name) {
  return rows().find(name) != rows().end();
}

std::vector<OperatorRow> supported_operators() {
  std::vector<OperatorRow> list;
  for (const auto& [name, of_name] : rows())
    for (const RegisteredOperator& each : of_name) list.push_back(each.row);
  std::sort(list.begin(), list.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::tie(a.domain, a.name, a.since) < std::tie(b.domain, b.name, b.since);
  });
  return list;
}

namespace detail {
bool register_row(OperatorRow row, ImportFunction import) {
  std::string name = qualified_operator(row.domain, row.name);
  rows()[std::move(name)].push_back({std::move(row), import});
  return true;
}
}  // namespace detail

}  // namespace tenon
