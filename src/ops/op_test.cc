#include "ops/op_test.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "network/reference_run.h"
#include "ops/support/reference.h"
#include "tenon_source_dir.h"

namespace tenon::testing {
namespace {

enum class Extents { kKnown, kSymbolic, kAllConstant };

// A network of one layer.
struct OneLayer {
  Network network;
  Node* node = nullptr;
  std::map<const Value*, Tensor> given;

  OneLayer(const Op& op, const std::vector<std::optional<Given>>& inputs, Extents extents) {
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) {
        values.push_back(nullptr);
        continue;
      }
      values.push_back(&add(*inputs[i], fmt::format("in{}", i), extents));
      given[values.back()] = inputs[i]->tensor;
    }
    node = &network.add_node(op.clone(), values, "layer");
    network.infer(*node);
  }

  Value& add(const Given& in, const std::string& name, Extents extents) {
    const Tensor& t = in.tensor;
    const bool shape = in.kind == Given::Kind::kShape;
    if (extents == Extents::kAllConstant || in.kind == Given::Kind::kConstant
        || (shape && extents == Extents::kKnown))
      return network.add_weight(t);
    Shape declared = t.shape();
    if (extents == Extents::kSymbolic && !shape) declared = Shape::filled(declared.rank(), -1);
    return network.add_input(name, t.type(), declared);
  }

  // Data-dependent extents are those of what the kernel computed.
  std::vector<double> evaluate(const std::vector<Dim>& dims,
                               const std::vector<Tensor>& computed) const {
    std::vector<SymbolValue> symbols;
    for (const Symbol& s : network.symbols()) {
      const Tensor& t = s.is_data_dependent()
                            ? computed.at(static_cast<size_t>(s.value->output_index))
                            : given.at(s.value);
      symbols.push_back(s.kind == Symbol::Kind::kExtent
                            ? t.shape()[s.index]
                            : t.integers()[static_cast<size_t>(s.index)]);
    }
    ShapeProgram program;
    std::vector<int32_t> slots;
    for (Dim d : dims) slots.push_back(program.add(d));
    const auto numbers = program.evaluate(symbols);
    std::vector<double> values;
    for (int32_t slot : slots) values.push_back(numbers[static_cast<size_t>(slot)].as_double());
    return values;
  }

  Shape shape(size_t i, const std::vector<Tensor>& computed) const {
    Shape s;
    for (double extent : evaluate(node->outputs.at(i)->dims, computed))
      s.push_back(static_cast<int64_t>(extent));
    return s;
  }

  // The host's idea of an output, where it has one, must be what the kernel computes.
  void check_content(size_t i, const Tensor& computed) const {
    const Value& v = *node->outputs[i];
    if (!v.content) return;
    const auto host = evaluate(*v.content, {}), kernel = computed.numbers();
    ASSERT_EQ(host.size(), kernel.size());
    for (size_t k = 0; k < host.size(); ++k) {
      if (std::isnan(kernel[k])) continue;
      ASSERT_FLOAT_EQ(static_cast<float>(host[k]), static_cast<float>(kernel[k]))
          << "content, element " << k;
    }
  }

  std::vector<Tensor> run() const {
    std::vector<const Tensor*> inputs;
    for (const Value* v : node->inputs) inputs.push_back(v == nullptr ? nullptr : &given.at(v));
    std::vector<Tensor> outputs = run_reference(*node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i].type(), node->outputs[i]->type);
      EXPECT_EQ(outputs[i].shape(), shape(i, outputs));
    }
    return outputs;
  }
};

using Json = nlohmann::json;

DataType type_named(const std::string& name) {
  for (int32_t i = 0; i < nvinfer1::EnumMax<DataType>(); ++i)
    if (name_of(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  fail(ErrorCode::kINVALID_ARGUMENT, "no data type is called {}", name);
}

Tensor tensor_from(const Json& j) {
  const DataType type = type_named(j.at("type").get<std::string>());
  const auto extents = j.at("shape").get<std::vector<int64_t>>();
  Tensor t(type, Shape(std::span<const int64_t>(extents)));
  const Json& data = j.at("data");
  EXPECT_EQ(static_cast<int64_t>(data.size()), t.count());
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < data.size(); ++i) {
      if constexpr (is_real<T>)  // JSON has no NaN and no infinity
        t.mutable_data<T>()[i] = store<T>(
            data[i].is_string() ? std::stod(data[i].get<std::string>()) : data[i].get<double>());
      else if constexpr (std::is_same_v<T, bool>)
        t.mutable_data<T>()[i] = data[i].get<int64_t>() != 0;
      else
        t.mutable_data<T>()[i] = data[i].get<T>();
    }
  });
  return t;
}

FieldValue field_from(const Json& j, const FieldValue& like) {
  return std::visit(
      [&](const auto& sample) -> FieldValue { return j.get<std::decay_t<decltype(sample)>>(); },
      like);
}

std::unique_ptr<Op> op_from(const std::string& name, const Json& attributes) {
  auto op = make_op(name);
  if (op == nullptr) throw std::runtime_error("no layer kind " + name);
  FieldList fields = fields_of(*op);
  size_t used = 0;
  for (auto& [field, value] : fields) {
    if (!attributes.contains(field)) continue;
    value = field_from(attributes.at(field), value);
    ++used;
  }
  EXPECT_EQ(used, attributes.size()) << "a case sets an attribute that does not exist";
  set_fields(*op, fields);
  const auto loaded = make_op(name);
  set_fields(*loaded, fields_of(*op));
  EXPECT_EQ(fields_of(*loaded), fields_of(*op));
  return op;
}

std::vector<std::optional<Given>> inputs_from(const Json& list) {
  std::vector<std::optional<Given>> inputs;
  for (const Json& j : list) {
    if (j.is_null()) {
      inputs.emplace_back();
      continue;
    }
    const std::string kind = j.value("kind", "input");
    inputs.push_back(Given{tensor_from(j), kind == "shape"      ? Given::Kind::kShape
                                           : kind == "constant" ? Given::Kind::kConstant
                                                                : Given::Kind::kInput});
  }
  return inputs;
}

// One rounding of the element type apart, or as far as float32 sums in another order are.
double tolerance(DataType type) {
  return type == DataType::kHALF ? 0x1p-10 : type == DataType::kBF16 ? 0x1p-7 : 1e-5;
}

void expect_equal(const Tensor& found, const Tensor& expected, double scale) {
  ASSERT_EQ(name_of(found.type()), name_of(expected.type()));
  ASSERT_EQ(found.shape().str(), expected.shape().str());
  if (!is_float(found.type())) {
    EXPECT_EQ(found.integers(), expected.integers());
    return;
  }
  const auto a = found.numbers(), b = expected.numbers();
  // Terms of magnitude 1 to 16 may cancel in a float32 sum; what is left has their rounding errors.
  const double floor = found.type() == DataType::kFLOAT ? 0.5 : 0.1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    ASSERT_LE(std::fabs(a[i] - b[i]),
              scale * tolerance(found.type()) * std::max(floor, std::fabs(b[i])))
        << "element " << i << ": " << a[i] << ", expected " << b[i];
  }
}

void run_case(const Json& j) {
  const auto op = op_from(j.at("op").get<std::string>(), j.at("attributes"));
  const auto inputs = inputs_from(j.at("inputs"));
  for (Extents extents : {Extents::kKnown, Extents::kSymbolic, Extents::kAllConstant}) {
    if (extents == Extents::kSymbolic && j.value("static", false)) continue;
    SCOPED_TRACE(fmt::format("extents: {}", static_cast<int>(extents)));
    const OneLayer layer(*op, inputs, extents);
    const auto outputs = layer.run();
    ASSERT_EQ(outputs.size(), j.at("outputs").size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      expect_equal(outputs[i], tensor_from(j.at("outputs")[i]), j.value("tolerance", 1.0));
      layer.check_content(i, outputs[i]);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace

std::vector<Tensor> run(const Op& op, const std::vector<std::optional<Given>>& inputs) {
  return OneLayer(op, inputs, Extents::kKnown).run();
}

std::string infer_error(const Op& op, const std::vector<std::optional<Given>>& inputs) {
  try {
    const OneLayer layer(op, inputs, Extents::kKnown);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::optional<std::vector<double>> content(const Op& op, const std::vector<Tensor>& constants) {
  std::vector<std::optional<Given>> inputs;
  for (const Tensor& t : constants) inputs.push_back(constant(t));
  const OneLayer layer(op, inputs, Extents::kAllConstant);
  const auto& known = layer.node->outputs[0]->content;
  if (!known) return std::nullopt;
  return layer.evaluate(*known, {});
}

void run_cases(const std::string& name) {
  const std::string path = std::string(TENON_SOURCE_DIR) + "/src/ops/testdata/" + name + ".json";
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  const Json cases = Json::parse(file);
  ASSERT_FALSE(cases.empty());
  for (const Json& j : cases) {
    SCOPED_TRACE(j.at("name").get<std::string>());
    try {
      run_case(j);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace tenon::testing
