// Runs an engine on arrays: what tenon.Engine derives from.
#include <NvInfer.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "array.h"
#include "bind.h"
#include "engine_call.h"
#include "keep.h"
#include "messages.h"

namespace tenon::python {
namespace {

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::ICudaEngine;
using nvinfer1::IExecutionContext;
using nvinfer1::OptProfileSelector;

// An input or output of the engine, in one profile.
struct Port {
  std::string name;
  const ElementType* type;
  bool is_input;
  Dims least, most;  // of inputs
};

// Gives an output memory of its own, or the caller's array.
class Output final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t alignment,
                              cudaStream_t) noexcept override {
    if (given_ != nullptr) return size == std::max<size_t>(given_->bytes(), 1) ? data() : nullptr;
    memory_.reset(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
    return memory_.get();
  }
  void notifyShape(const char*, const Dims& shape) noexcept override { shape_ = shape; }

  void use(const ArrayView* given) {
    given_ = given;
    shape_.nbDims = -1;
  }
  bool fits() const { return given_ == nullptr || given_->has_shape(shape_); }
  const Dims& shape() const { return shape_; }
  Memory take() { return std::move(memory_); }

 private:
  // An array without elements may have no memory; the engine asks for an address all the same.
  void* data() const {
    return given_->data() != nullptr ? given_->data() : const_cast<Dims*>(&shape_);
  }

  const ArrayView* given_ = nullptr;
  Memory memory_;
  Dims shape_{};
};

// A context and what was set on it last. One call at a time has it.
struct Lane {
  std::unique_ptr<IExecutionContext> context;
  std::vector<Dims> shapes;  // of inputs
  std::vector<void*> addresses;
  std::vector<std::unique_ptr<Output>> outputs;
};

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

// "input 'x'", for errors.
std::string label(const Port& port) {
  return (port.is_input ? "input '" : "out: output '") + port.name + "'";
}

// Runs `call`, which looks at the array for `port`; what it throws says so.
template <class Call> auto for_port(const Port& port, Call&& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError))
      error.value().attr("args") =
          nb::make_tuple(label(port) + ": " + nb::str(error.value()).c_str());
    throw;
  } catch (const nb::builtin_exception& error) {
    throw nb::builtin_exception(error.type(), (label(port) + ": " + error.what()).c_str());
  }
}

// An array of a call.
struct Bound {
  const Port* port;
  std::unique_ptr<ArrayView> view;
};

// Refuses arrays to write to that others of the call lie in: the engine may read those later.
void refuse_overlaps(const std::vector<Bound>& arrays) {
  const auto begin = [](const Bound& array) { return static_cast<char*>(array.view->data()); };
  const auto end = [&](const Bound& array) { return begin(array) + array.view->bytes(); };
  for (const Bound& written : arrays) {
    if (written.port->is_input) continue;
    for (const Bound& other : arrays)
      if (&other != &written && begin(other) < end(written) && begin(written) < end(other))
        raise(PyExc_ValueError, label(*written.port) + " shares memory with " + label(*other.port)
                                    + "; give it an array of its own");
  }
}

bool same(const Dims& a, const Dims& b) {
  return a.nbDims == b.nbDims && std::equal(a.d, a.d + a.nbDims, b.d);
}

class Session {
 public:
  Session(ICudaEngine& engine, Messages* messages, int profile)
      : engine_(engine), messages_(messages), profile_(profile) {
    if (profile < 0 || profile >= engine.getNbOptimizationProfiles())
      raise(PyExc_ValueError, "there is no profile " + std::to_string(profile) + ": the engine has "
                                  + std::to_string(engine.getNbOptimizationProfiles()));
    for (int i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      const bool is_input = engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
      Port port{name, &element_type(engine.getTensorDataType(name)), is_input, {}, {}};
      if (is_input) {
        port.least = engine.getProfileShape(name, profile, OptProfileSelector::kMIN);
        port.most = engine.getProfileShape(name, profile, OptProfileSelector::kMAX);
      }
      (is_input ? inputs_ : outputs_).push_back(static_cast<int>(ports_.size()));
      ports_.push_back(std::move(port));
    }
  }

  nb::object call(const nb::args& args, const nb::kwargs& kwargs);

  // A context is made ahead of the first call.
  void prepare() { give_back(take()); }

 private:
  using Arrays = std::vector<nb::object>;

  Arrays arrange(const nb::args& args, const nb::kwargs& kwargs, bool by_name) const;
  Arrays arrange_out(nb::handle out) const;
  const Port& input(size_t i) const { return ports_[static_cast<size_t>(inputs_[i])]; }
  const Port& output(size_t i) const { return ports_[static_cast<size_t>(outputs_[i])]; }
  std::string input_names() const;
  void check(const Port& port, nb::handle array, const ArrayView& view) const;
  void bind_input(Lane& lane, size_t i, const ArrayView& view) const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void refuse(const Lane& lane, size_t i, nb::handle array) const;
  std::unique_ptr<Lane> take();
  void give_back(std::unique_ptr<Lane> lane) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(lane));
  }

  ICudaEngine& engine_;
  Messages* const messages_;
  const int profile_;
  std::vector<Port> ports_;
  std::vector<int> inputs_, outputs_;  // ports, in order
  std::mutex mutex_;                   // guards idle_
  std::vector<std::unique_ptr<Lane>> idle_;
};

std::unique_ptr<Lane> Session::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto lane = std::move(idle_.back());
      idle_.pop_back();
      return lane;
    }
  }
  auto lane = std::make_unique<Lane>();
  lane->context.reset(into_engine([&] { return engine_.createExecutionContext(); }));
  IExecutionContext* const context = lane->context.get();
  if (context == nullptr
      || (profile_ != 0 && !context->setOptimizationProfileAsync(profile_, nullptr)))
    fail("cannot make a context");
  lane->shapes.resize(inputs_.size(), Dims{-1, {}});
  lane->addresses.resize(ports_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    lane->outputs.push_back(std::make_unique<Output>());
    context->setOutputAllocator(output(i).name.c_str(), lane->outputs.back().get());
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

std::string Session::input_names() const {
  std::string text;
  for (size_t i = 0; i < inputs_.size(); ++i) text += (i > 0 ? ", '" : "'") + input(i).name + "'";
  return inputs_.empty() ? "none" : text;
}

Session::Arrays Session::arrange(const nb::args& args, const nb::kwargs& kwargs,
                                 bool by_name) const {
  Arrays arrays(inputs_.size());
  size_t count = 0;
  const auto put = [&](const char* name, nb::handle array) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (input(i).name != name) continue;
      if (arrays[i].is_valid()) raise(PyExc_TypeError, label(input(i)) + " is given twice");
      arrays[i] = nb::borrow(array);
      ++count;
      return;
    }
    raise(PyExc_TypeError,
          "there is no input '" + std::string(name) + "'; the inputs are " + input_names());
  };
  if (by_name) {
    for (auto [name, array] : nb::borrow<nb::dict>(args[0])) put(nb::str(name).c_str(), array);
  } else {
    if (args.size() > inputs_.size())
      raise(PyExc_TypeError,
            std::to_string(args.size()) + " arrays are given, but the inputs are " + input_names());
    for (size_t i = 0; i < args.size(); ++i) arrays[i] = args[i];
    count = args.size();
  }
  for (auto [name, array] : kwargs) {
    const char* const text = PyUnicode_AsUTF8(name.ptr());
    if (std::string_view(text) != "out") put(text, array);
  }
  if (count < inputs_.size())
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (!arrays[i].is_valid())
        raise(PyExc_TypeError, label(input(i)) + " is missing; the inputs are " + input_names());
  return arrays;
}

// The caller's arrays for outputs; those without one are invalid handles.
Session::Arrays Session::arrange_out(nb::handle out) const {
  Arrays arrays(outputs_.size());
  if (nb::isinstance<nb::dict>(out)) {
    for (auto [name, array] : nb::borrow<nb::dict>(out)) {
      size_t i = 0;
      while (i < arrays.size() && !name.equal(nb::str(output(i).name.c_str()))) ++i;
      if (i == arrays.size())
        raise(PyExc_TypeError,
              "out: there is no output '" + std::string(nb::str(name).c_str()) + "'");
      arrays[i] = nb::borrow(array);
    }
  } else if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
    if (nb::len(out) != arrays.size())
      raise(PyExc_TypeError, "out: " + std::to_string(nb::len(out)) + " arrays for "
                                 + std::to_string(arrays.size()) + " outputs");
    for (size_t i = 0; i < arrays.size(); ++i) arrays[i] = out[i];
  } else if (arrays.size() == 1) {
    arrays[0] = nb::borrow(out);
  } else {
    raise(PyExc_TypeError, "out: the engine has " + std::to_string(arrays.size())
                               + " outputs; give a list or a dictionary of arrays");
  }
  return arrays;
}

void Session::check(const Port& port, nb::handle array, const ArrayView& view) const {
  if (view.has_type(*port.type)) return;
  raise(PyExc_TypeError,
        label(port) + " expects an array of " + port.type->name + ", found " + text_of(array));
}

void Session::bind_input(Lane& lane, size_t i, const ArrayView& view) const {
  const Port& port = input(i);
  lane.addresses[static_cast<size_t>(inputs_[i])] = view.data();
  if (view.has_shape(lane.shapes[i])) return;
  const Dims& shape = view.shape();
  bool fits = view.rank() == port.least.nbDims;
  for (int d = 0; fits && d < shape.nbDims; ++d)
    fits = port.least.d[d] <= shape.d[d] && shape.d[d] <= port.most.d[d];
  if (!fits)
    raise(PyExc_ValueError,
          label(port) + " expects shape "
              + (same(port.least, port.most)
                     ? text_of(port.least)
                     : "from " + text_of(port.least) + " to " + text_of(port.most) + " (profile "
                           + std::to_string(profile_) + ")")
              + ", found "
              + (view.rank() == shape.nbDims ? text_of(shape)
                                             : std::to_string(view.rank()) + " dimensions"));
  lane.shapes[i].nbDims = -1;  // unknown if the next call fails
  if (!lane.context->setInputShape(port.name.c_str(), shape))
    fail(label(port) + ": the engine refuses shape " + text_of(shape));
  lane.shapes[i] = shape;
}

void Session::refuse(const Lane& lane, size_t i, nb::handle array) const {
  Dims shape = lane.outputs[i]->shape();
  if (shape.nbDims < 0) shape = lane.context->getTensorShape(output(i).name.c_str());
  if (messages_ != nullptr) messages_->take(/*of_this_thread=*/true);
  raise(PyExc_ValueError,
        label(output(i)) + " has shape " + text_of(shape) + ", found " + text_of(array));
}

nb::object Session::call(const nb::args& args, const nb::kwargs& kwargs) {
  const bool by_name = args.size() == 1 && PyDict_Check(args[0].ptr());
  const Arrays arrays = arrange(args, kwargs, by_name);
  Arrays out(outputs_.size());
  if (kwargs.size() > 0 && kwargs.contains("out") && !kwargs["out"].is_none())
    out = arrange_out(kwargs["out"]);

  // The context goes back when the call is over, however it ends.
  struct Taken {
    Session& session;
    std::unique_ptr<Lane> lane;
    ~Taken() { session.give_back(std::move(lane)); }
  };
  const Taken taken{*this, take()};
  Lane& lane = *taken.lane;

  std::optional<Framework> framework;
  std::vector<Bound> bound;
  const auto open = [&](const Port& port, nb::handle array) -> const ArrayView& {
    const Framework its = for_port(port, [&] { return framework_of(array); });
    if (!framework) framework = its;
    bound.push_back({&port, for_port(port, [&] {
                       return std::make_unique<ArrayView>(array, its, !port.is_input);
                     })});
    check(port, array, *bound.back().view);
    return *bound.back().view;
  };
  for (size_t i = 0; i < arrays.size(); ++i) bind_input(lane, i, open(input(i), arrays[i]));
  for (size_t i = 0; i < out.size(); ++i) {
    const ArrayView* const given = out[i].is_valid() ? &open(output(i), out[i]) : nullptr;
    lane.outputs[i]->use(given);
    lane.addresses[static_cast<size_t>(outputs_[i])] = nullptr;
  }
  refuse_overlaps(bound);

  const bool fine = into_engine([&] { return lane.context->executeV2(lane.addresses.data()); });
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].is_valid() && !lane.outputs[i]->fits()) refuse(lane, i, out[i]);
  if (!fine) fail("the engine failed");

  if (!framework) framework = framework_of(nb::module_::import_("tenon._arrays").attr("NUMPY"));
  const auto result = [&](size_t i) {
    if (out[i].is_valid()) return out[i];
    const Output& made = *lane.outputs[i];
    return make_array(lane.outputs[i]->take(), made.shape(), *output(i).type, *framework);
  };
  if (by_name) {
    nb::dict results;
    for (size_t i = 0; i < out.size(); ++i) results[output(i).name.c_str()] = result(i);
    return nb::object(results);
  }
  if (out.size() == 1) return result(0);
  nb::list results;
  for (size_t i = 0; i < out.size(); ++i) results.append(result(i));
  return nb::tuple(results);
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  nb::class_<Messages, nvinfer1::ILogger>(
      m, "Messages", "A logger that keeps errors and warnings, and writes none or all of them.")
      .def(nb::init<nvinfer1::ILogger::Severity>(), nb::arg("written"))
      .def("take", &Messages::take, nb::arg("of_this_thread") = false,
           "The messages since the last call, each with its severity.");
  nb::class_<Session>(m, "Session", nb::type_slots(kKeeper),
                      "Runs one profile of an engine on arrays; several threads may call it.")
      .def(nb::init<ICudaEngine&, Messages*, int>(), nb::arg("engine"),
           nb::arg("messages") = nb::none(), nb::arg("profile") = 0, keeps<1, 2>(), keeps<1, 3>())
      .def("_prepare", &Session::prepare, "Makes a context ahead of the first call.")
      .def("__call__", &Session::call, nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def __call__(self, *args, out=None, **kwargs) -> typing.Any"),
           "Runs the engine on arrays and returns its outputs.");
}

}  // namespace tenon::python
