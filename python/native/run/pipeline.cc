// Pipelines whose stages are Python's: what tenon.serve.Pipeline stands on.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <tenon/serve/engine_instances.h>
#include <tenon/serve/pipeline.h>
#include <tenon/serve/trace_page.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind.h"
#include "engine_call.h"

namespace tenon::python {
namespace {

using serve::Answer;
using serve::JobContext;
using serve::JobOptions;

// A Python object that threads without the GIL move and let go.
class Object {
 public:
  explicit Object(nb::object object) : object_(object.release().ptr()) {}
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() {
    if (object_ == nullptr) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object_);
  }

  nb::handle get() const { return object_; }

 private:
  PyObject* object_;
};

// "ValueError: no picture".
serve::Error error_of(const nb::python_error& error) {
  const std::string type = nb::cast<std::string>(nb::handle(error.type()).attr("__name__"));
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  return {text.empty() ? type : type + ": " + text};
}

// Calls Python under the GIL; what it raises is an error.
template <class T, class Call> T in_python(const Call& call) {
  const nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (const nb::python_error& error) {
    return error_of(error);
  } catch (const nb::cast_error&) {
    return serve::Error{"a stage returned something of the wrong type"};
  }
}

using Python = serve::Pipeline<Object, Object>;

/// The token of a job, which cancels it.
class Cancel {
 public:
  void cancel() { source_.request_stop(); }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
};

class Pipeline {
 public:
  Pipeline(nb::object preprocess, const std::vector<nb::object>& instances, nb::object postprocess,
           nb::object batch_key, const serve::PipelineOptions& options) {
    serve::Stages<Object, Object, Object, Object> stages;
    stages.preprocess = stage(std::move(preprocess));
    for (const nb::object& instance : instances) stages.instances.push_back({run(instance), {}});
    auto key = std::make_shared<Object>(std::move(batch_key));
    stages.batch_key = [key](const Object& prepared) {
      const auto made = in_python<serve::Result<uint64_t>>([&]() -> serve::Result<uint64_t> {
        return static_cast<uint64_t>(PyObject_Hash(nb::object(key->get()(prepared.get())).ptr()));
      });
      if (!made) throw serve::Error{made.error()};
      return *made;
    };
    auto post = std::make_shared<Object>(std::move(postprocess));
    stages.postprocess = [post](Object& input, Object& inferred, const JobContext&) {
      return in_python<serve::Result<Object>>([&]() -> serve::Result<Object> {
        return Object(post->get()(input.get(), inferred.get()));
      });
    };
    const nb::gil_scoped_release released;
    auto started = Python::start(options, std::move(stages));
    if (!started) {
      const nb::gil_scoped_acquire gil;
      throw nb::value_error(started.error().c_str());
    }
    pipeline_ = std::shared_ptr<Python>(*std::move(started));
  }
  ~Pipeline() {
    const nb::gil_scoped_release released;  // its threads need it to end
    pipeline_.reset();
  }

  void submit(nb::object input, nb::object receive, Cancel& cancel, std::optional<double> timeout,
              int priority, size_t cost, size_t bytes, std::string correlation_id) {
    JobOptions options;
    options.stop = cancel.token();
    options.priority = priority;
    options.cost = cost;
    options.bytes = bytes;
    options.correlation_id = std::move(correlation_id);
    constexpr double kLongest = 1e9;  // seconds; longer ones are none
    if (timeout && std::isnan(*timeout))
      throw nb::value_error("timeout: expected seconds, found nan");
    if (timeout && *timeout < kLongest)
      options.deadline = serve::Clock::now()
                         + std::chrono::duration_cast<serve::Clock::duration>(
                             std::chrono::duration<double>(std::max(*timeout, -kLongest)));
    const std::shared_ptr<Python> pipeline = used();
    if (pipeline == nullptr) {
      const std::string model = figures().model;
      receive(nb::none(),
              nb::make_tuple(name_of(serve::Failure::kStopped), name_of(serve::Stage::kAdmission),
                             model, "the pipeline has stopped", options.correlation_id));
      return;
    }
    Object job(std::move(input)), to(std::move(receive));
    const nb::gil_scoped_release released;
    pipeline->submit(std::move(job), std::move(options),
                     [to = std::move(to)](Answer<Object> answer) mutable {
                       const nb::gil_scoped_acquire gil;
                       give(to, answer);
                     });
  }

  // Then the threads end, and the stages are let go, unless this is one of the threads.
  void stop(bool abort) {
    const nb::gil_scoped_release released;
    const std::shared_ptr<Python> pipeline = used();
    if (pipeline == nullptr) return;
    const auto stopped = pipeline->stop(abort);
    if (!stopped) {
      const nb::gil_scoped_acquire gil;
      throw std::runtime_error(stopped.error());
    }
    std::shared_ptr<Python> last;
    const std::scoped_lock lock(mutex_);
    last_statistics_ = pipeline->statistics();
    last_trace_ = pipeline->trace_json();
    last.swap(pipeline_);
  }

  nb::dict statistics() const;
  serve::Statistics figures() const {
    const std::shared_ptr<Python> pipeline = used();
    const std::scoped_lock lock(mutex_);
    return pipeline == nullptr ? last_statistics_ : pipeline->statistics();
  }
  std::string prometheus_text() const { return serve::prometheus_text(figures()); }
  std::string trace_json() const {
    const std::shared_ptr<Python> pipeline = used();
    const std::scoped_lock lock(mutex_);
    return pipeline == nullptr ? last_trace_ : pipeline->trace_json();
  }

 private:
  static std::function<serve::Result<Object>(Object&, const JobContext&)> stage(nb::object call) {
    auto held = std::make_shared<Object>(std::move(call));
    return [held](Object& input, const JobContext&) {
      return in_python<serve::Result<Object>>(
          [&]() -> serve::Result<Object> { return Object(held->get()(input.get())); });
    };
  }

  static std::function<serve::BatchResult<Object>(std::span<Object* const>)> run(nb::object call) {
    auto held = std::make_shared<Object>(std::move(call));
    return [held](std::span<Object* const> batch) {
      return in_python<serve::BatchResult<Object>>([&]() -> serve::BatchResult<Object> {
        nb::list jobs;
        for (const Object* const job : batch) jobs.append(job->get());
        std::vector<Object> results;
        for (nb::handle result : nb::cast<nb::list>(nb::list(held->get()(jobs))))
          results.emplace_back(nb::borrow(result));
        return results;
      });
    };
  }

  static void give(Object& to, const Answer<Object>& answer) {
    try {
      if (answer) {
        to.get()((*answer).get(), nb::none());
        return;
      }
      const serve::JobError& error = answer.error();
      to.get()(nb::none(), nb::make_tuple(name_of(error.failure), name_of(error.stage), error.model,
                                          error.cause, error.correlation_id));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the answer of a pipeline");
    }
  }

  std::shared_ptr<Python> used() const {
    const std::scoped_lock lock(mutex_);
    return pipeline_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Python> pipeline_;  // null once it has stopped
  serve::Statistics last_statistics_;
  std::string last_trace_;
};

nb::dict histogram(const serve::Histogram& values) {
  nb::dict made;
  made["count"] = values.count();
  made["mean"] = values.mean();
  made["p50"] = values.quantile(0.5);
  made["p99"] = values.quantile(0.99);
  return made;
}

nb::dict Pipeline::statistics() const {
  const serve::Statistics statistics = figures();
  nb::dict made;
  made["model"] = statistics.model;
  made["committed"] = statistics.committed;
  made["succeeded"] = statistics.succeeded;
  nb::dict failed;
  for (int i = 0; i < serve::kFailures; ++i)
    failed[name_of(static_cast<serve::Failure>(i))] = statistics.failed[static_cast<size_t>(i)];
  made["failed"] = failed;
  made["jobs"] = statistics.jobs;
  made["peak_jobs"] = statistics.peak_jobs;
  made["bytes"] = statistics.bytes;
  made["instances"] = statistics.instances;
  made["split_batches"] = statistics.split_batches;
  made["batch"] = histogram(statistics.batch);
  made["seconds"] = histogram(statistics.total);
  nb::dict stages;
  for (int i = 1; i < serve::kStages; ++i) {
    const serve::StageStatistics& of = statistics.stages[static_cast<size_t>(i)];
    nb::dict stage;
    stage["waiting"] = of.waiting;
    stage["working"] = of.working;
    stage["done"] = of.done;
    stage["failed"] = of.failed;
    stage["wait_seconds"] = histogram(of.wait);
    stage["work_seconds"] = histogram(of.work);
    stages[name_of(static_cast<serve::Stage>(i))] = stage;
  }
  made["stages"] = stages;
  return made;
}

template <class T> struct OptionKind;
template <> struct OptionKind<std::string> {
  static constexpr const char* kName = "str";
  static bool is(PyObject* value) { return PyUnicode_Check(value); }
};
template <> struct OptionKind<bool> {
  static constexpr const char* kName = "bool";
  static bool is(PyObject* value) { return PyBool_Check(value); }
};
template <> struct OptionKind<int> {
  static constexpr const char* kName = "int";
  static bool is(PyObject* value) { return PyLong_Check(value); }
};
template <> struct OptionKind<size_t> : OptionKind<int> {};
template <> struct OptionKind<double> {
  static constexpr const char* kName = "int or float";
  static bool is(PyObject* value) { return PyLong_Check(value) || PyFloat_Check(value); }
};
template <> struct OptionKind<std::vector<size_t>> {
  static constexpr const char* kName = "list or tuple";
  static bool is(PyObject* value) { return PyList_Check(value) || PyTuple_Check(value); }
};

template <class T> T option_value(const char* name, nb::handle value) {
  if (!OptionKind<T>::is(value.ptr()))
    throw nb::type_error((std::string(name) + ": expected " + OptionKind<T>::kName + ", found "
                          + nb::cast<std::string>(class_name(value)))
                             .c_str());
  T made{};
  if (!nb::try_cast(value, made))
    throw nb::value_error((std::string(name) + ": " + nb::cast<std::string>(nb::repr(value))
                           + " does not fit what it counts")
                              .c_str());
  return made;
}

serve::PipelineOptions::Duration duration_of(const char* name, double seconds) {
  constexpr double kLongest = 1e9;  // which is more than any option may be
  if (std::isnan(seconds))
    throw nb::value_error((std::string(name) + ": expected seconds, found nan").c_str());
  return std::chrono::duration_cast<serve::PipelineOptions::Duration>(
      std::chrono::duration<double>(std::clamp(seconds, -kLongest, kLongest)));
}

template <auto kMember>
void set_option(serve::PipelineOptions& options, const char* name, nb::handle value) {
  auto& member = options.*kMember;
  using Member = std::remove_reference_t<decltype(member)>;
  if constexpr (std::is_same_v<Member, serve::PipelineOptions::Duration>)
    member = duration_of(name, option_value<double>(name, value));
  else if constexpr (std::is_same_v<Member, serve::WhenFull>)
    member = static_cast<serve::WhenFull>(option_value<int>(name, value));
  else
    member = option_value<Member>(name, value);
}

struct Option {
  const char* name;
  void (*set)(serve::PipelineOptions& options, const char* name, nb::handle value);
};
using Options = serve::PipelineOptions;
constexpr Option kOptions[] = {
    {"model", set_option<&Options::model>},
    {"max_jobs", set_option<&Options::max_jobs>},
    {"max_bytes", set_option<&Options::max_bytes>},
    {"when_full", set_option<&Options::when_full>},
    {"admission_timeout", set_option<&Options::admission_timeout>},
    {"max_prepared", set_option<&Options::max_prepared>},
    {"max_batch", set_option<&Options::max_batch>},
    {"preferred_batches", set_option<&Options::preferred_batches>},
    {"max_wait", set_option<&Options::max_wait>},
    {"adaptive", set_option<&Options::adaptive>},
    {"ageing", set_option<&Options::ageing>},
    {"ordered", set_option<&Options::ordered>},
    {"preprocess_workers", set_option<&Options::preprocess_workers>},
    {"postprocess_workers", set_option<&Options::postprocess_workers>},
    {"trace_spans", set_option<&Options::trace_spans>},
};

serve::PipelineOptions options_of(const nb::dict& given) {
  serve::PipelineOptions options;
  for (const auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto* const option = std::ranges::find(kOptions, name, &Option::name);
    if (option == std::end(kOptions))
      throw nb::type_error(("a pipeline has no option " + name).c_str());
    option->set(options, option->name, value);
  }
  return options;
}

}  // namespace

void bind_pipeline(nb::module_& m) {
  m.def(
      "_batch_sizes",
      [](std::vector<size_t> wanted, size_t min, size_t max, bool on_cpu) {
        const auto sizes = serve::batch_sizes(std::move(wanted), min, max, on_cpu);
        if (!sizes) throw nb::value_error(sizes.error().c_str());
        return *sizes;
      },
      nb::arg("wanted"), nb::arg("min"), nb::arg("max"), nb::arg("on_cpu"));
  m.def("_trace_page", &serve::trace_page, nb::arg("trace_json"));
  nb::class_<Cancel>(m, "_Cancel")
      .def(nb::init<>())
      .def("cancel", &Cancel::cancel, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Pipeline>(m, "_Pipeline")
      .def("__init__",
           [](Pipeline* self, nb::object preprocess, const std::vector<nb::object>& instances,
              nb::object postprocess, nb::object batch_key, const nb::dict& options) {
             new (self) Pipeline(std::move(preprocess), instances, std::move(postprocess),
                                 std::move(batch_key), options_of(options));
           })
      .def("submit", &Pipeline::submit, nb::arg("input"), nb::arg("receive"), nb::arg("cancel"),
           nb::arg("timeout").none(), nb::arg("priority"), nb::arg("cost"), nb::arg("bytes"),
           nb::arg("correlation_id"))
      .def("stop", &Pipeline::stop)
      .def("statistics", &Pipeline::statistics)
      .def("prometheus_text", &Pipeline::prometheus_text)
      .def("trace_json", &Pipeline::trace_json);
}

}  // namespace tenon::python
