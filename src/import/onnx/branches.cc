#include "import/onnx/branches.h"

#include <algorithm>

#include "base/text.h"
#include "import/onnx/loop_parts.h"
#include "network/splice.h"
#include "ops/assertion.h"
#include "ops/conditional.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

// Whether an output is one tensor whichever body makes it, as far as ranks go.
bool is_alike(const Item& a, const Item& b) {
  return std::holds_alternative<Value*>(a) && std::holds_alternative<Value*>(b)
         && std::get<Value*>(a)->dims.size() == std::get<Value*>(b)->dims.size();
}

}  // namespace

bool are_alike(const Bodies& bodies) {
  const auto &a = bodies[0].outputs, &b = bodies[1].outputs;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_alike);
}

Node& add_conditional(NodeContext& n, Value& condition, Bodies& bodies,
                      const std::string& refusal) {
  auto op = std::make_unique<Conditional>();
  for (Body& body : bodies) {
    for (const Item& item : body.outputs)
      mark_body_output(body, *as_tensor(item, "what a branch makes"));
    op->bodies.push_back(body.network);
  }
  const bool at_build = !refusal.empty();
  if (at_build) op->refusal = refusal;
  for (size_t i = 0; i < bodies[0].outputs.size(); ++i)
    with_context(fmt::format("output {}", i), [&] {
      const auto made = [&](const Body& body) {
        return body_output(*body.network, i, sources_of(*body.network, *op));
      };
      const BodyOutput then = made(bodies[0]), otherwise = made(bodies[1]);
      op->outputs.add(at_build ? then : common(then, otherwise));
      if (at_build) op->otherwise.add(otherwise);
    });
  std::vector<Value*> inputs{&condition};
  inputs.insert(inputs.end(), bodies[0].captured.begin(), bodies[0].captured.end());
  return n.add_node(std::move(op), std::move(inputs));
}

namespace {

// Branches whose tensors differ in rank go on separately, up to the end of the graph: what is
// behind them is made for each rank.
class SeparateBranches {
 public:
  SeparateBranches(NodeContext& n, Value& condition, Bodies& bodies, const Decision& decision)
      : n_(n), condition_(condition), bodies_(bodies), decision_(decision) {}

  void import() {
    NodeList followers = n_.bodies().take_followers();
    names_ = followers.outputs();
    if (names_.empty()) return;
    go_on(0, followers.copy());
    go_on(1, std::move(followers));
    if (!problems_[0].empty() && !problems_[1].empty())
      fail_import(Code::kUNSUPPORTED_NODE,
                  "its branches make tensors of different ranks, and what is behind it takes "
                  "neither. Where the condition is true: {}. Where it is false: {}",
                  problems_[0], problems_[1]);
    for (size_t i : {0, 1})
      if (!problems_[i].empty()) return keep_only(1 - i);
    n_.bodies().capture(bodies_[0], bodies_[1].captured);
    give_one_rank();
    const bool at_build = decision_.at_build || !are_alike(bodies_);
    Node& node = add_conditional(n_, condition_, bodies_, at_build ? decision_.refusal : "");
    node.name = n_.node_name();
    for (size_t i = 0; i < names_.size(); ++i) {
      node.outputs[i]->name = names_[i];
      n_.bodies().define(names_[i], node.outputs[i]);
    }
  }

 private:
  void go_on(size_t i, NodeList followers) {
    try {
      if (!decision_.first.empty()) followers.prepend(decision_.first.at(i));
      n_.bodies().capture(bodies_[i], bodies_[1 - i].captured);
      n_.bodies().go_on(bodies_[i], std::move(followers));
    } catch (const Error& e) {
      if (n_.bodies().is_exhausted()) throw;
      problems_[i] = short_line(e.what());  // each branch may hold the problems of two more
    }
  }

  // The other body, behind which the graph is wrong, must never be chosen.
  void keep_only(size_t i) {
    auto op = std::make_unique<Assertion>();
    op->message = fmt::format("the condition of node '{}' ({}) is {}, where {}", n_.node_name(),
                              n_.op(), i == 1, problems_[1 - i]);
    n_.add_node(std::move(op),
                {i == 0 ? &condition_ : &n_.unary(nvinfer1::UnaryOperation::kNOT, condition_)});
    const auto here = n_.splice(*bodies_[i].network, bodies_[i].captured);
    const auto value_here = [&](Value* v) { return v == nullptr ? v : here.at(v); };
    for (size_t k = 0; k < names_.size(); ++k) {
      Item item = bodies_[i].outputs[k];
      if (const Sequence* sequence = as_sequence(item)) {
        Sequence parts = *sequence;
        for (SequencePart& part : parts) part.tensor = value_here(part.tensor);
        item = parts;
      } else if (!is_empty_optional(item)) {
        item = value_here(std::get<Value*>(item));
      }
      n_.bodies().define(names_[k], item);
    }
  }

  // A tensor of one element holds the same whatever its rank. Other ranks are decided when the
  // network is built, which only outputs of the network can wait for.
  void give_one_rank() {
    const bool known_at_build = condition_.content.has_value();
    for (size_t i = 0; i < names_.size(); ++i) {
      Item &a = bodies_[0].outputs[i], &b = bodies_[1].outputs[i];
      if (is_alike(a, b)) continue;
      Value& then = *as_tensor(a, "what a branch makes");
      Value& otherwise = *as_tensor(b, "what a branch makes");
      const bool one = has_one_element(then.dims) && has_one_element(otherwise.dims);
      if (n_.bodies().ends_model() && (known_at_build || !one)) continue;
      if (!one)
        fail_import(Code::kUNSUPPORTED_NODE,
                    "'{}' has {} dimensions where the condition is true, and {} where it is "
                    "false: a tensor that leaves a graph inside a node has one rank",
                    names_[i], then.dims.size(), otherwise.dims.size());
      const size_t rank = std::max(then.dims.size(), otherwise.dims.size());
      a = &of_rank(bodies_[0], then, rank);
      b = &of_rank(bodies_[1], otherwise, rank);
    }
  }

  Value& of_rank(Body& body, Value& v, size_t rank) {
    Layers layers(*body.state, fmt::format("{} [rank {}]", v.name, rank));
    Value& tensor = v.is_weight() ? layers.constant(v) : v;
    return layers.reshape(tensor, Dims(rank, layers.number(1)));
  }

  NodeContext& n_;
  Value& condition_;
  Bodies& bodies_;
  const Decision& decision_;
  std::vector<std::string> names_;  // of what the graph makes behind the branches
  std::string problems_[2];         // what keeps a branch from going on
};

}  // namespace

void import_separately(NodeContext& n, Value& condition, Bodies& bodies, const Decision& decision) {
  SeparateBranches(n, condition, bodies, decision).import();
}

}  // namespace tenon
