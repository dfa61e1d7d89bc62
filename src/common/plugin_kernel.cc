#include "common/plugin_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/tensor_format.h"
#include "common/host_kernel.h"
#include "plugin_layers/plugin_run.h"

namespace tenon {
namespace {

using Layouts = std::vector<Layout>;

// Of a layer's inputs or outputs, which begin at `first` among all.
std::vector<PluginTensor> describe(const PluginLayer& layer, std::span<const TensorSpec> specs,
                                   size_t first) {
  std::vector<PluginTensor> tensors;
  for (const TensorSpec& s : specs) {
    Shape lower = s.shape, upper = s.upper.rank() == s.shape.rank() ? s.upper : s.shape,
          opt = upper;
    for (int axis = 0; axis < s.shape.rank(); ++axis) {
      if (s.shape[axis] >= 0) opt[axis] = s.shape[axis];
      if (upper[axis] != s.shape[axis]) lower[axis] = 0;
    }
    tensors.push_back({{s.shape.dims(), s.type, format_of(s.layout, s.shape.rank()),
                        layer.scale_of(first + tensors.size())},
                       lower.dims(),
                       upper.dims(),
                       opt.dims()});
  }
  return tensors;
}

class PluginExecution final : public Execution {
 public:
  PluginExecution(std::unique_ptr<PluginRun> plugin, std::span<const TensorSpec> outputs)
      : plugin_(std::move(plugin)), outputs_(outputs.size()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Shape& s = outputs[i].shape;
      if (std::find(s.begin(), s.end(), -1) != s.end())
        data_dependent_.emplace_back(static_cast<int>(i), outputs[i].upper);
    }
  }
  size_t scratch_bytes() const override { return plugin_->workspace_bytes(); }
  void run(const RunArguments& arguments) override {
    std::copy(arguments.outputs.begin(), arguments.outputs.end(), outputs_.begin());
    for (const auto& [i, upper] : data_dependent_)
      outputs_[static_cast<size_t>(i)] = (*arguments.allocate_output)(i, upper);
    plugin_->run(arguments.inputs, outputs_, arguments.scratch, arguments.stream);
  }

 private:
  std::unique_ptr<PluginRun> plugin_;
  std::vector<void*> outputs_;
  std::vector<std::pair<int, Shape>>
      data_dependent_;  // outputs whose size running tells, and its bound
};

class PluginKernel final : public Kernel {
 public:
  PluginKernel(const Op& op, const PluginChoice& choice, PluginMemory place, Layouts inputs,
               Layouts outputs)
      : op_(op.clone()),
        layer_(dynamic_cast<const PluginLayer&>(*op_)),
        choice_(choice),
        place_(place) {
    name = "plugin";
    if (choice.tactic != 0) variant = fmt::format("tactic {}", choice.tactic);
    timing_id = choice.timing_id;
    input_layouts = std::move(inputs);
    output_layouts = std::move(outputs);
    input_is_packed.assign(input_layouts.size(), false);
    state = {{"tactic", int64_t{choice.tactic}},
             {"workspace", static_cast<int64_t>(choice.workspace_bytes)}};
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<PluginExecution>(
        prepare_plugin(layer_, describe(layer_, inputs, 0),
                       describe(layer_, outputs, inputs.size()), choice_, place_),
        outputs);
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (int32_t tactic : choice_.others) {
      const PluginChoice other{{}, tactic, choice_.workspace_bytes, {}, choice_.timing_id};
      list.push_back(
          std::make_unique<PluginKernel>(*op_, other, place_, input_layouts, output_layouts));
    }
    return list;
  }

 private:
  std::unique_ptr<Op> op_;
  const PluginLayer& layer_;
  PluginChoice choice_;
  PluginMemory place_;
};

PluginChoice stored_choice(const StoredKernel& stored) {
  PluginChoice choice;
  for (const auto& [name, value] : stored.state) {
    const auto* number = std::get_if<int64_t>(&value);
    require(number != nullptr && (name == "tactic" || *number >= 0),
            "the plugin kernel's \"{}\" is damaged", name);
    if (name == "tactic") choice.tactic = static_cast<int32_t>(*number);
    if (name == "workspace") choice.workspace_bytes = static_cast<size_t>(*number);
  }
  return choice;
}

bool is_for_the_host_alone(const KernelRequest& request) {
  const auto* layer = dynamic_cast<const PluginLayer*>(&request.op);
  return layer != nullptr && tenon::is_for_the_host_alone(*layer);
}

// Of a plugin whose formats were settled.
Layouts layouts_of(std::span<const TensorSpec> specs,
                   std::span<const nvinfer1::TensorFormat> formats) {
  Layouts layouts;
  for (size_t i = 0; i < specs.size(); ++i)
    layouts.push_back(layout_of(formats[i], specs[i].shape.rank()));
  return layouts;
}

// Of a plan that is loaded, which says how its tensors lie.
Layouts layouts_of(std::span<const TensorSpec> specs) {
  Layouts layouts;
  for (const TensorSpec& s : specs) layouts.push_back(s.layout);
  return layouts;
}

void check_data_dependent(const PluginLayer& layer, std::span<const TensorSpec> outputs,
                          const Layouts& layouts) {
  for (size_t i = 0; i < outputs.size(); ++i)
    require(outputs[i].upper.rank() == 0 || layouts[i] == Layout::kLinear,
            "{} wants output {} in the format {}, and only running it tells how large that is: let "
            "supportsFormatCombination() take kLINEAR",
            layer.label(), i, name_of(format_of(layouts[i], outputs[i].shape.rank())));
}

Offer make(const KernelRequest& request,
           FunctionRef<std::unique_ptr<Kernel>(const PluginLayer&)> make_kernel) {
  const auto* layer = dynamic_cast<const PluginLayer*>(&request.op);
  if (layer == nullptr) return "not a plugin layer";
  try {
    return make_kernel(*layer);
  } catch (const Error& e) {
    return std::string(e.what());
  }
}

Offer offer(const KernelRequest& request, PluginMemory place) {
  return make(request, [&](const PluginLayer& layer) {
    const PluginChoice choice =
        negotiate_plugin(layer, describe(layer, request.inputs, 0),
                         describe(layer, request.outputs, request.inputs.size()));
    const std::span formats = choice.formats;
    const Layouts outputs = layouts_of(request.outputs, formats.subspan(request.inputs.size()));
    check_data_dependent(layer, request.outputs, outputs);
    return std::make_unique<PluginKernel>(request.op, choice, place,
                                          layouts_of(request.inputs, formats), outputs);
  });
}

Offer load(const KernelRequest& request, const StoredKernel& stored, PluginMemory place) {
  return make(request, [&](const PluginLayer&) {
    return std::make_unique<PluginKernel>(request.op, stored_choice(stored), place,
                                          layouts_of(request.inputs), layouts_of(request.outputs));
  });
}

Offer beside(const Device& device, const KernelRequest& request, Offer offer) {
  if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
  auto kernel = beside_device(std::move(std::get<std::unique_ptr<Kernel>>(offer)), device,
                              request.inputs.size());
  kernel->note = fmt::format(
      "{} was built without a kernel for CUDA: it runs on the host, with copies of its tensors; "
      "build it with nvcc",
      dynamic_cast<const PluginLayer&>(request.op).label());
  return kernel;
}

}  // namespace

Offer offer_plugin(const KernelRequest& request) {
  return offer(request, PluginMemory::kHost);
}

Offer load_plugin(const KernelRequest& request, const StoredKernel& stored) {
  return load(request, stored, PluginMemory::kHost);
}

Offer offer_plugin_on_device(const KernelRequest& request) {
  if (is_for_the_host_alone(request))
    return "the plugin was built without a kernel for the target's device";
  return offer(request, PluginMemory::kDevice);
}

Offer load_plugin_on_device(const KernelRequest& request, const StoredKernel& stored) {
  return load(request, stored, PluginMemory::kDevice);
}

Offer offer_plugin_beside(const Device& device, const KernelRequest& request) {
  if (!is_for_the_host_alone(request)) return "the plugin is not for the host alone";
  return beside(device, request, offer_plugin(request));
}

Offer load_plugin_beside(const Device& device, const KernelRequest& request,
                         const StoredKernel& stored) {
  return beside(device, request, load_plugin(request, stored));
}

}  // namespace tenon
