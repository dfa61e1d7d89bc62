// Tensors without elements.
#include "check/checks.h"

namespace tenon::check {
namespace {

using nvinfer1::Dims;

// A plugin may refuse such tensors wherever it is asked. It may not write what it does not own.
void run_empty(const Subject& plugin, const Setup& like, const std::vector<Dims>& dims) {
  std::optional<Setup> setup;
  std::unique_ptr<Subject> copy, context;
  try {
    setup = make_setup(plugin, *like.trial, dims, like.t, nullptr);
    if (!setup) return;
    setup->trial = nullptr;
    copy = plugin.clone();
    copy->configure(setup->inputs, setup->outputs);
    context = copy->attach(setup->inputs, setup->outputs);
  } catch (const Broken&) {
    return;
  }
  Buffers buffers(*setup, copy->workspace_bytes(setup->inputs, setup->outputs));
  buffers.reset(0xa5);
  try {
    buffers.enqueue(*context, nullptr);
  } catch (const Broken&) {}
  buffers.require_bounds();
  buffers.require_inputs_kept();
}

}  // namespace

void check_empty(const Subject& plugin, const Setup& setup, Report& report) {
  const auto shapes = [](const Setup& s) {
    std::vector<Dims> list;
    for (const Tensor& t : s.inputs) list.push_back(t.desc.dims);
    return list;
  };
  const std::vector<Dims> whole = shapes(setup);
  std::vector<Dims> batch = whole;
  for (Dims& d : batch)
    if (d.nbDims > 0 && whole[0].nbDims > 0 && d.d[0] == whole[0].d[0]) d.d[0] = 0;
  report.check("empty", setup.label + ", a batch of 0", [&] { run_empty(plugin, setup, batch); });
  for (size_t i = 0; whole.size() > 1 && i < whole.size(); ++i) {
    std::vector<Dims> one = whole;
    if (one[i].nbDims == 0) continue;
    one[i].d[0] = 0;
    report.check("empty", fmt::format("{}, 0 in input {}", setup.label, i),
                 [&] { run_empty(plugin, setup, one); });
  }
}

}  // namespace tenon::check
