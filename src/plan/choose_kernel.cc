#include "plan/choose_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/function_ref.h"
#include "plan/kernel_error.h"
#include "plan/load_steps.h"
#include "plan/packed_from.h"
#include "plan/time_kernel.h"
#include "plan/timing_cache.h"
#include "plan/trial_run.h"

namespace tenon {
namespace {

size_t index_of(std::span<const Candidate> list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return i;
  return list.size();
}

// Never faster than a kernel made to be fast.
bool is_last_resort(std::string_view candidate) {
  return candidate == "reference" || candidate == "host";
}

/// What kernels must keep within, and which did not.
struct Limits {
  size_t max_workspace, max_growth;
  std::vector<std::string> passed_over = {};  // tactics

  // Why the kernel cannot be taken, "" if it can.
  std::string refusal(const Kernel& kernel, const KernelRequest& request) {
    const std::string reason = excess(kernel, request);
    if (!reason.empty()) passed_over.push_back(tactic_of(kernel));
    return reason;
  }

  // Who is passed over might have won. No limit of a plan less what its layers took is none either.
  bool are_set() const { return max_workspace != SIZE_MAX || max_growth < SIZE_MAX / 2; }

 private:
  std::string excess(const Kernel& kernel, const KernelRequest& request) const {
    const size_t growth = growth_of(kernel, request);
    if (growth > max_growth)
      return fmt::format(
          "{}: its weights take {} bytes more than the network's, and the limit is {}", kernel.name,
          growth, max_growth);
    if (max_workspace == SIZE_MAX) return "";
    const size_t bytes = PreparedKernel(kernel, request).execution->scratch_bytes();
    if (bytes <= max_workspace) return "";
    return fmt::format("{}: it wants {} bytes of workspace, and the limit is {}", kernel.name,
                       bytes, max_workspace);
  }
};

/// Kernels of one candidate that may be taken: its first, and others of its variants.
struct Offers {
  std::vector<std::unique_ptr<Kernel>> kernels;  // none when nobody accepts
  std::vector<std::string> refusals;
};

void append(std::vector<TimedKernel>& kernels, Offers offers) {
  for (auto& kernel : offers.kernels) kernels.emplace_back(std::move(kernel));
}

// What an application reads to choose another entry of an editable timing cache, line by line as
// TensorRT writes it.
void log_entry(const TimingKey& key, const std::vector<TimedKernel>& kernels,
               std::string_view layer, const Log& log) {
  const TimedKernel& winner = kernels[fastest(kernels)];
  const uint64_t best = tactic_number(tactic_of(*winner.kernel));
  log.verbose("Autotuning op {}(key: 0x{:02x}):", layer, fmt::join(key, ""));
  log.verbose("Sorted table of all evaluated tactics:");
  log.verbose(
      "tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, "
      "tactic_hash, tunable_parameter");
  std::vector<size_t> order;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (std::isfinite(kernels[i].milliseconds())) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return kernels[a].milliseconds() < kernels[b].milliseconds();
  });
  for (size_t i : order) {
    const std::string tactic = tactic_of(*kernels[i].kernel);
    log.verbose("{:>4}, {:.7f}, {:.5f}, {:.5f}, {}, {:#x},", i, kernels[i].milliseconds(),
                kernels[i].milliseconds() / winner.milliseconds(), 0., tactic,
                tactic_number(tactic));
  }
  log.verbose("The selected tactic is (tactic hash, cost(in ms)):{:#x}, {:.6f}", best,
              winner.milliseconds());
  log.verbose("Writing the best tactic ({:#x}) to cache", best);
}

/// One that was loaded, and stores what it was loaded from.
class PackedKernel final : public Kernel {
 public:
  PackedKernel(std::unique_ptr<Kernel> loaded, StoredKernel stored)
      : Kernel(*loaded), loaded_(std::move(loaded)) {
    state = std::move(stored.state);
    packed = std::move(stored.packed);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return loaded_->prepare(inputs, outputs);
  }

 private:
  std::unique_ptr<Kernel> loaded_;
};

/// The choice of one layer's kernel.
class Search {
 public:
  Search(const Target& target, const KernelRequest& request, const std::string& name,
         const BuildOptions& options, size_t max_growth)
      : target_(target),
        request_(request),
        name_(name),
        layer_(describe(name, request.op)),
        options_(options),
        list_(target.candidates(request.op)),
        limits_{options.max_workspace, max_growth} {}

  // The kernel that the layer has in the options' plan; null for none that accepts it now.
  std::unique_ptr<Kernel> by_plan() {
    const auto found = options_.kernels->take(name_, request_.op.name());
    if (!found) return nullptr;
    const PlanStep& step = *found->step;
    if (step.packed_from != nullptr && step.packed_from->is(request_)
        && step.attributes == fields_of(request_.op))
      return as_packed(*found->plan, step);
    Choice choice = choose(target_, request_, index_of(list_, step.kernel));
    if (choice.kernel == nullptr || choice.kernel->name != step.kernel) return nullptr;
    if (choice.kernel->variant == step.variant) return std::move(choice.kernel);
    for (auto& variant : choice.kernel->variants()) {
      complete(*variant, request_);
      if (variant->variant == step.variant) return std::move(variant);
    }
    return nullptr;
  }

  std::unique_ptr<Kernel> by_selector(const ShapeRange& range) {
    std::vector<TimedKernel> all;
    append(all, first());
    append_later(all, [](const Candidate&) { return true; });
    const bool is_timed = options_.time_kernels && options_.measure && can_be_tried(request_);
    if (is_timed) time_in_turn(all, target_, request_, layer_, options_.log);
    if (is_timed && std::isfinite(all[fastest(all)].milliseconds()))
      std::erase_if(all, [](const TimedKernel& k) { return !std::isfinite(k.milliseconds()); });
    std::vector<KernelChoice> choices;
    for (const TimedKernel& k : all) {
      const float milliseconds = std::isfinite(k.milliseconds()) ? k.milliseconds() : 0;
      choices.push_back({k.kernel.get(), milliseconds,
                         PreparedKernel(*k.kernel, request_).execution->scratch_bytes()});
    }
    SelectedLayer selected{name_, request_, range.min, {}, range.max};
    for (const auto& specs : {request_.inputs, request_.outputs})
      for (const TensorSpec& spec : specs) selected.opt.push_back(spec.shape);
    if (selected.min.empty()) selected.min = selected.max = selected.opt;
    return std::move(all[options_.selector->select(selected, choices)].kernel);
  }

  std::unique_ptr<Kernel> by_time() {
    Offers offers = first();
    // In an editable cache, any kernel of any layer may be asked for.
    const bool times_all = options_.editable_timing_cache;
    const bool is_only = offers.kernels.size() == 1 && !is_timed(offers) && !times_all;
    if (!options_.time_kernels || is_only || !can_be_tried(request_))
      return first_exact(std::move(offers));

    // Plugins may keep no timings.
    const bool is_kept = offers.kernels.front()->timing_id.has_value();
    TimingCache* const cache = is_kept ? options_.timing_cache : nullptr;
    std::string id;
    if (cache != nullptr) {
      id = timing_id_of(offers);
      if (auto kernel = from_cache(*cache, id)) return kernel;
    }
    if (options_.error_on_timing_cache_miss)
      fail(ErrorCode::kINVALID_STATE, "layer {}: the timing cache has no entry for it{}", layer_,
           inexact_.empty() ? "" : " that is exact enough for its weights");
    if (!options_.measure) return first_exact(std::move(offers));

    std::vector<TimedKernel> kernels;
    append(kernels, std::move(offers));
    append_later(kernels, [&](const Candidate& before) { return before.timed || times_all; });
    time_in_turn(kernels, target_, request_, layer_, options_.log);
    const auto keep = [&](const TimedKernel& timed) {
      const TimingEntry entry{tactic_of(*timed.kernel), timed.milliseconds()};
      if (cache != nullptr && std::isfinite(entry.milliseconds)) cache->insert(key_of(id), entry);
    };
    kernels.push_back(fastest_exact(kernels, keep));
    const TimedKernel& winner = kernels.back();
    if (options_.editable_timing_cache && cache != nullptr)
      log_entry(key_of(id), kernels, name_, options_.log);
    keep(winner);
    options_.log.verbose("layer {}: {} in {:.3f} ms", layer_, tactic_of(*winner.kernel),
                         winner.milliseconds());
    return std::move(kernels.back().kernel);
  }

 private:
  // The step's kernel with the constants that it packed, as when the plan is loaded.
  std::unique_ptr<Kernel> as_packed(const Plan& plan, const PlanStep& step) const {
    std::vector<TensorSpec> inputs(request_.inputs.begin(), request_.inputs.end());
    std::vector<TensorSpec> outputs(request_.outputs.begin(), request_.outputs.end());
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i].layout = step.packed_from->input_layouts()[i];
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].layout = step.packed_from->output_layouts()[i];
    const std::vector<const Tensor*> constants(inputs.size(), nullptr);
    StoredKernel stored = stored_kernel(plan, step);
    auto loaded = load_kernel(target_, step.kernel,
                              {request_.op, inputs, outputs, constants, request_.tf32}, stored);
    auto kernel = std::make_unique<PackedKernel>(std::move(loaded), std::move(stored));
    kernel->variant = step.variant;
    return kernel;
  }

  // Measures the kernel's error on the layer's weights; says what is wrong with it, "" for nothing.
  std::string inexactness_of(Kernel& kernel) const {
    std::optional<MeasuredError> measured;
    try {
      // The kernels of a plan that is built again stay, and other weights change none.
      if (options_.kernels == nullptr) measured = measure_error(kernel, request_, target_.device());
    } catch (const Error&) {  // it does not run at these shapes
    }
    if (!measured) return "";
    kernel.error = measured->error;
    if (request_.tf32 || request_.bf16 || measured->is_allowed()) return "";
    return fmt::format(
        "its error is {:.2g} of the range (rms {:.2g}), allowed are {:.2g} and {:.2g}",
        measured->error.largest, measured->error.rms, measured->allowed.largest,
        measured->allowed.rms);
  }

  // The same as a yes or no, noting a kernel that is not exact enough.
  bool is_exact(Kernel& kernel) {
    const std::string reason = inexactness_of(kernel);
    if (reason.empty()) return true;
    options_.log.verbose("layer {}: {} is passed over: {}", layer_, tactic_of(kernel), reason);
    inexact_.push_back(tactic_of(kernel));
    return false;
  }

  // The entry of a layer with other weights may be no exact one for these, which have another then.
  std::unique_ptr<Kernel> from_cache(const TimingCache& cache, const std::string& id) {
    for (;;) {
      const auto known = cache.find(key_of(id));
      auto kernel = known ? find(*known) : nullptr;
      if (kernel == nullptr) return nullptr;
      if (!options_.editable_timing_cache) {
        if (is_exact(*kernel)) return kernel;
        continue;
      }
      if (const std::string reason = inexactness_of(*kernel); !reason.empty())
        options_.log.warning("layer {}: {} is the timing cache's choice, and {}", layer_,
                             tactic_of(*kernel), reason);
      return kernel;
    }
  }

  // Taken out of the list, with the faster ones. The one with the least error, where none is exact
  // enough. `keep` is told of those that are not: layers with other weights may take them.
  TimedKernel fastest_exact(std::vector<TimedKernel>& kernels,
                            FunctionRef<void(const TimedKernel&)> keep) {
    std::vector<TimedKernel> inexact;
    while (!kernels.empty()) {
      const auto at = kernels.begin() + static_cast<std::ptrdiff_t>(fastest(kernels));
      TimedKernel timed = std::move(*at);
      kernels.erase(at);
      if (!options_.editable_timing_cache) keep(timed);
      if (is_exact(*timed.kernel)) return timed;
      inexact.push_back(std::move(timed));
    }
    return std::move(*std::ranges::min_element(
        inexact, {}, [](const TimedKernel& timed) { return timed.kernel->error->rms; }));
  }

  // The same in the order of candidates: the first. No last resort is taken for its exactness.
  std::unique_ptr<Kernel> first_exact(Offers offers) {
    std::vector<std::unique_ptr<Kernel>> inexact;
    while (!offers.kernels.empty()) {
      if (!inexact.empty() && is_last_resort(offers.kernels.front()->name)) break;
      const size_t i = index_of_candidate(offers);
      for (auto& kernel : offers.kernels) {
        if (is_exact(*kernel)) return std::move(kernel);
        inexact.push_back(std::move(kernel));
      }
      offers = next(i + 1);
    }
    return std::move(*std::ranges::min_element(
        inexact, {}, [](const std::unique_ptr<Kernel>& kernel) { return kernel->error->rms; }));
  }

  // Those of the first candidate that has any.
  Offers first() {
    Offers offers = next(0);
    if (offers.kernels.empty())
      fail(ErrorCode::kUNSUPPORTED_STATE, "layer {}: the target {} has no kernel for it: {}",
           layer_, target_.name(), fmt::join(offers.refusals, "; "));
    return offers;
  }

  // Those of the first candidate from `index` on that has any. Variants are only asked for where
  // one may take the place of the kernel.
  Offers next(size_t index) {
    Offers found;
    for (;;) {
      Choice choice = choose(target_, request_, index);
      found.refusals.insert(found.refusals.end(), choice.refusals.begin(), choice.refusals.end());
      if (choice.kernel == nullptr) return found;
      index = index_of(list_, choice.kernel->name) + 1;
      const std::string reason = limits_.refusal(*choice.kernel, request_);
      std::vector<std::unique_ptr<Kernel>> variants;
      if (options_.time_kernels || !reason.empty()) variants = choice.kernel->variants();
      if (reason.empty()) found.kernels.push_back(std::move(choice.kernel));
      for (auto& variant : variants) {
        complete(*variant, request_);
        try {
          if (limits_.refusal(*variant, request_).empty())
            found.kernels.push_back(std::move(variant));
        } catch (const Error&) {  // it cannot be made ready
        }
      }
      if (!found.kernels.empty()) return found;
      found.refusals.push_back(reason);
    }
  }

  size_t index_of_candidate(const Offers& offers) const {
    return index_of(list_, offers.kernels.front()->name);
  }

  bool is_timed(const Offers& offers) const {
    const size_t i = index_of_candidate(offers);
    return i < list_.size() && list_[i].timed;
  }

  // Adds those of later candidates while it goes on behind the candidate before.
  template <class GoesOn> void append_later(std::vector<TimedKernel>& kernels, GoesOn goes_on) {
    size_t i = index_of(list_, kernels.back().kernel->name);
    while (i < list_.size() && goes_on(list_[i])) {
      Offers more = next(i + 1);
      // Who edits a cache finds no other kernel of some layers.
      const bool takes_any = options_.editable_timing_cache && kernels.size() == 1;
      if (more.kernels.empty() || (is_last_resort(more.kernels.front()->name) && !takes_any))
        return;
      i = index_of_candidate(more);
      append(kernels, std::move(more));
    }
  }

  // What the layer's key in timing caches is made of, but for its kernels that are not exact.
  std::string timing_id_of(const Offers& offers) {
    // Limits may pass over later candidates that the layer would be timed with.
    for (size_t i = index_of_candidate(offers);
         limits_.are_set() && i < list_.size() && list_[i].timed;) {
      const Offers later = next(i + 1);
      i = later.kernels.empty() ? list_.size() : index_of_candidate(later);
    }
    std::string id = *offers.kernels.front()->timing_id;
    for (const std::string& tactic : limits_.passed_over) id += fmt::format("|without {}", tactic);
    if (options_.editable_timing_cache) id += fmt::format("|layer {}", name_);
    return id;
  }

  TimingKey key_of(std::string id) const {
    // Entries that are edited are of one layer, with its weights.
    if (!options_.editable_timing_cache)
      for (const std::string& tactic : inexact_) id += fmt::format("|inexact {}", tactic);
    return timing_key(target_, request_, id);
  }

  // The kernel of a timing cache's entry; null when this build does not have it.
  std::unique_ptr<Kernel> find(const TimingEntry& entry) {
    const uint64_t number = tactic_number(entry.kernel);
    const bool is_number = entry.kernel == name_of_tactic(number);  // of any candidate's
    const auto candidate = std::string_view(entry.kernel).substr(0, entry.kernel.find('/'));
    for (size_t i = is_number ? 0 : index_of(list_, candidate); i < list_.size();) {
      Offers found = next(i);
      for (auto& kernel : found.kernels)
        if (tactic_number(tactic_of(*kernel)) == number) return std::move(kernel);
      const bool goes_on = is_number && !found.kernels.empty();
      i = goes_on ? index_of_candidate(found) + 1 : list_.size();
    }
    if (is_number)
      fail(ErrorCode::kINVALID_ARGUMENT,
           "layer {}: the timing cache has the tactic {:#x} for it, which is none of its kernels: "
           "choose one that the log names after \"Autotuning op {}\"",
           layer_, number, name_);
    return nullptr;
  }

  const Target& target_;
  const KernelRequest& request_;
  const std::string& name_;
  const std::string layer_;  // for messages
  const BuildOptions& options_;
  const std::span<const Candidate> list_;
  Limits limits_;
  std::vector<std::string> inexact_;  // tactics that were passed over for their errors
};

}  // namespace

size_t growth_of(const Kernel& kernel, const KernelRequest& request) {
  size_t before = 0;
  for (size_t i = 0; i < kernel.input_is_packed.size(); ++i)
    if (kernel.input_is_packed[i] && request.constants[i] != nullptr)
      before += request.constants[i]->bytes();
  const size_t after = kernel.packed_bytes();
  return before > 0 && after > before ? after - before : 0;
}

std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& name, const BuildOptions& options,
                                      const ShapeRange& range, size_t max_growth) {
  request.code_cache = options.code_cache;
  Search search(target, request, name, options, max_growth);
  if (options.kernels != nullptr)
    if (auto kernel = search.by_plan()) return kernel;
  return options.selector != nullptr ? search.by_selector(range) : search.by_time();
}

}  // namespace tenon
