#include "cpu/convolution/two_convolutions.h"

#include <algorithm>

#include "base/error.h"
#include "base/function_ref.h"

namespace tenon::cpu {
namespace {

using In = SeparableConvolution;

constexpr size_t kAlignment = 64;  // of scratch memory

// What the second layer takes beside the first one's result.
template <class T> std::span<const T> from_second_kernel(std::span<const T> all) {
  return all.subspan(In::kPointwiseKernel);
}

std::vector<TensorSpec> second_inputs(const TensorSpec& data, std::span<const TensorSpec> all) {
  std::vector<TensorSpec> inputs{data};
  const auto others = from_second_kernel(all);
  inputs.insert(inputs.end(), others.begin(), others.end());
  return inputs;
}

class TwoExecutions final : public Execution {
 public:
  TwoExecutions(std::unique_ptr<Execution> first, std::unique_ptr<Execution> second,
                const TensorSpec& between)
      : first_(std::move(first)), second_(std::move(second)) {
    const size_t bytes = storage_bytes(between.type, between.shape, between.layout);
    between_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  size_t scratch_bytes() const override {
    return between_ + std::max(first_->scratch_bytes(), second_->scratch_bytes());
  }

  void run(const RunArguments& arguments) override {
    void* const between = arguments.scratch;
    RunArguments part = arguments;
    part.scratch = static_cast<std::byte*>(arguments.scratch) + between_;
    part.inputs = arguments.inputs.first(In::kPointwiseKernel);
    part.outputs = {&between, 1};
    first_->run(part);
    inputs_.assign(1, between);
    const auto others = from_second_kernel(arguments.inputs);
    inputs_.insert(inputs_.end(), others.begin(), others.end());
    part.inputs = inputs_;
    part.outputs = arguments.outputs;
    second_->run(part);
  }

 private:
  std::unique_ptr<Execution> first_, second_;
  size_t between_;
  std::vector<const void*> inputs_;
};

// What a kernel stores of another, in fields whose names start with `prefix`.
constexpr const char kBetween[] = "between", kFirst[] = "first_", kSecond[] = "second_",
                     kPackedByFirst[] = "packed_by_first";

class TwoKernels final : public Kernel {
 public:
  TwoKernels(const SeparableConvolution& op, std::unique_ptr<Kernel> first,
             std::unique_ptr<Kernel> second)
      : op_(op), first_(std::move(first)), second_(std::move(second)) {
    const auto join = [](auto& to, const auto& of_first, const auto& of_second) {
      to.assign(of_first.begin(), of_first.end());
      to.insert(to.end(), of_second.begin() + 1, of_second.end());
    };
    join(input_layouts, first_->input_layouts, second_->input_layouts);
    join(input_is_packed, first_->input_is_packed, second_->input_is_packed);
    output_layouts = second_->output_layouts;
    if (second_->aliased_input >= 0)
      aliased_input = second_->aliased_input + In::kPointwiseKernel - 1;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    TensorSpec between = outputs[0];
    between.shape = op_.between(outputs[0].shape);
    between.layout = first_->output_layouts[0];
    auto first = first_->prepare(inputs.first(In::kPointwiseKernel), {&between, 1});
    return std::make_unique<TwoExecutions>(
        std::move(first), second_->prepare(second_inputs(between, inputs), outputs), between);
  }

  StoredKernel store() const override {
    StoredKernel stored = first_->store();
    for (auto& [name, value] : stored.state) name.insert(0, kFirst);
    stored.state.emplace_back(kBetween, static_cast<int64_t>(first_->output_layouts[0]));
    stored.state.emplace_back(kPackedByFirst, static_cast<int64_t>(stored.packed.size()));
    const StoredKernel second = second_->store();
    for (const auto& [name, value] : second.state) stored.state.emplace_back(kSecond + name, value);
    stored.packed.insert(stored.packed.end(), second.packed.begin(), second.packed.end());
    return stored;
  }

  size_t packed_bytes() const override { return first_->packed_bytes() + second_->packed_bytes(); }

 private:
  SeparableConvolution op_;
  std::unique_ptr<Kernel> first_, second_;
};

/// What TwoKernels::store() gave, for each of the two.
struct StoredTwo {
  StoredKernel first, second;
  Layout between = Layout::kLinear;
};

StoredTwo taken_apart(const StoredKernel& stored) {
  StoredTwo two;
  int64_t packed = -1, between = -1;
  for (const auto& [name, value] : stored.state) {
    const auto number = [&] {
      const auto* n = std::get_if<int64_t>(&value);
      require(n != nullptr, "field \"{}\" is no number", name);
      return *n;
    };
    if (name == kBetween)
      between = number();
    else if (name == kPackedByFirst)
      packed = number();
    else if (name.starts_with(kFirst))
      two.first.state.emplace_back(name.substr(sizeof kFirst - 1), value);
    else if (name.starts_with(kSecond))
      two.second.state.emplace_back(name.substr(sizeof kSecond - 1), value);
  }
  require(packed >= 0 && packed <= static_cast<int64_t>(stored.packed.size()),
          "{} of {} stored tensors are said to be the first kernel's", packed,
          stored.packed.size());
  require(between >= 0 && between <= static_cast<int64_t>(Layout::kBlocked16),
          "there is no layout {}", between);
  two.between = static_cast<Layout>(between);
  two.first.packed.assign(stored.packed.begin(), stored.packed.begin() + packed);
  two.second.packed.assign(stored.packed.begin() + packed, stored.packed.end());
  return two;
}

}  // namespace

TwoConvolutions::TwoConvolutions(const KernelRequest& request)
    : request_(request),
      op_(static_cast<const SeparableConvolution&>(request.op)),
      between_(request.outputs[0]) {
  between_.shape = op_.between(between_.shape);
  between_.layout = Layout::kLinear;
  constants_ = {nullptr};
  const auto others = from_second_kernel(request.constants);
  constants_.insert(constants_.end(), others.begin(), others.end());
}

KernelRequest TwoConvolutions::first(Layout between) {
  placed_ = between_;
  placed_.layout = between;
  return part(op_.depthwise, request_.inputs.first(In::kPointwiseKernel), {&placed_, 1},
              request_.constants.first(In::kPointwiseKernel));
}

KernelRequest TwoConvolutions::second(Layout between) {
  placed_ = between_;
  placed_.layout = between;
  inputs_ = second_inputs(placed_, request_.inputs);
  return part(op_.pointwise, inputs_, request_.outputs, constants_);
}

KernelRequest TwoConvolutions::part(const Op& op, std::span<const TensorSpec> inputs,
                                    std::span<const TensorSpec> outputs,
                                    std::span<const Tensor* const> constants) const {
  return {
      op, inputs, outputs, constants, request_.tf32, request_.code_cache, request_.cold_weights};
}

namespace {

using MakeOffer = FunctionRef<Offer(const KernelRequest&)>;

Offer completed(MakeOffer make, const KernelRequest& part) {
  Offer offer = make(part);
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) complete(**kernel, part);
  return offer;
}

// `between` is the layout in which a plan's first kernel was asked for its result.
Offer make_both(const KernelRequest& request, Layout between, MakeOffer first, MakeOffer second) {
  TwoConvolutions layers(request);
  Offer one = completed(first, layers.first(between));
  if (std::holds_alternative<std::string>(one)) return one;
  auto& first_kernel = std::get<std::unique_ptr<Kernel>>(one);
  const Layout made = first_kernel->output_layouts[0];
  Offer two = completed(second, layers.second(made));
  if (std::holds_alternative<std::string>(two)) return two;
  auto& second_kernel = std::get<std::unique_ptr<Kernel>>(two);
  if (second_kernel->input_layouts[0] != made || second_kernel->aliased_input == 0)
    return "the two kernels want what is between them in different layouts";
  return std::make_unique<TwoKernels>(static_cast<const SeparableConvolution&>(request.op),
                                      std::move(first_kernel), std::move(second_kernel));
}

}  // namespace

Candidate one_after_the_other(std::string name, Candidate first, Candidate second) {
  return {std::move(name),
          [offer = first.offer, then = second.offer](const KernelRequest& request) {
            return make_both(request, Layout::kLinear, offer, then);
          },
          [load = std::move(first.load), then = std::move(second.load)](
              const KernelRequest& request, const StoredKernel& stored) {
            const StoredTwo two = taken_apart(stored);
            return make_both(
                request, two.between,
                [&](const KernelRequest& part) { return load(part, two.first); },
                [&](const KernelRequest& part) { return then(part, two.second); });
          }};
}

}  // namespace tenon::cpu
