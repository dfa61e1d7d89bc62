#include "target/shared/plugin_kernel.h"

#include "base/error.h"
#include "ops/plugin_run.h"

namespace tenon {
namespace {

std::vector<PluginTensorDesc> describe(std::span<const TensorSpec> specs) {
  std::vector<PluginTensorDesc> descs;
  for (const TensorSpec& s : specs)
    descs.push_back({s.shape.dims(), s.type, nvinfer1::TensorFormat::kLINEAR, 1});
  return descs;
}

class PluginExecution final : public Execution {
 public:
  explicit PluginExecution(std::unique_ptr<PluginRun> plugin) : plugin_(std::move(plugin)) {}
  size_t scratch_bytes() const override { return plugin_->workspace_bytes(); }
  void run(const RunArguments& arguments) override {
    plugin_->run(arguments.inputs, arguments.outputs, arguments.scratch, arguments.stream);
  }

 private:
  std::unique_ptr<PluginRun> plugin_;
};

class PluginKernel final : public Kernel {
 public:
  PluginKernel(const Op& op, const PluginChoice& choice)
      : op_(op.clone()), layer_(dynamic_cast<const PluginLayer&>(*op_)), choice_(choice) {
    name = "plugin";
    state = {{"tactic", int64_t{choice.tactic}},
             {"workspace", static_cast<int64_t>(choice.workspace_bytes)}};
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<PluginExecution>(
        prepare_plugin(layer_, describe(inputs), describe(outputs), choice_));
  }

 private:
  std::unique_ptr<Op> op_;
  const PluginLayer& layer_;
  PluginChoice choice_;
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

}  // namespace

Offer offer_plugin(const KernelRequest& request) {
  const auto* layer = dynamic_cast<const PluginLayer*>(&request.op);
  if (layer == nullptr) return "not a plugin layer";
  try {
    const PluginChoice choice =
        request.stored != nullptr
            ? stored_choice(*request.stored)
            : negotiate_plugin(*layer, describe(request.inputs), describe(request.outputs));
    auto kernel = std::make_unique<PluginKernel>(request.op, choice);
    kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
    kernel->output_layouts.assign(request.outputs.size(), Layout::kLinear);
    kernel->input_is_packed.assign(request.inputs.size(), false);
    return kernel;
  } catch (const Error& e) {
    return std::string(e.what());
  }
}

}  // namespace tenon
