#include "tenon/serve/compile.h"

#include <tenon/printable.h>
#include <tenon/replace_file.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <optional>

#include "guard.h"
#include "tenon/serve/protect.h"

namespace tenon::serve {

using session::value_of;

namespace {

class Progress final : public nvinfer1::IProgressMonitor {
 public:
  explicit Progress(const std::function<bool(std::string_view, int, int)>& tell) : tell_(tell) {}

  void phaseStart(const char* phase, const char*, int32_t steps) noexcept override {
    try {
      const std::scoped_lock lock(mutex_);
      steps_[phase] = steps;
    } catch (const std::bad_alloc&) {  // its steps are told without their number
    }
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    const std::scoped_lock lock(mutex_);
    try {
      return tell_(phase, step, steps_[phase]);
    } catch (...) {
      if (!thrown_) thrown_ = detail::current_error();
      return false;
    }
  }
  void phaseFinish(const char*) noexcept override {}

  /// What the function threw: the build was cancelled then.
  const std::optional<Error>& thrown() const { return thrown_; }

 private:
  const std::function<bool(std::string_view, int, int)>& tell_;
  std::mutex mutex_;
  std::map<std::string, int> steps_;
  std::optional<Error> thrown_;
};

// The batch is from 1 to `max`, at best that.
session::Ranges ranges_of_batch(const session::Model& model, int64_t max) {
  session::Ranges ranges;
  for (const nvinfer1::ITensor* const input : model.varying_inputs()) {
    session::Shape shape = session::to_shape(input->getDimensions());
    if (shape.empty() || shape[0] != -1 || input->isShapeTensor()
        || std::count(shape.begin(), shape.end(), -1) > 1)
      throw Error{"input '" + printable(input->getName()) + "' has shape "
                  + session::shape_text(shape)
                  + ", and more than its batch varies: give a profile with its shapes, which a server's "
                    "model has by the parameters min_shapes, opt_shapes and max_shapes"};
    session::Range& range = ranges[input->getName()];
    shape[0] = 1;
    range.min = shape;
    shape[0] = max;
    range.opt = range.max = shape;
  }
  return ranges;
}

// What it throws says what the caller knows, and the log why.
void call_hook(const CompileOptions& options, session::Model& model, session::ErrorLog& log) {
  if (!options.hook) return;
  try {
    options.hook(*model.network, *model.config);
  } catch (...) {
    Error error = detail::current_error();
    if (const std::string why = log.take_error(); !why.empty()) error.text += ": " + why;
    throw Error{std::move(error)};
  }
}

void set_mode(nvinfer1::IBuilderConfig& config, Mode mode) {
  using Flag = nvinfer1::BuilderFlag;
  if (mode != Mode::FP32) config.setFlag(Flag::kFP16);
  if (mode == Mode::INT8) config.setFlag(Flag::kINT8);
}

}  // namespace

Result<void> compile(Mode mode, const ModelSource& source, CompileOutput& output,
                     const CompileOptions& options) noexcept {
  return detail::protect<Result<void>>([&]() -> Result<void> {
    session::ErrorLog log;
    session::Model model =
        value_of(source.is_in_memory() ? session::Model::parse(source.bytes(), log)
                                       : session::Model::parse_file(source.path(), log));
    set_mode(*model.config, mode);
    if (options.calibrator != nullptr) model.config->setInt8Calibrator(options.calibrator);
    if (options.max_workspace_size > 0)
      model.config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE,
                                       options.max_workspace_size);
    if (options.max_batch_size < 1)
      throw Error{"max_batch_size must be at least 1, found "
                  + std::to_string(options.max_batch_size)};
    call_hook(options, model, log);
    if (!options.profiles.empty())
      for (const session::Ranges& ranges : options.profiles)
        value_of(model.add_profile(ranges, log));
    else if (!model.varying_inputs().empty())
      value_of(model.add_profile(ranges_of_batch(model, options.max_batch_size), log));
    Progress progress(options.progress);
    if (options.progress) model.config->setProgressMonitor(&progress);
    const auto built = model.build(log);
    if (progress.thrown()) throw Error{*progress.thrown()};
    if (!built) throw Error{built.error()};
    const auto& plan = *built;
    const auto* const bytes = static_cast<const std::byte*>(plan->data());
    if (output.path().empty())
      output.set_data({bytes, bytes + plan->size()});
    else
      replace_file(output.path(), bytes, plan->size());
    return {};
  });
}

}  // namespace tenon::serve
