#include "plan/stored_network.h"

#include <unordered_map>

#include "network/control_flow.h"
#include "plan/structure_reader.h"
#include "plan/structure_writer.h"

namespace tenon {
namespace {

int32_t number_of(const std::optional<DataType>& type) {
  return type ? static_cast<int32_t>(*type) : -1;
}

std::optional<DataType> optional_type(int32_t number) {
  if (number == -1) return std::nullopt;
  return type_from(number);
}

auto write_inputs(fb::FlatBufferBuilder& b, const Network& network) {
  std::vector<fb::Offset<schema::Input>> list;
  for (const Value* v : network.inputs()) {
    const auto declared = list_of(v->declared);
    const std::vector<std::string> names(v->dimension_names.begin(),
                                         v->dimension_names.begin() + v->declared.rank());
    list.push_back(schema::CreateInput(b, b.CreateString(v->name), static_cast<int32_t>(v->type),
                                       number_of(v->requested_type), v->allowed_formats,
                                       b.CreateVector(declared), b.CreateVectorOfStrings(names)));
  }
  return b.CreateVector(list);
}

fb::Offset<schema::Network> write_network(fb::FlatBufferBuilder& b, const Network& network,
                                          WeightSection& section) {
  std::unordered_map<const Value*, int32_t> numbers;
  const auto number = [&](const Value* v) {
    numbers.emplace(v, static_cast<int32_t>(numbers.size()));
  };
  for (const Value* v : network.inputs()) number(v);
  std::vector<fb::Offset<schema::Constant>> constants;
  for (const auto& v : network.values()) {
    if (!v->is_weight()) continue;
    number(v.get());
    constants.push_back(schema::CreateConstant(
        b, b.CreateString(v->name), write_weight(b, *v->constant, section), v->refittable));
  }
  for (const auto& node : network.nodes())
    for (const Value* v : node->outputs) number(v);
  std::vector<fb::Offset<schema::Node>> nodes;
  for (const auto& node : network.nodes()) {
    std::vector<int32_t> inputs, types;
    for (const Value* v : node->inputs) inputs.push_back(v == nullptr ? -1 : numbers.at(v));
    for (const auto& type : node->output_types) types.push_back(number_of(type));
    std::vector<std::string> outputs;
    for (const Value* v : node->outputs) outputs.push_back(v->name);
    std::vector<fb::Offset<schema::Network>> bodies;
    if (const ControlFlow* layer = control_flow_of(*node))
      for (const auto& body : layer->bodies) bodies.push_back(write_network(b, *body, section));
    const auto attributes = write_fields(b, fields_of(*node->op));
    nodes.push_back(schema::CreateNode(
        b, b.CreateString(node->name), b.CreateString(node->metadata),
        b.CreateString(std::string(node->op->name())), attributes, b.CreateVector(inputs),
        b.CreateVectorOfStrings(outputs), number_of(node->precision), b.CreateVector(types),
        b.CreateVector(bodies)));
  }
  std::vector<fb::Offset<schema::Output>> outputs;
  for (const Value* v : network.outputs())
    outputs.push_back(
        schema::CreateOutput(b, numbers.at(v), number_of(v->requested_type), v->allowed_formats));
  const auto inputs = write_inputs(b, network);
  return schema::CreateNetwork(b, b.CreateString(network.name), inputs, b.CreateVector(constants),
                               b.CreateVector(nodes), b.CreateVector(outputs),
                               network.debugs_unfused);
}

class NetworkReader {
 public:
  NetworkReader(std::span<const std::byte> section, const std::shared_ptr<const void>& owner,
                bool is_stripped)
      : section_(section), owner_(owner), is_stripped_(is_stripped) {}

  std::unique_ptr<Network> read(const schema::Network& in, int depth) {
    require(depth <= kMaxBodyDepth, "the plan is damaged: bodies are nested more than {} deep",
            kMaxBodyDepth);
    auto network = std::make_unique<Network>();
    network->name = text_from(in.name());
    network->debugs_unfused = in.debugs_unfused();
    std::vector<Value*> values;
    for_each(in.inputs(), [&](const schema::Input& i) { values.push_back(&input(*network, i)); });
    for_each(in.constants(), [&](const schema::Constant& c) {
      require(c.data() != nullptr, "a constant has no data");
      const bool stripped = is_stripped_ && c.refittable();
      values.push_back(&network->add_weight(weight_from(*c.data(), section_, owner_, stripped),
                                            text_from(c.name())));
      values.back()->refittable = c.refittable();
    });
    for_each(in.nodes(), [&](const schema::Node& n) {
      for (Value* v : add_node(*network, n, depth).outputs) values.push_back(v);
    });
    const auto value = [&](int32_t number) {
      check_index(number, values.size(), "value");
      return values[static_cast<size_t>(number)];
    };
    // Layers may use outputs of layers that come after them.
    size_t position = 0;
    for_each(in.nodes(), [&](const schema::Node& n) {
      Node& node = *network->nodes()[position++];
      for (int32_t i : list_from(n.inputs())) node.inputs.push_back(i == -1 ? nullptr : value(i));
    });
    for_each(in.outputs(), [&](const schema::Output& o) {
      Value& v = *value(o.value());
      v.requested_type = optional_type(o.requested_type());
      v.allowed_formats = o.formats();
      network->mark_output(v);
    });
    network->touch();
    return network;
  }

 private:
  static Value& input(Network& network, const schema::Input& in) {
    const Shape declared = shape_from(in.declared());
    std::array<std::string, Shape::kMaxRank> names;
    const auto* given = in.dimension_names();
    require(given == nullptr || given->size() <= names.size(), "an input has {} dimension names",
            given == nullptr ? 0 : given->size());
    for (fb::uoffset_t i = 0; given != nullptr && i < given->size(); ++i)
      names[i] = text_from(given->Get(i));
    Value& v = network.add_input(text_from(in.name()), type_from(in.type()), declared, names);
    v.requested_type = optional_type(in.requested_type());
    v.allowed_formats = in.formats();
    return v;
  }

  Node& add_node(Network& network, const schema::Node& in, int depth) {
    const std::string name = text_from(in.name()), kind = text_from(in.op());
    auto op = make_op(kind);
    require(op != nullptr, "layer {}: this build has no layer kind '{}'", name, kind);
    set_fields(*op, fields_from(in.attributes()));
    const size_t outputs = in.outputs() == nullptr ? 0 : in.outputs()->size();
    require(op->output_count() >= 0 && static_cast<size_t>(op->output_count()) == outputs,
            "layer {} ({}) has {} outputs; expected {}", name, kind, outputs, op->output_count());
    Node& node = network.add_node(std::move(op), {}, name);
    node.metadata = text_from(in.metadata());
    node.precision = optional_type(in.precision());
    const auto types = list_from(in.output_types());
    require(types.size() == outputs, "layer {} ({}) has {} outputs and types of {}", name, kind,
            outputs, types.size());
    for (fb::uoffset_t i = 0; i < outputs; ++i) {
      node.outputs[i]->name = text_from(in.outputs()->Get(i));
      node.output_types[i] = optional_type(types[i]);
    }
    ControlFlow* layer = control_flow_of(node);
    for_each(in.bodies(), [&](const schema::Network& body) {
      require(layer != nullptr, "layer {} ({}) has a body", name, kind);
      layer->bodies.push_back(read(body, depth + 1));
    });
    require(layer == nullptr || layer->bodies.size() == layer->body_count(),
            "layer {} ({}) has not all of its bodies", name, kind);
    return node;
  }

  std::span<const std::byte> section_;
  const std::shared_ptr<const void>& owner_;
  bool is_stripped_;
};

}  // namespace

fb::Offset<schema::Source> write_source(fb::FlatBufferBuilder& b, const PlanSource& source,
                                        WeightSection& section) {
  const auto network = write_network(b, *source.network, section);
  return schema::CreateSource(b, network, number_of(source.precision.reduced),
                              static_cast<uint8_t>(source.precision.constraints),
                              source.time_kernels, source.max_workspace, source.max_growth.layer,
                              source.max_growth.plan, source.portable, source.refittable);
}

std::shared_ptr<const PlanSource> read_source(const schema::Source& in,
                                              std::span<const std::byte> weights,
                                              const std::shared_ptr<const void>& owner,
                                              bool is_stripped) {
  require(in.network() != nullptr, "a portable or refittable plan has no network");
  auto source = std::make_shared<PlanSource>();
  source->network = NetworkReader(weights, owner, is_stripped).read(*in.network(), 0);
  source->precision.reduced = optional_type(in.reduced());
  require(!source->precision.reduced || source->precision.reduced == DataType::kHALF
              || source->precision.reduced == DataType::kBF16,
          "layers cannot choose {}", name_of(source->precision.reduced.value_or(DataType::kFLOAT)));
  require(in.constraints() <= static_cast<uint8_t>(Precision::Constraints::kObey),
          "unknown precision constraints {}", in.constraints());
  source->precision.constraints = static_cast<Precision::Constraints>(in.constraints());
  source->time_kernels = in.time_kernels();
  source->max_workspace = in.max_workspace();
  source->max_growth = {in.max_layer_growth(), in.max_growth()};
  source->portable = in.portable();
  source->refittable = in.refittable();
  return source;
}

}  // namespace tenon
