#include "compare/compare.h"

#include <tenon/printable.h>
#include <tenon/session/debug_arrays.h>
#include <tenon/session/engine.h>
#include <tenon/session/session.h>

#include <algorithm>
#include <map>

#include "compare/cause.h"
#include "compare/cut.h"
#include "compare/dequantize.h"
#include "compare/network_graph.h"
#include "guard.h"

namespace tenon::compare {
namespace {

using session::Array;
using session::Arrays;
using session::Error;
using session::ErrorLog;
using session::guard;
using session::value_of;

// What a run computed: outputs and debug tensors, the latter in their order too.
struct Run {
  std::vector<std::string> outputs;
  Arrays arrays;
  std::vector<std::string> debug_tensors;
  struct Quantized {
    nvinfer1::DataType type;
    double step;
  };
  std::map<std::string, Quantized> quantized;  // of which an array has the floats
};

Run run(nvinfer1::ICudaEngine& engine, const Arrays& inputs, ErrorLog& log) {
  Run result;
  session::DebugArrays listener([&](const std::string& name, Array array) -> session::Result<void> {
    if (result.arrays.emplace(name, std::move(array)).second) result.debug_tensors.push_back(name);
    return {};
  });
  const auto session = value_of(session::Session::make(engine, log));
  nvinfer1::IExecutionContext& context = session->context().get();
  if (!context.setDebugListener(&listener) || !context.setAllTensorsDebugState(true)
      || !context.setUnfusedTensorsDebugState(true))
    throw log.failure("the debug tensors cannot be turned on");
  value_of(session->set_inputs(inputs));
  const auto ran = session->run();
  if (!listener.failure().empty()) throw Error{listener.failure()};
  value_of(ran);
  context.setDebugListener(nullptr);
  result.outputs = session->output_names();
  for (const auto& [name, array] : session->outputs()) result.arrays.insert_or_assign(name, array);
  return result;
}

Run build_and_run(session::Model& model, const Arrays& inputs, ErrorLog& log) {
  const auto plan = value_of(model.build(log));
  const auto engine = value_of(session::Engine::load(*plan, log));
  return run(*engine.engine, inputs, log);
}

// Those of the arrays that are inputs of a network.
Arrays inputs_of(const nvinfer1::INetworkDefinition& network, Arrays arrays) {
  Arrays inputs;
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    if (auto found = arrays.extract(network.getInput(i)->getName()))
      inputs.insert(std::move(found));
  return inputs;
}

void mark(session::Model& model, const Run& wanted) {
  const NetworkGraph graph(*model.network);
  for (const std::string& name : wanted.debug_tensors)
    if (nvinfer1::ITensor* const tensor = graph.find(name);
        tensor != nullptr && !tensor->isNetworkOutput())
      model.network->markDebug(*tensor);
}

// Quantized tensors become those that they stand for, by the names of these.
void dequantize(nvinfer1::INetworkDefinition& network, Run& run) {
  const NetworkGraph graph(network);
  for (std::string& name : run.debug_tensors) {
    if (is_float(run.arrays.at(name).type)) continue;
    auto floats = dequantized(graph, name, run.arrays.at(name));
    if (!floats || !run.arrays.try_emplace(floats->tensor, std::move(floats->array)).second)
      continue;
    run.quantized[floats->tensor] = {run.arrays.at(name).type, floats->step};
    run.arrays.erase(name);
    name = floats->tensor;
  }
}

TensorReport report_of(const std::string& name, const Run& run, const Array& expected) {
  const Array& found = run.arrays.at(name);
  const auto quantized = run.quantized.find(name);
  TensorReport report;
  report.tensor = name;
  report.type = quantized == run.quantized.end() ? found.type : quantized->second.type;
  report.step = quantized == run.quantized.end() ? 0 : quantized->second.step;
  report.shape = found.shape;
  const auto total = error_of(found, expected);
  if (!total) throw Error{"tensor '" + printable(name) + "': " + total.error()};
  report.total = *total;
  return report;
}

// Compares what both runs have; the rest is left out by name.
Report compare_runs(const Run& found, const Run& expected) {
  Report report;
  const auto add = [&](const std::vector<std::string>& names, std::vector<TensorReport>& reports) {
    for (const std::string& name : names)
      if (const auto other = expected.arrays.find(name); other == expected.arrays.end())
        report.left_out.push_back(name + ": the other build has no such tensor");
      else if (const Array& array = found.arrays.at(name); array.shape != other->second.shape)
        report.left_out.push_back(name + ": is " + session::shape_text(array.shape)
                                  + " in this build and " + session::shape_text(other->second.shape)
                                  + " in the other");
      else if (is_float(other->second.type) && !is_float(found.arrays.at(name).type))
        report.left_out.push_back(name + ": is quantized in this build, and no float");
      else
        reports.push_back(report_of(name, found, other->second));
  };
  add(found.outputs, report.outputs);
  add(found.debug_tensors, report.tensors);
  if (report.outputs.empty() && report.tensors.empty())
    throw Error{"the two builds have no tensor of the same name"};
  return report;
}

// Which layers make the tensors, by the network of the other build.
void add_pieces(nvinfer1::INetworkDefinition& network, Report& report) {
  const NetworkGraph graph(network);
  std::set<std::string> given;
  for (const TensorReport& t : report.tensors) given.insert(t.tensor);
  const auto add = [&](TensorReport& t) {
    if (graph.find(t.tensor) == nullptr || graph.producer(t.tensor) == nullptr) return;
    const NetworkGraph::Piece piece = graph.piece(t.tensor, given);
    for (const nvinfer1::ILayer* layer : piece.layers) t.layers.emplace_back(layer->getName());
    t.inputs.assign(piece.inputs.begin(), piece.inputs.end());
  };
  std::for_each(report.outputs.begin(), report.outputs.end(), add);
  std::for_each(report.tensors.begin(), report.tensors.end(), add);
  std::stable_sort(report.tensors.begin(), report.tensors.end(), [&](const auto& a, const auto& b) {
    const auto position = [&](const TensorReport& t) {
      return t.layers.empty() ? -1 : graph.position(*graph.producer(t.tensor));
    };
    return position(a) < position(b);
  });
}

// What the other build's layers make of the tensors of the first.
void add_own_errors(session::Model& other, const Run& found, const Run& expected,
                    const Arrays& inputs, ErrorLog& log, Report& report) {
  session::Shapes tensors;
  for (const TensorReport& t : report.tensors) tensors[t.tensor] = t.shape;
  const std::vector<std::string> names = value_of(cut(*other.network, tensors));
  Arrays given = inputs;
  for (const std::string& name : names) {
    Array array =
        value_of(session::convert(found.arrays.at(name), nvinfer1::DataType::kFLOAT, name));
    given.emplace(cut_name(name), std::move(array));
  }
  const Run pieces = build_and_run(other, inputs_of(*other.network, std::move(given)), log);
  const auto add = [&](TensorReport& t) {
    const auto piece = pieces.arrays.find(t.tensor);
    if (piece == pieces.arrays.end()) return;
    t.own = value_of(error_of(found.arrays.at(t.tensor), piece->second));
    t.own->range = t.total.range;  // both in parts of the same
    t.inherited = value_of(error_of(piece->second, expected.arrays.at(t.tensor)));
    t.cause = cause_of(found.arrays.at(t.tensor), piece->second, *t.own);
  };
  std::for_each(report.outputs.begin(), report.outputs.end(), add);
  std::for_each(report.tensors.begin(), report.tensors.end(), add);
}

bool has_input(const nvinfer1::ICudaEngine& engine, const std::string& name) {
  return engine.getTensorIOMode(name.c_str()) == nvinfer1::TensorIOMode::kINPUT;
}

// Without the arrays that the other engine alone has inputs for.
Arrays inputs_of(const nvinfer1::ICudaEngine& engine, const nvinfer1::ICudaEngine& other,
                 const Arrays& arrays) {
  Arrays taken;
  for (const auto& [name, array] : arrays)
    if (has_input(engine, name) || !has_input(other, name)) taken.emplace(name, array);
  return taken;
}

}  // namespace

const TensorReport* Report::first_over(double bound) const {
  for (const auto* reports : {&tensors, &outputs})
    for (const TensorReport& t : *reports)
      // An input of the network that differs is quantized, and no layer's doing.
      if (const TensorError& error = t.own ? *t.own : t.total;
          !t.layers.empty() && error.of_range() > bound
          && (error.not_finite > 0 || error.largest > t.step))
        return &t;
  return nullptr;
}

session::Result<Report> compare_outputs(nvinfer1::ICudaEngine& engine, nvinfer1::ICudaEngine& other,
                                        const Arrays& arrays, ErrorLog& log) {
  return guard([&] {
    Run found = run(engine, inputs_of(engine, other, arrays), log);
    found.debug_tensors.clear();
    return compare_runs(found, run(other, inputs_of(other, engine, arrays), log));
  });
}

session::Result<Report> compare_tensors(const Parse& model, const Parse& other,
                                        const Arrays& arrays, ErrorLog& log) {
  return guard([&] {
    session::Model first = value_of(model());
    if (!first.network->markUnfusedTensorsAsDebugTensors())
      throw log.failure("the tensors cannot be marked");
    Run found = build_and_run(first, inputs_of(*first.network, arrays), log);
    dequantize(*first.network, found);
    session::Model second = value_of(other());
    mark(second, found);
    const Arrays inputs = inputs_of(*second.network, arrays);
    const Run expected = build_and_run(second, inputs, log);
    Report report = compare_runs(found, expected);
    add_pieces(*second.network, report);
    session::Model third = value_of(other());
    add_own_errors(third, found, expected, inputs, log, report);
    return report;
  });
}

}  // namespace tenon::compare
