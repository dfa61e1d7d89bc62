// Runs an engine on arrays: what tenon.Engine derives from.
#include <NvInfer.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tenon/error_codes.h>
#include <tenon/session/shape.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <regex>
#include <vector>

#include "array.h"
#include "bind.h"
#include "engine_call.h"
#include "keep.h"
#include "lane.h"
#include "messages.h"

namespace tenon::python {
namespace {

using nvinfer1::Dims;
using nvinfer1::ICudaEngine;

class Session {
 public:
  /// @param gpu where the engine runs, none on the CPU.
  Session(ICudaEngine& engine, Messages* messages, int profile, std::optional<int> gpu)
      : engine_(engine), messages_(messages), profile_(profile), ports_(engine, profile) {
    if (gpu) pools_.emplace(*gpu);
  }

  nb::object call(const nb::args& args, const nb::kwargs& kwargs);

  // A context is made ahead of the first call.
  void prepare() { give_back(take(nullptr)); }

 private:
  Call open(const Ports::Arrays& arrays, const Ports::Arrays& out) const;
  void bind_shape(Lane& lane, size_t i, const ArrayView& view) const;
  [[noreturn]] void fail(const std::string& what) const;
  void check_out(const Lane& lane, size_t i, const ArrayView& view, nb::handle array,
                 bool fine) const;
  std::unique_ptr<Lane> take(cudaStream_t stream);
  std::unique_ptr<Lane> idle_lane(cudaStream_t stream);
  void give_back(std::unique_ptr<Lane> lane) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(lane));
  }

  ICudaEngine& engine_;
  Messages* const messages_;
  const int profile_;
  const Ports ports_;
  std::optional<GpuPools> pools_;  // of an engine on a GPU
  std::mutex mutex_;               // guards idle_
  std::vector<std::unique_ptr<Lane>> idle_;
};

// One that need not wait for what its last call left in flight, if there is one.
std::unique_ptr<Lane> Session::idle_lane(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto chosen = idle_.end() - 1;
  if (idle_.size() > 1 && pools_)
    if (const auto found =
            std::ranges::find_if(idle_, [&](const auto& lane) { return lane->gpu->suits(stream); });
        found != idle_.end())
      chosen = found;
  auto lane = std::move(*chosen);
  idle_.erase(chosen);
  return lane;
}

std::unique_ptr<Lane> Session::take(cudaStream_t stream) {
  if (auto lane = idle_lane(stream)) return lane;
  auto lane = std::make_unique<Lane>();
  if (pools_) lane->gpu.emplace(pools_->gpu, ports_.inputs());
  auto context =
      into_engine([&] { return session::Context::make(engine_, profile_, nullptr, nullptr); });
  if (!context) fail("cannot make a context");
  lane->context = *std::move(context);
  lane->bindings.resize(ports_.size());
  for (size_t i = 0; i < ports_.outputs(); ++i) {
    lane->outputs.push_back(std::make_unique<Output>(pools_.has_value()));
    if (!lane->context->set_output(ports_.index_of_output(i), lane->outputs.back().get()))
      fail(ports_.output(i).label() + ": the engine refuses its allocator");
  }
  return lane;
}

void Session::fail(const std::string& what) const {
  std::string text = what;
  if (messages_ == nullptr)
    text += "; the engine's logger was told why";
  else
    for (const auto& [severity, message] : messages_->take(/*of_this_thread=*/true))
      if (severity <= nvinfer1::ILogger::Severity::kERROR) text += "\n  " + message;
  throw Error(text);
}

void Session::bind_shape(Lane& lane, size_t i, const ArrayView& view) const {
  const Port& port = ports_.input(i);
  const size_t index = ports_.index_of_input(i);
  const Dims& shape = view.shape();
  if (view.rank() == shape.nbDims && lane.context->has_shape(index, shape)) return;
  bool fits = view.rank() == port.min.nbDims;
  for (int d = 0; fits && d < shape.nbDims; ++d)
    fits = port.min.d[d] <= shape.d[d] && shape.d[d] <= port.max.d[d];
  if (!fits)
    raise(PyExc_ValueError,
          port.label() + " expects shape "
              + (session::to_shape(port.min) == session::to_shape(port.max)
                     ? text_of(port.min)
                     : "from " + text_of(port.min) + " to " + text_of(port.max) + " (profile "
                           + std::to_string(profile_) + ")")
              + ", found "
              + (view.rank() == shape.nbDims ? text_of(shape)
                                             : std::to_string(view.rank()) + " dimensions"));
  if (!lane.context->set_shape(index, shape))
    fail(port.label() + ": the engine refuses shape " + text_of(shape));
}

// Refuses an array for output i that has not the shape which the run told, or would have told.
void Session::check_out(const Lane& lane, size_t i, const ArrayView& view, nb::handle array,
                        bool fine) const {
  Dims shape = lane.outputs[i]->shape();
  if (shape.nbDims < 0) shape = lane.context->shape(ports_.index_of_output(i));
  if (view.has_shape(shape) || (!fine && !session::is_known(shape))) return;
  if (messages_ != nullptr) messages_->take(/*of_this_thread=*/true);
  raise(PyExc_ValueError,
        ports_.output(i).label() + " has shape " + text_of(shape) + ", found " + text_of(array));
}

Call Session::open(const Ports::Arrays& arrays, const Ports::Arrays& out) const {
  Call call;
  const auto open = [&](const Port& port, nb::handle array) -> const ArrayView* {
    const Framework its = for_port(port, [&] { return framework_of(array); });
    call.bound.push_back({&port, for_port(port, [&] {
                            return std::make_unique<ArrayView>(array, its, !port.is_input,
                                                               pools_ ? pools_->gpu : kHost);
                          })});
    const ArrayView& view = *call.bound.back().view;
    if (!view.has_type(*port.element))
      raise(PyExc_TypeError, port.label() + " expects an array of " + port.element->name
                                 + ", found " + text_of(array));
    if (!call.framework) {
      call.framework = its;
      call.results_on_gpu = view.on_gpu();
    }
    return &view;
  };
  for (size_t i = 0; i < arrays.size(); ++i)
    call.inputs.push_back(open(ports_.input(i), arrays[i]));
  for (size_t i = 0; i < out.size(); ++i)
    call.out.push_back(out[i].is_valid() ? open(ports_.output(i), out[i]) : nullptr);
  refuse_overlaps(call.bound);
  if (!call.framework) call.framework = framework_of(helper("NUMPY"));
  return call;
}

nb::object Session::call(const nb::args& args, const nb::kwargs& kwargs) {
  const bool by_name = args.size() == 1 && PyDict_Check(args[0].ptr());
  const Ports::Arrays arrays = ports_.arrange(args, kwargs, by_name);
  Ports::Arrays out(ports_.outputs());
  if (kwargs.size() > 0 && kwargs.contains("out") && !kwargs["out"].is_none())
    out = ports_.arrange_out(kwargs["out"]);
  const Call call = open(arrays, out);

  // The context goes back when the call is over, however it ends.
  struct Taken {
    Session& session;
    std::unique_ptr<Lane> lane;
    ~Taken() { session.give_back(std::move(lane)); }
  };
  const Taken taken{*this, take(stream_of(call.bound))};
  Lane& lane = *taken.lane;
  for (size_t i = 0; i < call.inputs.size(); ++i) bind_shape(lane, i, *call.inputs[i]);
  std::vector<Made> made(out.size());
  const bool fine = pools_ ? run_on_gpu(lane, ports_, call, *pools_, made)
                           : run_on_host(lane, ports_, call, made);
  for (size_t i = 0; i < out.size(); ++i)
    if (call.out[i] != nullptr) check_out(lane, i, *call.out[i], out[i], fine);
  if (!fine) fail("the engine failed");

  const auto result = [&](size_t i) {
    if (out[i].is_valid()) return out[i];
    if (made[i].array.is_valid()) return made[i].array;
    return make_array(std::move(made[i].memory), lane.outputs[i]->shape(),
                      *ports_.output(i).element, *call.framework);
  };
  if (by_name) {
    nb::dict results;
    for (size_t i = 0; i < out.size(); ++i) results[ports_.output(i).name.c_str()] = result(i);
    return nb::object(results);
  }
  if (out.size() == 1) return result(0);
  nb::list results;
  for (size_t i = 0; i < out.size(); ++i) results.append(result(i));
  return nb::tuple(results);
}

// The code at the end of an error's text, TN2002 of "… [TN2002]"; None where there is none.
std::optional<std::string> code_of(nb::handle error) {
  const std::string text = nb::cast<std::string>(nb::str(error));
  static const std::regex code(R"(\[(TN\d{4})\]\s*$)");
  std::smatch found;
  if (!std::regex_search(text, found, code)) return std::nullopt;
  return found[1].str();
}

}  // namespace

void bind_session(nb::module_& m) {
  const nb::exception<Error> error(m, "Error", PyExc_RuntimeError);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const CodedError& e) {
          PyErr_SetString(static_cast<PyObject*>(type),
                          with_code(e.what(), e.error_class()).c_str());
        }
      },
      error.ptr());
  nb::handle(error).attr("__module__") = "tenon";  // where users find it
  nb::handle(error).attr("code") =
      nb::module_::import_("builtins")
          .attr("property")(nb::cpp_function(&code_of), nb::none(), nb::none(),
                            "The code of the error, as TN2002, which `tenon explain` says more of; "
                            "None if it has none.");
  nb::class_<Messages, nvinfer1::ILogger>(
      m, "Messages", "A logger that keeps errors and warnings, and writes none or all of them.")
      .def(nb::init<nvinfer1::ILogger::Severity>(), nb::arg("written"))
      .def("take", &Messages::take, nb::arg("of_this_thread") = false,
           "The messages since the last call, each with its severity.");
  nb::class_<Session>(m, "Session", nb::type_slots(kKeeper),
                      "Runs one profile of an engine on arrays; several threads may call it.")
      .def(nb::init<ICudaEngine&, Messages*, int, std::optional<int>>(), nb::arg("engine"),
           nb::arg("messages") = nb::none(), nb::arg("profile") = 0, nb::arg("gpu") = nb::none(),
           keeps<1, 2>(), keeps<1, 3>())
      .def("_prepare", &Session::prepare, "Makes a context ahead of the first call.")
      .def("__call__", &Session::call, nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def __call__(self, *args, out=None, **kwargs) -> typing.Any"),
           "Runs the engine on arrays and returns its outputs.");
}

}  // namespace tenon::python
