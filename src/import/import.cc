// A model as a whole: its names, its border, its nodes one after the other, and all that is wrong.
#include "import/import.h"

#include <onnx_schema.pb.h>

#include <new>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "import/graph.h"
#include "import/graph_io.h"
#include "import/parsed_model.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr size_t kMaxProblems = 1000;

Code parser_code(const Error& e) {
  if (const auto* own = dynamic_cast<const ImportError*>(&e)) return own->parser_code();
  switch (e.code()) {
    case ErrorCode::kFAILED_ALLOCATION:
      return Code::kMEM_ALLOC_FAILED;
    case ErrorCode::kINTERNAL_ERROR:
      return Code::kINTERNAL_ERROR;
    case ErrorCode::kUNSUPPORTED_STATE:
      return Code::kUNSUPPORTED_NODE;
    default:
      return Code::kINVALID_NODE;
  }
}

class ModelImporter {
 public:
  ModelImporter(onnx::ModelProto& model, const ImportOptions& options, Network& network,
                ImportReport& report)
      : model_(model),
        graph_(*model.mutable_graph()),
        options_(options),
        network_(network),
        report_(report),
        state_(network),
        weights_{options, {options.model_path, options.log, {}}},
        importer_(model, options, network, report) {
    *state_.constant_budget = options.max_computed_bytes;
    scope_.state = &state_;
    scope_.weights = &weights_;
    scope_.is_model = true;
  }

  void run() {
    // Unread: each would be a problem of its own.
    if (!guarded(nullptr, -1, [&] { require_fewer(graph_.node_size(), options_.max_nodes); }))
      return;
    scope_.set_opsets(model_.opset_import());
    if (scope_.opset > 0 && scope_.opset < 6)
      options_.log.warning(
          "the model uses opset {}; opsets before 6 are read as opset 6 where they "
          "differ",
          scope_.opset);
    if (!graph_.name().empty()) network_.name = graph_.name();
    const auto count = static_cast<size_t>(graph_.node_size());
    scope_.items.reserve(count);
    scope_.producers.reserve(count);
    report_.node_outputs.reserve(count);
    state_.runtime.reserve(count);
    if (!guarded(nullptr, -1, [&] { list_names(); })) return;
    find_unknown_operators();
    if (!guarded(nullptr, -1, [&] { add_inputs(graph_, scope_, options_.log); })) return;
    std::vector<std::string> outputs;
    for (const auto& output : graph_.output()) outputs.push_back(output.name());
    NodeList nodes(*graph_.mutable_node(), std::move(outputs));
    // Also after an unknown operator: a report names all that is wrong with a model.
    scope_.nodes = &nodes;
    scope_.import_current = [&] { import_top_node(nodes); };
    while (nodes.next()) scope_.import_current();
    importer_.warn_of_doubles();
    if (report_.problems.empty())
      guarded(nullptr, -1, [&] { mark_outputs(graph_, scope_, options_.log); });
  }

 private:
  template <class Work> bool guarded(const onnx::NodeProto* node, int index, Work&& work) {
    try {
      work();
      return true;
    } catch (const Error& e) {
      ErrorClass error_class = e.error_class();
      if (error_class == ErrorClass::kArgument)
        error_class = node != nullptr ? ErrorClass::kNode : ErrorClass::kModelFile;
      add_problem(parser_code(e), error_class, e.what(), node, index);
    } catch (const std::bad_alloc&) {
      add_problem(Code::kMEM_ALLOC_FAILED, ErrorClass::kMemory, "out of memory", node, index);
    } catch (const std::exception& e) {
      add_problem(Code::kINTERNAL_ERROR, ErrorClass::kInternal, e.what(), node, index);
    }
    return false;
  }

  void add_problem(Code code, ErrorClass error_class, const std::string& text,
                   const onnx::NodeProto* node, int index) {
    std::vector<std::string> functions = importer_.take_functions();
    if (report_.problems.size() >= kMaxProblems) return;
    ImportProblem problem{code, short_line(text), index, "", "", error_class, std::move(functions)};
    if (node != nullptr) {
      problem.node_name = short_line(shown_name(*node, index));
      problem.node_operator = short_line(qualified_operator(node->domain(), node->op_type()));
      problem.text = short_line(
          fmt::format("node '{}' ({}): {}", problem.node_name, problem.node_operator, text));
    } else if (code == Code::kINVALID_NODE) {
      problem.code = Code::kINVALID_GRAPH;
    }
    report_.problems.push_back(std::move(problem));
  }

  // Everything that the graph defines, once each.
  void list_names() {
    list_initializers(graph_, scope_);
    std::unordered_set<std::string> inputs;
    for (const auto& input : graph_.input()) {
      check_name(input.name(), "a graph input");
      require(inputs.insert(input.name()).second, "two graph inputs are called '{}'", input.name());
    }
    for (int i = 0; i < graph_.node_size(); ++i)
      for (const std::string& output : graph_.node(i).output()) {
        if (output.empty()) continue;
        check_name(output, "an output of a node");
        if (scope_.initializers.contains(output) || inputs.contains(output)
            || !scope_.producers.try_emplace(output, Producer{&graph_.node(i), i}).second)
          fail(ErrorCode::kINVALID_ARGUMENT,
               "two tensors are called '{}' (one is an output of node '{}')", output,
               shown_name(graph_.node(i), i));
      }
    require(graph_.output_size() > 0, "the graph has no outputs");
  }

  void find_unknown_operators() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      if (!guarded(&node, i, [&] { importer_.require_meaning(scope_, node); })) unknown_.insert(i);
    }
  }

  void import_top_node(const NodeList& nodes) {
    const int index = nodes.index();
    onnx::NodeProto& node = nodes.current();
    bool imported = false;
    const bool fine = !unknown_.contains(index) && guarded(&node, index, [&] {
      imported = importer_.import_node(scope_, node, index);
    });
    if (!fine || !imported)
      for (const std::string& output : node.output()) scope_.items[output] = Item();
    auto& groups = report_.supported_nodes;
    if (fine && !std::exchange(in_group_, true)) groups.emplace_back();
    in_group_ = fine;
    if (!fine) return;
    groups.back().push_back(index);
    const auto taken = nodes.taken_by(index);
    groups.back().insert(groups.back().end(), taken.begin(), taken.end());
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  const ImportOptions& options_;
  Network& network_;
  ImportReport& report_;
  ImportState state_;
  WeightSource weights_;
  Scope scope_;
  GraphImporter importer_;
  std::unordered_set<int> unknown_;  // nodes whose operator nobody knows
  bool in_group_ = false;            // whether the node before can be imported
};

[[noreturn]] void throw_first(const ImportReport& report) {
  const size_t more = report.problems.size() - 1;
  const std::string rest = more == 0 ? "" : fmt::format(" (and {} more problems)", more);
  throw Error(ErrorCode::kINVALID_ARGUMENT, report.problems[0].error_class,
              report.problems[0].text + rest);
}

}  // namespace

void import_onnx(std::span<const std::byte> bytes, const ImportOptions& options, Network& network,
                 ImportReport& report) {
  std::unique_ptr<onnx::ModelProto> model;
  try {
    model = parse_model(bytes, options.model_path);
  } catch (const Error& e) {
    report.problems.push_back({Code::kMODEL_DESERIALIZE_FAILED,
                               short_line(e.what()),
                               -1,
                               "",
                               "",
                               ErrorClass::kModelFile,
                               {}});
    throw_first(report);
  }
  import_parsed(*model, options, network, report);
}

void import_parsed(onnx::ModelProto& model, const ImportOptions& options, Network& network,
                   ImportReport& report) {
  try {
    ModelImporter(model, options, network, report).run();
  } catch (const Error& e) {
    report.problems.push_back(
        {Code::kINVALID_GRAPH, short_line(e.what()), -1, "", "", ErrorClass::kModelFile, {}});
  }
  if (!report.problems.empty()) throw_first(report);
}

std::vector<std::string> initializer_names(std::span<const std::byte> bytes,
                                           const std::string& model_path) {
  std::vector<std::string> names;
  const auto model = parse_model(bytes, model_path);
  for (const auto& tensor : model->graph().initializer()) names.push_back(tensor.name());
  return names;
}

}  // namespace tenon
