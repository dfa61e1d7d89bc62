#include "ensemble_graph.h"

#include <tenon/printable.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "check_request.h"
#include "datatype.h"

namespace tenon::server {
namespace {

std::string quoted(const std::string& name) {
  return "'" + printable(name) + "'";
}

// Collects the tensors by their names in the ensemble; who gives a tensor says what it is.
class GraphMaker {
 public:
  GraphMaker(const Models& models, const std::string& version, const ModelConfig& config)
      : models_(models), config_(config) {
    config.identify(graph_.metadata, version, "ensemble");
  }

  EnsembleGraph make() {
    find_members();
    for (size_t i = 0; i < members_.size(); ++i) add_step(i);
    for (const ModelConfig::DeclaredTensor& declared : config_.tensors)
      declared.is_input ? add_input(declared) : add_output(declared);
    if (graph_.outputs.empty()) throw Error{"output: an ensemble has to name its outputs"};
    for (const auto& [name, tensor] : tensors_) check_tensor(name, tensor);
    check_order();
    set_batch();
    return std::move(graph_);
  }

 private:
  struct Side {
    std::string label;  // "output 'y' of step 1 (model 'a')"
    TensorMetadata tensor;
  };
  struct NamedSides {
    size_t number = 0;
    std::optional<Side> writer;
    std::vector<Side> readers;
    bool is_output = false;
  };

  void find_members() {
    for (const EnsembleStep& step : config_.steps) {
      const std::string label =
          "step " + std::to_string(members_.size() + 1) + " (model " + quoted(step.model) + ")";
      const std::string version = step.version < 0 ? "" : std::to_string(step.version);
      if (step.model == config_.name) throw Error{label + ": an ensemble cannot be its own step"};
      auto found = models_.find(step.model, version);
      if (const auto* const error = std::get_if<RequestError>(&found))
        throw Error{label + ": " + error->text};
      members_.push_back(std::get<std::shared_ptr<Model>>(std::move(found)));
      graph_.steps.push_back({step.model, version, label, {}, {}});
    }
  }

  NamedSides& tensor_of(const std::string& name) {
    const auto [at, is_new] = tensors_.try_emplace(name);
    if (is_new) {
      at->second.number = graph_.readers.size();
      graph_.readers.emplace_back();
    }
    return at->second;
  }

  void set_writer(const std::string& name, Side side) {
    std::optional<Side>& writer = tensor_of(name).writer;
    if (writer)
      throw Error{"tensor " + quoted(name) + " comes from " + writer->label + " and from "
                  + side.label};
    writer = std::move(side);
  }

  static const TensorMetadata& find(const std::vector<TensorMetadata>& all, const std::string& name,
                                    const std::string& kind, const std::string& step) {
    const auto found = std::ranges::find(all, name, &TensorMetadata::name);
    if (found == all.end()) throw Error{step + ": the model has no " + kind + " " + quoted(name)};
    return *found;
  }

  void add_step(size_t number) {
    const ModelMetadata& member = members_[number]->metadata();
    const EnsembleStep& from = config_.steps[number];
    EnsembleGraph::Step& step = graph_.steps[number];
    for (const auto& [name, tensor] : from.inputs) {
      const TensorMetadata& info = find(member.inputs, name, "input", step.label);
      NamedSides& sides = tensor_of(tensor);
      sides.readers.push_back({"input " + quoted(name) + " of " + step.label, info});
      graph_.readers[sides.number].push_back(number);
      step.inputs.push_back({name, sides.number});
    }
    for (const TensorMetadata& input : member.inputs)
      if (!from.inputs.contains(input.name))
        throw Error{step.label + ": input_map has nothing for input " + quoted(input.name)};
    for (const auto& [name, tensor] : from.outputs) {
      const TensorMetadata& info = find(member.outputs, name, "output", step.label);
      set_writer(tensor, {"output " + quoted(name) + " of " + step.label, info});
      step.outputs.push_back({name, tensor_of(tensor).number});
    }
    if (step.outputs.empty()) throw Error{step.label + ": output_map is empty"};
  }

  // What the configuration says of a tensor, and for the rest what the other side is.
  TensorMetadata described(const ModelConfig::DeclaredTensor& declared,
                           const TensorMetadata& other) const {
    TensorMetadata tensor{declared.name, other.type, other.shape,
                          declared.labels.empty() ? other.labels : declared.labels};
    if (!declared.datatype.empty()) {
      const auto type = datatype_of(declared.datatype);
      if (!type)
        throw Error{quoted(declared.name) + ": models take no " + printable(declared.datatype)};
      tensor.type = *type;
    }
    if (!declared.dims.empty()) {
      tensor.shape = declared.dims;
      if (config_.max_batch_size.value_or(0) > 0) tensor.shape.insert(tensor.shape.begin(), -1);
    }
    return tensor;
  }

  void add_input(const ModelConfig::DeclaredTensor& declared) {
    const auto found = tensors_.find(declared.name);
    if (found == tensors_.end() || found->second.readers.empty())
      throw Error{"input " + quoted(declared.name) + " goes to no step"};
    TensorMetadata tensor = described(declared, found->second.readers[0].tensor);
    graph_.inputs.push_back({declared.name, found->second.number});
    graph_.metadata.inputs.push_back(tensor);
    set_writer(declared.name, {"input " + quoted(declared.name), std::move(tensor)});
  }

  void add_output(const ModelConfig::DeclaredTensor& declared) {
    const auto found = tensors_.find(declared.name);
    if (found == tensors_.end() || !found->second.writer)
      throw Error{"output " + quoted(declared.name) + " comes from no step"};
    NamedSides& sides = found->second;
    if (sides.is_output) throw Error{"output " + quoted(declared.name) + " is there twice"};
    sides.is_output = true;
    TensorMetadata tensor = described(declared, sides.writer->tensor);
    graph_.outputs.push_back({declared.name, sides.number});
    graph_.metadata.outputs.push_back(tensor);
    sides.readers.push_back({"output " + quoted(declared.name), std::move(tensor)});
  }

  static void check_tensor(const std::string& name, const NamedSides& sides) {
    if (!sides.writer)
      throw Error{"tensor " + quoted(name) + ", which " + sides.readers[0].label
                  + " reads, comes from no step and is no input"};
    const Side& writer = *sides.writer;
    for (const Side& reader : sides.readers) {
      const auto text = [](const TensorMetadata& tensor) {
        return std::string(datatype_name(tensor.type)) + " " + session::shape_text(tensor.shape);
      };
      if (writer.tensor.type != reader.tensor.type
          || !shapes_agree(writer.tensor.shape, reader.tensor.shape))
        throw Error{"tensor " + quoted(name) + ": " + writer.label + " is " + text(writer.tensor)
                    + ", and " + reader.label + " is " + text(reader.tensor)};
    }
  }

  // Steps can run one after the other.
  void check_order() const {
    std::vector<size_t> missing;
    for (const EnsembleGraph::Step& step : graph_.steps) missing.push_back(step.inputs.size());
    std::vector<size_t> there;
    for (const EnsembleGraph::Edge& input : graph_.inputs) there.push_back(input.tensor);
    const auto run = [&](size_t step) {
      for (const EnsembleGraph::Edge& output : graph_.steps[step].outputs)
        there.push_back(output.tensor);
    };
    for (size_t step = 0; step < missing.size(); ++step)
      if (missing[step] == 0) run(step);
    while (!there.empty()) {
      const size_t tensor = there.back();
      there.pop_back();
      for (const size_t step : graph_.readers[tensor])
        if (--missing[step] == 0) run(step);
    }
    for (size_t step = 0; step < missing.size(); ++step)
      if (missing[step] > 0)
        throw Error{graph_.steps[step].label
                    + ": waits for its own output: the steps are a circle"};
  }

  // The largest batch of all members, or what the configuration says.
  void set_batch() {
    size_t possible = SIZE_MAX;
    for (size_t i = 0; i < members_.size(); ++i) {
      const size_t most = members_[i]->metadata().max_batch;
      if (config_.max_batch_size && *config_.max_batch_size > static_cast<int64_t>(most)
          && *config_.max_batch_size > 1)
        throw Error{"max_batch_size: " + graph_.steps[i].label + " takes batches of at most "
                    + std::to_string(most) + ", found " + std::to_string(*config_.max_batch_size)};
      possible = std::min(possible, most);
    }
    graph_.metadata.max_batch =
        static_cast<size_t>(std::max<int64_t>(config_.max_batch_size.value_or(1), 1));
    if (!config_.max_batch_size) graph_.metadata.max_batch = possible;
  }

  const Models& models_;
  const ModelConfig& config_;
  EnsembleGraph graph_;
  std::vector<std::shared_ptr<Model>> members_;
  std::map<std::string, NamedSides> tensors_;
};

}  // namespace

EnsembleGraph ensemble_graph(const Models& models, const std::string& version,
                             const ModelConfig& config) {
  return GraphMaker(models, version, config).make();
}

}  // namespace tenon::server
