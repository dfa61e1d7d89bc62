#include "plan/time_kernel.h"

#include <fmt/ranges.h>

#include <cmath>

#include "ops/reorder.h"

namespace tenon {
namespace {

// Layers larger than this are not timed: two copies of their tensors would not fit a small machine.
constexpr int64_t kLargestTimed = int64_t{1} << 31;

// What bounds it where only running tells its size.
const Shape& size_of(const TensorSpec& spec) {
  return spec.upper.rank() == 0 ? spec.shape : spec.upper;
}

Tensor random_tensor(const TensorSpec& spec) {
  const Shape& shape = size_of(spec);
  Tensor t(DataType::kUINT8, {static_cast<int64_t>(storage_bytes(spec.type, shape, spec.layout))});
  auto* bytes = t.mutable_data<uint8_t>();
  std::fill_n(bytes, t.bytes(), uint8_t{0});
  if (spec.type == DataType::kFLOAT) {
    auto* x = reinterpret_cast<float*>(bytes);
    uint32_t state = 1;
    for (size_t i = 0; i < t.bytes() / sizeof(float); ++i) {
      state = state * 1664525u + 1013904223u;
      x[i] = static_cast<float>(state >> 8) / (1u << 24) - 0.5f;
    }
  }
  return t;
}

/// A kernel made ready for the shapes of the request.
struct Prepared {
  std::vector<TensorSpec> inputs, outputs;
  std::unique_ptr<Execution> execution;

  Prepared(const Kernel& kernel, const KernelRequest& request)
      : inputs(request.inputs.begin(), request.inputs.end()),
        outputs(request.outputs.begin(), request.outputs.end()) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel.input_layouts[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel.output_layouts[i];
    execution = kernel.prepare(inputs, outputs);
  }
};

// What a kernel reads that is the same in each run, but for copies that it made when it was loaded.
std::vector<Tensor> weights_of(const Kernel& kernel, const KernelRequest& request) {
  std::vector<Tensor> weights = kernel.store().packed;
  for (size_t i = 0; i < request.constants.size(); ++i)
    if (request.constants[i] != nullptr && !kernel.input_is_packed[i])
      weights.push_back(*request.constants[i]);
  return weights;
}

float time_kernel(const Kernel& kernel, const KernelRequest& request, const Device& device) {
  const auto [inputs, outputs, execution] = Prepared(kernel, request);

  // A host's kernels work on the tensors as they are; for a device they are copied.
  std::vector<Tensor> tensors;
  std::vector<DeviceBuffer> copies;
  const auto address_of = [&](Tensor tensor, bool on_host) -> void* {
    tensors.push_back(std::move(tensor));
    if (on_host || device.is_host()) return tensors.back().mutable_data<void>();
    copies.emplace_back(device, std::max<size_t>(tensors.back().bytes(), 1));
    device.copy_in(copies.back().data(), tensors.back().data(), tensors.back().bytes(), nullptr);
    return copies.back().data();
  };
  std::vector<const void*> in, packed;
  std::vector<void*> out;
  std::vector<WrittenRows> written;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool unused = !inputs[i].present || kernel.input_is_packed[i];
    in.push_back(unused ? nullptr
                        : address_of(request.constants[i] != nullptr ? *request.constants[i]
                                                                     : random_tensor(inputs[i]),
                                     kernel.input_on_host[i]));
    if (!unused && request.constants[i] == nullptr)
      written.push_back(written_rows(inputs[i], tensors.back()));
  }
  for (const TensorSpec& spec : outputs) out.push_back(address_of(random_tensor(spec), false));
  if (!device.is_host())
    for (const Tensor& t : kernel.packed) packed.push_back(address_of(t, false));
  if (kernel.aliased_input >= 0)
    out[0] = const_cast<void*>(in[static_cast<size_t>(kernel.aliased_input)]);
  const DeviceBuffer scratch(device, execution->scratch_bytes());
  // Memory for what bounds data-dependent outputs is there.
  const AllocateOutput allocate = [&](int output, const Shape&) {
    return out[static_cast<size_t>(output)];
  };

  // A plugin may leave work in the stream.
  const bool waits = device.is_host() && request.op.is_plugin();
  const auto run = [&](Stream* stream) {
    execution->run({in, out, scratch.data(), stream, &allocate, packed});
    if (waits) device.synchronize_all();
  };
  std::vector<Tensor> cold;
  if (request.cold_weights) cold = weights_of(kernel, request);
  return device.measure(run, {cold, written});
}

// What it takes to bring inputs into the layouts that the kernel wants.
float time_reorders(const Kernel& kernel, const KernelRequest& request, const Target& target) {
  float milliseconds = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& arrives = request.inputs[i];
    const bool is_read =
        arrives.present && !kernel.input_is_packed[i] && request.constants[i] == nullptr;
    if (!is_read || kernel.input_layouts[i] == arrives.layout) continue;
    Reorder op;
    op.from = arrives.layout;
    op.to = kernel.input_layouts[i];
    TensorSpec wanted = arrives;
    wanted.layout = op.to;
    const Tensor* const constant = nullptr;
    const KernelRequest reorder{op, {&arrives, 1}, {&wanted, 1}, {&constant, 1}};
    const Choice choice = choose(target, reorder);
    if (choice.kernel != nullptr)
      milliseconds += time_kernel(*choice.kernel, reorder, target.device());
  }
  return milliseconds;
}

size_t index_of(std::span<const Candidate> list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return i;
  return list.size();
}

// How a timing cache names a kernel.
std::string label_of(const Kernel& kernel) {
  return tactic_name(kernel.name, kernel.variant);
}

/// What kernels must keep within, and which did not.
struct Limits {
  size_t max_workspace, max_growth;
  std::vector<std::string> passed_over = {};  // labels

  // Why the kernel cannot be taken, "" if it can.
  std::string refusal(const Kernel& kernel, const KernelRequest& request) {
    const std::string reason = excess(kernel, request);
    if (!reason.empty()) passed_over.push_back(label_of(kernel));
    return reason;
  }

 private:
  std::string excess(const Kernel& kernel, const KernelRequest& request) const {
    const size_t growth = growth_of(kernel, request);
    if (growth > max_growth)
      return fmt::format(
          "{}: its weights take {} bytes more than the network's, and the limit is {}", kernel.name,
          growth, max_growth);
    if (max_workspace == SIZE_MAX) return "";
    const size_t bytes = Prepared(kernel, request).execution->scratch_bytes();
    if (bytes <= max_workspace) return "";
    return fmt::format("{}: it wants {} bytes of workspace, and the limit is {}", kernel.name,
                       bytes, max_workspace);
  }
};

/// Kernels of one candidate that may be taken: its first, and others of its variants.
struct Contenders {
  std::vector<std::unique_ptr<Kernel>> kernels;  // none when nobody accepts
  std::vector<std::string> refusals;
};

// Those of the first candidate from `first` on that has any. Variants are only asked for where one
// may take the place of the kernel.
Contenders contenders(const Target& target, const KernelRequest& request, size_t first,
                      Limits& limits, bool with_variants) {
  Contenders found;
  for (;;) {
    Choice choice = choose(target, request, first);
    found.refusals.insert(found.refusals.end(), choice.refusals.begin(), choice.refusals.end());
    if (choice.kernel == nullptr) return found;
    first = index_of(target.candidates(request.op), choice.kernel->name) + 1;
    const std::string reason = limits.refusal(*choice.kernel, request);
    std::vector<std::unique_ptr<Kernel>> variants;
    if (with_variants || !reason.empty()) variants = choice.kernel->variants();
    if (reason.empty()) found.kernels.push_back(std::move(choice.kernel));
    for (auto& variant : variants) {
      complete(*variant, request);
      try {
        if (limits.refusal(*variant, request).empty()) found.kernels.push_back(std::move(variant));
      } catch (const Error&) {  // it cannot be made ready
      }
    }
    if (!found.kernels.empty()) return found;
    found.refusals.push_back(reason);
  }
}

/// A kernel, the least that it took, and what bringing its inputs into its layouts takes.
struct TimedKernel {
  std::unique_ptr<Kernel> kernel;
  float own = INFINITY, reorders = 0;

  float milliseconds() const { return own + reorders; }
};

std::vector<TimedKernel> to_time(std::vector<std::unique_ptr<Kernel>> kernels) {
  std::vector<TimedKernel> variants;
  for (auto& kernel : kernels) variants.push_back({std::move(kernel)});
  return variants;
}

size_t fastest(const std::vector<TimedKernel>& variants) {
  const auto it = std::min_element(variants.begin(), variants.end(),
                                   [](const TimedKernel& a, const TimedKernel& b) {
                                     return a.milliseconds() < b.milliseconds();
                                   });
  return static_cast<size_t>(it - variants.begin());
}

// Times all in turn, and on a host those that may still win again: what its other programs do
// changes from moment to moment. Those that cannot be timed take forever.
void race(std::vector<TimedKernel>& variants, const Target& target, const KernelRequest& request,
          const std::string& layer, const Log& log) {
  constexpr int kRounds = 3;
  constexpr float kHopeless = 2;  // times what the fastest took
  const int rounds = target.device().is_host() ? kRounds : 1;
  for (int round = 0; round < rounds; ++round) {
    const float limit = kHopeless * variants[fastest(variants)].milliseconds();
    for (TimedKernel& variant : variants) {
      if (round > 0 && !(variant.milliseconds() <= limit)) continue;
      try {
        if (round == 0) variant.reorders = time_reorders(*variant.kernel, request, target);
        variant.own = std::min(variant.own, time_kernel(*variant.kernel, request, target.device()));
      } catch (const std::exception& e) {
        log.verbose("layer {}: {} cannot be timed: {}", layer, label_of(*variant.kernel), e.what());
        variant.own = INFINITY;
      }
    }
  }
  for (const TimedKernel& variant : variants)
    log.verbose("layer {}: {} takes {:.3f} ms", layer, label_of(*variant.kernel),
                variant.milliseconds());
}

// The name of the layer: messages have its kind behind it.
std::string_view bare_name(const std::string& layer, const Op& op) {
  const std::string kind = fmt::format(" ({})", op.name());
  std::string_view name = layer;
  if (name.ends_with(kind)) name.remove_suffix(kind.size());
  return name;
}

// What an application reads to choose another entry of an editable timing cache, line by line as
// TensorRT writes it.
void log_entry(const TimingKey& key, std::vector<TimedKernel>& variants, std::string_view layer,
               const Log& log) {
  const TimedKernel& winner = variants[fastest(variants)];
  const std::string best = label_of(*winner.kernel);
  log.verbose("Autotuning op {}(key: 0x{:02x}):", layer, fmt::join(key, ""));
  log.verbose("Sorted table of all evaluated tactics:");
  log.verbose(
      "tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, "
      "tactic_hash, tunable_parameter");
  std::vector<size_t> order;
  for (size_t i = 0; i < variants.size(); ++i)
    if (std::isfinite(variants[i].milliseconds())) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return variants[a].milliseconds() < variants[b].milliseconds();
  });
  for (size_t i : order) {
    const std::string label = label_of(*variants[i].kernel);
    log.verbose("{:>4}, {:.7f}, {:.5f}, {:.5f}, {}, {:#x},", i, variants[i].milliseconds(),
                variants[i].milliseconds() / winner.milliseconds(), 0., label,
                tactic_number(label));
  }
  log.verbose("The selected tactic is (tactic hash, cost(in ms)):{:#x}, {:.6f}",
              tactic_number(best), winner.milliseconds());
  log.verbose("Writing the best tactic ({:#x}) to cache", tactic_number(best));
}

// Never faster than a kernel made to be fast.
bool is_last_resort(std::string_view candidate) {
  return candidate == "reference" || candidate == "host";
}

bool small_enough(const KernelRequest& request) {
  int64_t bytes = 0;
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& s : specs)
      if (s.present) {
        const Shape& shape = size_of(s);
        if (std::find(shape.begin(), shape.end(), -1) != shape.end()) return false;
        bytes += static_cast<int64_t>(bytes_of(s.type, shape.volume()));
      }
  return bytes > 0 && bytes < kLargestTimed;
}

// The one that the options' selector takes.
std::unique_ptr<Kernel> select(std::vector<TimedKernel> all, const Target& target,
                               const KernelRequest& request, const std::string& layer,
                               const BuildOptions& options, const ShapeRange& range) {
  const bool timed = options.time_kernels && options.measure && small_enough(request);
  if (timed) race(all, target, request, layer, options.log);
  if (timed && std::isfinite(all[fastest(all)].milliseconds()))
    std::erase_if(all, [](const TimedKernel& k) { return !std::isfinite(k.milliseconds()); });
  std::vector<KernelChoice> choices;
  for (const TimedKernel& k : all) {
    const float milliseconds = std::isfinite(k.milliseconds()) ? k.milliseconds() : 0;
    choices.push_back(
        {k.kernel.get(), milliseconds, Prepared(*k.kernel, request).execution->scratch_bytes()});
  }
  SelectedLayer selected{bare_name(layer, request.op), request, range.min, {}, range.max};
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& spec : specs) selected.opt.push_back(spec.shape);
  if (selected.min.empty()) selected.min = selected.max = selected.opt;
  return std::move(all[options.selector->select(selected, choices)].kernel);
}

}  // namespace

WrittenRows written_rows(const TensorSpec& spec, Tensor& data) {
  const Shape& shape = size_of(spec);
  const bool is_plane_wise = shape.rank() >= 4 && spec.layout != Layout::kChannelsLast;
  const int64_t images = shape.rank() >= 4 ? shape[0] : 1;
  const int64_t block = channel_block(spec.layout);
  const int64_t planes = is_plane_wise ? (shape[1] + block - 1) / block : 1;
  const int64_t all = std::max<int64_t>(images * planes, 1);
  return {data.mutable_data<void>(), images, planes, data.bytes() / static_cast<size_t>(all)};
}

size_t growth_of(const Kernel& kernel, const KernelRequest& request) {
  size_t before = 0;
  for (size_t i = 0; i < kernel.input_is_packed.size(); ++i)
    if (kernel.input_is_packed[i] && request.constants[i] != nullptr)
      before += request.constants[i]->bytes();
  const size_t after = kernel.packed_bytes();
  return before > 0 && after > before ? after - before : 0;
}

std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& layer, const BuildOptions& options,
                                      const ShapeRange& range, size_t max_growth) {
  request.code_cache = options.code_cache;
  const auto list = target.candidates(request.op);
  Limits limits{options.max_workspace, max_growth};
  const auto next = [&](size_t first) {
    return contenders(target, request, first, limits, options.time_kernels);
  };
  Contenders field = next(0);
  if (field.kernels.empty())
    fail(ErrorCode::kUNSUPPORTED_STATE, "layer {}: the target {} has no kernel for it: {}", layer,
         target.name(), fmt::join(field.refusals, "; "));
  if (options.selector != nullptr) {
    std::vector<TimedKernel> all = to_time(std::move(field.kernels));
    for (size_t i = index_of(list, all.back().kernel->name); i < list.size();) {
      Contenders more = next(i + 1);
      if (more.kernels.empty() || is_last_resort(more.kernels.front()->name)) break;
      i = index_of(list, more.kernels.front()->name);
      for (TimedKernel& variant : to_time(std::move(more.kernels)))
        all.push_back(std::move(variant));
    }
    return select(std::move(all), target, request, layer, options, range);
  }
  const Kernel& first = *field.kernels.front();
  size_t at = index_of(list, first.name);
  const auto is_timed = [&] { return at < list.size() && list[at].timed; };
  if (!options.time_kernels || (!is_timed() && field.kernels.size() == 1) || !small_enough(request))
    return std::move(field.kernels.front());

  const bool is_kept = first.timing_id.has_value();
  TimingCache* cache = is_kept ? options.timing_cache : nullptr;
  // Who is passed over might have won, also if it comes later. No limit of a plan less what its
  // layers took is none either.
  const bool is_limited = options.max_workspace != SIZE_MAX || max_growth < SIZE_MAX / 2;
  const bool has_key = is_kept && (options.timing_cache != nullptr || options.choices != nullptr);
  for (size_t i = at; has_key && is_limited && i < list.size() && list[i].timed;) {
    const Contenders later = next(i + 1);
    i = later.kernels.empty() ? list.size() : index_of(list, later.kernels.front()->name);
  }
  std::string id = first.timing_id.value_or("");
  for (const std::string& label : limits.passed_over) id += fmt::format("|without {}", label);
  const std::string_view name = bare_name(layer, request.op);
  if (options.editable_timing_cache) id += fmt::format("|layer {}", name);
  const TimingKey key = timing_key(target, request, id);
  const auto note = [&](const TimingEntry& entry) {
    if (has_key && options.choices != nullptr) options.choices->insert(key, entry);
  };
  if (const auto known = cache != nullptr ? cache->find(key) : std::nullopt) {
    note(*known);
    const uint64_t number = tactic_number(known->kernel);
    const bool is_number = known->kernel == name_of_tactic(number);  // of any candidate's
    const auto candidate = std::string_view(known->kernel).substr(0, known->kernel.find('/'));
    for (size_t i = is_number ? 0 : index_of(list, candidate); i < list.size();) {
      Contenders found = next(i);
      for (auto& kernel : found.kernels)
        if (tactic_number(label_of(*kernel)) == number) return std::move(kernel);
      const bool goes_on = is_number && !found.kernels.empty();
      i = goes_on ? index_of(list, found.kernels.front()->name) + 1 : list.size();
    }
    if (is_number)
      fail(ErrorCode::kINVALID_ARGUMENT,
           "layer {}: the timing cache has the tactic {:#x} for it, which is none of its kernels: "
           "choose one that the log names after \"Autotuning op {}\"",
           layer, number, name);
  }
  if (options.error_on_timing_cache_miss)
    fail(ErrorCode::kINVALID_STATE, "layer {}: the timing cache has no entry for it", layer);
  if (!options.measure) return std::move(field.kernels.front());

  std::vector<TimedKernel> variants = to_time(std::move(field.kernels));
  while (is_timed()) {
    Contenders more = next(at + 1);
    if (more.kernels.empty()) break;
    const std::string& name = more.kernels.front()->name;
    at = index_of(list, name);
    if (is_last_resort(name)) break;
    for (TimedKernel& variant : to_time(std::move(more.kernels)))
      variants.push_back(std::move(variant));
  }
  race(variants, target, request, layer, options.log);
  if (options.editable_timing_cache && cache != nullptr)
    log_entry(key, variants, name, options.log);
  TimedKernel winner = std::move(variants[fastest(variants)]);
  const std::string label = label_of(*winner.kernel);
  const float milliseconds = winner.milliseconds();
  if (std::isfinite(milliseconds)) {
    note({label, milliseconds});
    if (cache != nullptr) cache->insert(key, {label, milliseconds});
  }
  options.log.verbose("layer {}: {} in {:.3f} ms", layer, label, milliseconds);
  return std::move(winner.kernel);
}

}  // namespace tenon
