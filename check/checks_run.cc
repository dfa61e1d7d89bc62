// What enqueue() reads and writes: alone, again, in copies, and in two threads at once.
#include <array>
#include <barrier>
#include <exception>
#include <thread>

#include "check/checks.h"
#include "check/orders.h"

namespace tenon::check {
namespace {

using Outputs = std::vector<std::string>;
constexpr unsigned char kFill = 0xa5, kOtherFill = 0x5a;

void require_same(const Outputs& expected, const Outputs& found, const std::string& what) {
  for (size_t o = 0; o < expected.size(); ++o)
    if (const auto [a, b] = std::ranges::mismatch(expected[o], found[o]); a != expected[o].end())
      throw Broken{fmt::format("the same bytes in output {} {}", o, what),
                   fmt::format("another one at {}", a - expected[o].begin())};
}

class Stream {
 public:
  Stream() {
    if (cudaStreamCreate(&stream_) != cudaSuccess) throw std::runtime_error("no stream");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Where the outputs of two runs with different fillings have a byte of one element.
struct Element {
  size_t output, index, bytes;
};

class Runs {
 public:
  Runs(const Creator& creator, const Subject& plugin, const Setup& setup)
      : creator_(creator), setup_(setup), plugin_(plugin.clone()) {}

  void first() {
    plugin_->configure(setup_.inputs, setup_.outputs);
    workspace_ = plugin_->workspace_bytes(setup_.inputs, setup_.outputs);
    context_ = plugin_->attach(setup_.inputs, setup_.outputs);
    buffers_ = std::make_unique<Buffers>(setup_, workspace_);
    buffers_->reset(kFill);
    buffers_->enqueue(*context_, stream_.get());
    result_ = buffers_->outputs();
  }
  const Buffers& buffers() const { return *buffers_; }

  void require_expected(const kit::testing::PluginCase& test, const char* what) const {
    for (size_t o = 0; o < test.outputs().size(); ++o) {
      const auto& [desc, max, max_size] = setup_.outputs[o];
      const nvinfer1::Dims& dims = test.outputs()[o].dims;
      bool has_shape = desc.dims.nbDims == dims.nbDims;
      for (int i = 0; has_shape && i < dims.nbDims; ++i)
        has_shape = desc.dims.d[i] < 0 ? dims.d[i] <= max.d[i] : dims.d[i] == desc.dims.d[i];
      if (!has_shape)
        throw Broken{fmt::format("{}, with output {} of {}", what, o, shape_text(dims)),
                     shape_text(desc.dims)};
      if (const std::string why = test.compare(o, desc.type, result_[o].data()); !why.empty())
        throw Broken{what, why};
    }
  }
  // Each size that an output says is one that its shape rule allows.
  void require_sizes() const {
    for (size_t o = 0; o < result_.size(); ++o) {
      const Tensor& output = setup_.outputs[o];
      if (!output.max_size) continue;
      const DataType type = output.desc.type;
      if (type != DataType::kINT32 && type != DataType::kINT64)
        throw Broken{fmt::format("output {}, a size, of type int32 or int64", o), "another type"};
      const kit::testing::CaseTensor tensor{"", type, false, output.max, {}};
      const double size =
          tensor.element(type, nvinfer1::TensorFormat::kLINEAR, result_[o].data(), 0);
      if (size < 0 || size > static_cast<double>(*output.max_size))
        throw Broken{fmt::format("output {}, a size, to say 0 to {}", o, *output.max_size),
                     fmt::format("{:.0f}", size)};
    }
  }
  // The results as a case's, for other formats to be compared with.
  kit::testing::PluginCase as_case() const {
    kit::testing::PluginCase made("");
    for (size_t o = 0; o < result_.size(); ++o) {
      const auto& [desc, max, max_size] = setup_.outputs[o];
      const std::string name = fmt::format("output {}", o);
      const kit::testing::CaseTensor tensor{name, desc.type, false, max, {}};
      std::vector<double> values(setup_.elements(o).value_or(0));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] =
            tensor.element(desc.type, nvinfer1::TensorFormat::kLINEAR, result_[o].data(), i);
      made.out(name.c_str(), desc.type, {max.d, max.d + max.nbDims}, std::move(values));
    }
    return made;
  }
  void require_repeatable() {
    require_same(result_, run(*context_), "when it runs again");
    const auto other = plugin_->attach(setup_.inputs, setup_.outputs);
    require_same(result_, run(*other), "in another context");
  }
  // Everything but the inputs holds other bytes now.
  void run_elsewhere() {
    buffers_->reset(kOtherFill);
    buffers_->enqueue(*context_, stream_.get());
    elsewhere_ = buffers_->outputs();
  }
  void require_written() const {
    each_element([&](const Element& e) {
      if (is_untouched(e) && setup_.elements(e.output) && setup_.aliased[e.output] < 0)
        throw Broken{fmt::format("all {} elements of output {} to be written",
                                 *setup_.elements(e.output), e.output),
                     fmt::format("element {} left as it was", e.index)};
    });
  }
  void require_independent() const {
    each_element([&](const Element& e) {
      if (is_untouched(e)
          || result_[e.output].compare(e.index * e.bytes, e.bytes, elsewhere_[e.output],
                                       e.index * e.bytes, e.bytes)
                 == 0)
        return;
      throw Broken{"results that depend on the inputs alone",
                   fmt::format("element {} of output {} changes with what was in the workspace, in "
                               "the outputs or around the tensors",
                               e.index, e.output)};
    });
  }
  void require_clone_alike() {
    const auto clone = plugin_->clone();
    clone->configure(setup_.inputs, setup_.outputs);
    const auto context = clone->attach(setup_.inputs, setup_.outputs);
    require_same(result_, run(*context), "from a clone");
  }
  // As an engine does: the plugin of the builder is gone when the one of the plan is made.
  void require_life_cycle(const Trial& trial) {
    auto built = creator_.create(fields_of(trial));
    if (built == nullptr) throw Broken{"a plugin from createPlugin()", "null" + plugin_log()};
    auto chosen = built->clone();
    built.reset();
    chosen->configure(setup_.inputs, setup_.outputs);
    const size_t workspace = chosen->workspace_bytes(setup_.inputs, setup_.outputs);
    if (workspace != workspace_)
      throw Broken{fmt::format("getWorkspaceSize() to say {} again", workspace_),
                   std::to_string(workspace)};
    const auto stored = creator_.restore(*chosen);
    chosen.reset();
    for (const char* which : {"from a plan", "from a plan, in a second context"}) {
      const auto context = stored->attach(setup_.inputs, setup_.outputs);
      require_same(result_, run(*context), which);
    }
  }
  // Within the tolerance: sums come in another order, too.
  void require_any_order(const kit::testing::PluginCase& test) {
    const kit::testing::PluginCase usual = as_case();
    for (const std::string& order : orders()) {
      const InOrder running(order);
      const Outputs outputs = run(*context_);
      for (size_t o = 0; o < outputs.size(); ++o) {
        const DataType type = setup_.outputs[o].desc.type;
        if (const std::string why = usual.compare(o, type, outputs[o].data()); !why.empty())
          throw Broken{"the same result in every order of CUDA threads and blocks",
                       fmt::format("in order {}, {}, as in order forward", order, why)};
        const std::string why =
            o < test.outputs().size() ? test.compare(o, type, outputs[o].data()) : "";
        if (!why.empty())
          throw Broken{"the case's result in every order of CUDA threads and blocks",
                       fmt::format("in order {}, {}", order, why)};
      }
    }
  }
  void require_concurrent() {
    constexpr size_t kThreads = 2;
    constexpr int kTimes = 4;
    std::array<std::unique_ptr<Subject>, kThreads> contexts;
    for (auto& context : contexts) context = plugin_->attach(setup_.inputs, setup_.outputs);
    std::array<std::exception_ptr, kThreads> errors;
    std::barrier start(static_cast<ptrdiff_t>(kThreads));
    const auto work = [&](size_t i) {
      start.arrive_and_wait();
      try {
        const Stream stream;
        Buffers buffers(setup_, workspace_);
        for (int time = 0; time < kTimes; ++time) {
          buffers.reset(kFill);
          buffers.enqueue(*contexts[i], stream.get());
          require_same(result_, buffers.outputs(), "while another context runs");
        }
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

 private:
  Outputs run(const Subject& context) const {
    Buffers buffers(setup_, workspace_);
    buffers.reset(kFill);
    buffers.enqueue(context, stream_.get());
    return buffers.outputs();
  }
  template <class F> void each_element(const F& f) const {
    for (size_t o = 0; o < result_.size(); ++o) {
      const size_t bytes = kit::testing::size_of(setup_.outputs[o].desc.type);
      const size_t count = setup_.elements(o).value_or(result_[o].size() / bytes);
      for (size_t i = 0; i < count; ++i) f(Element{o, i, bytes});
    }
  }
  bool is_untouched(const Element& e) const {
    const auto all = [&](const Outputs& outputs, unsigned char fill) {
      for (size_t i = 0; i < e.bytes; ++i)
        if (static_cast<unsigned char>(outputs[e.output][e.index * e.bytes + i]) != fill)
          return false;
      return true;
    };
    return all(result_, kFill) && all(elsewhere_, kOtherFill);
  }

  const Creator& creator_;
  const Setup& setup_;
  Stream stream_;
  std::unique_ptr<Subject> plugin_, context_;  // the context goes first
  size_t workspace_ = 0;
  std::unique_ptr<Buffers> buffers_;
  Outputs result_, elsewhere_;
};

}  // namespace

void check_runs(const Creator& creator, const Subject& plugin, const Setup& setup,
                std::map<DataType, kit::testing::PluginCase>& linear, Report& report) {
  std::unique_ptr<Runs> runs;
  const auto check = [&](const char* name, const auto& body) {
    return report.check(name, setup.label, body);
  };
  const bool ran = check("enqueue", [&] {
    runs = std::make_unique<Runs>(creator, plugin, setup);
    runs->first();
  });
  if (!ran) return;
  check("bounds", [&] { runs->buffers().require_bounds(); });
  check("sizes", [&] { runs->require_sizes(); });
  check("inputs", [&] { runs->buffers().require_inputs_kept(); });
  check("result", [&] { runs->require_expected(setup.trial->test, "the case's result"); });
  if (setup.is_linear) {
    linear.emplace(setup.t, runs->as_case());
  } else if (const auto found = linear.find(setup.t); found != linear.end()) {
    check("format's result", [&] {
      runs->require_expected(found->second, "the result that it gives in linear tensors");
    });
  }
  const bool repeats = check("repetition", [&] { runs->require_repeatable(); });
  if (repeats && !orders().empty())
    check("order", [&] { runs->require_any_order(setup.trial->test); });
  if (repeats && check("surroundings", [&] { runs->run_elsewhere(); })) {
    check("written", [&] { runs->require_written(); });
    check("independence", [&] { runs->require_independent(); });
  }
  check("clone's result", [&] { runs->require_clone_alike(); });
  check("life cycle", [&] { runs->require_life_cycle(*setup.trial); });
  check("threads", [&] { runs->require_concurrent(); });
  report.check("destruction", setup.label, [&] { runs.reset(); });
}

}  // namespace tenon::check
