// The passes in order, run until none has anything left to do.
#include "network/control_flow.h"
#include "ops/loop.h"
#include "optimize/choose_branches.h"
#include "optimize/nest_control_flow.h"
#include "optimize/optimize.h"
#include "optimize/passes.h"
#include "optimize/quantize_before_moves.h"

namespace tenon {
namespace {

struct Pass {
  const char* name;
  std::optional<Patch> (*run)(const Network&, const Target&);
  // Leaves convolutions and products as they are, but for their weights, and whole layers around
  // them: simplify() has it.
  bool simplifies = false;
};

// Order is meaning: what removes layers comes before what joins them, and weights take in what they
// can before epilogues do.
constexpr Pass kPasses[] = {
    {"dead_layers", dead_layers, true},
    {"quantized_products", quantized_products},  // before folding makes floats of their weights
    {"quantized_sums", quantized_sums},
    {"pooling_of_bytes", pooling_of_bytes},
    {"constant_folding", constant_folding, true},
    {"identities", identities, true},
    {"merge_pairs", merge_pairs, true},
    {"padding_into_convolution", padding_into_convolution, true},
    {"known_activations", known_activations, true},
    {"layer_normalization", layer_normalization, true},
    {"attention", attention, true},  // before factors go elsewhere
    {"shuffles_past_products", shuffles_past_products},
    {"shuffles_past_activations", shuffles_past_activations},
    {"fold_scale", fold_scale, true},
    {"bias", bias, true},
    {"convolution_epilogue", convolution_epilogue},
    {"separable_convolution", separable_convolution},  // with their epilogues
    {"attention_strides", attention_strides},          // of shuffles that are merged
    {"pointwise_chains", pointwise_chains},
    {"quantized_epilogues", quantized_epilogues},            // of whole chains
    {"quantized_casts", quantized_casts},                    // where no byte follows
    {"normalization_neighbours", normalization_neighbours},  // sums that are no epilogue
    {"attention_bytes", attention_bytes},                    // behind its shuffles
    {"attention_projections", attention_projections},        // with their biases and types
    {"byte_chains", byte_chains},                            // which are part of no other layer
};

// A patch takes all it finds in one sweep, so few are needed; the rest is not worth the time.
constexpr int kMaxPatches = 200;

void report(const Pass& pass, const OptimizeOptions& options) {
  if (options.progress != nullptr && !options.progress(pass.name))
    fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
}

void run_passes(Network& network, const Target& target, const OptimizeOptions& options,
                bool only_simplify = false) {
  int patches = 0;
  for (size_t i = 0; i < std::size(kPasses);) {
    const Pass& pass = kPasses[i];
    const bool runs = patches < kMaxPatches && (pass.simplifies || !only_simplify);
    std::optional<Patch> patch = runs ? pass.run(network, target) : std::nullopt;
    if (patch) {
      const size_t before = network.nodes().size();
      std::move(*patch).apply(network);
      ++patches;
      options.log.verbose("optimize: {}: {} layers, {} before", pass.name, network.nodes().size(),
                          before);
#ifndef NDEBUG
      with_context(fmt::format("after pass {}", pass.name), [&] { verify(network); });
#endif
    }
    report(pass, options);
    i = patch ? 0 : i + 1;  // earlier passes may find new work
  }
}

}  // namespace

void simplify(Network& network, const Target& target, const OptimizeOptions& options) {
  network.infer_if_touched();
  nest_control_flow(network);
  choose_branches(network);
  run_passes(network, target, options, true);
}

void optimize(Network& network, const Target& target, const OptimizeOptions& options) {
  network.infer_if_touched();
  nest_control_flow(network);
  choose_branches(network);
  quantize_before_moves(network, target);
  run_passes(network, target, options);
  Precision precision = options.precision;
  if (precision.reduced && !target.is_fast_in(*precision.reduced)) precision.reduced.reset();
  precision.only_products = target.only_products_are_fast();
  if (!precision.changes_nothing()) {
    apply_precision(network, precision, options.log);
#ifndef NDEBUG
    with_context("after the layers' types were chosen", [&] { verify(network); });
#endif
    run_passes(network, target, options);
  } else {
    for (const auto& node : network.nodes()) node->precision.reset();  // hints, and no marks
  }
  for (const auto& node : network.nodes()) {
    const ControlFlow* layer = control_flow_of(*node);
    if (layer == nullptr) continue;
    OptimizeOptions inner = options;
    // What an iteration hands to the next would be rounded each time.
    if (node->as<Loop>()) inner.precision.reduced.reset();
    for (const auto& body : layer->bodies) optimize(*body, target, inner);
  }
}

}  // namespace tenon
