// The inputs and outputs of an engine, and the arrays of a call that belong to them.
#pragma once

#include <NvInfer.h>
#include <tenon/session/tensor.h>

#include <string>
#include <vector>

#include "array.h"

namespace tenon::python {

/// An input or output of an engine, in one profile.
struct Port : session::Tensor {
  const ElementType* element;

  /// "input 'x'" or "out: output 'y'", for errors.
  std::string label() const { return (is_input ? "" : "out: ") + Tensor::label(); }
};

[[noreturn]] void raise(PyObject* type, const std::string& text);

/// Runs `call`, which looks at the array for `port`; what it throws says so.
template <class Call> auto for_port(const Port& port, Call&& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError))
      error.value().attr("args") =
          nb::make_tuple(port.label() + ": " + nb::str(error.value()).c_str());
    throw;
  } catch (const nb::builtin_exception& error) {
    throw nb::builtin_exception(error.type(), (port.label() + ": " + error.what()).c_str());
  }
}

/// An array of a call.
struct Bound {
  const Port* port;
  std::unique_ptr<ArrayView> view;
};

/// Refuses arrays to write to that others of the call lie in: the engine may read those later.
void refuse_overlaps(const std::vector<Bound>& arrays);

/// All of an engine's, and which of them a call's arrays are for.
class Ports {
 public:
  using Arrays = std::vector<nb::object>;

  Ports(nvinfer1::ICudaEngine& engine, int profile);

  size_t size() const { return ports_.size(); }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  const Port& input(size_t i) const { return ports_[inputs_[i]]; }
  const Port& output(size_t i) const { return ports_[outputs_[i]]; }
  /// Where it is among all of the engine's.
  size_t index_of_input(size_t i) const { return inputs_[i]; }
  size_t index_of_output(size_t i) const { return outputs_[i]; }

  /// The arrays of all inputs, which are given in their order, by name or as a dictionary.
  Arrays arrange(const nb::args& args, const nb::kwargs& kwargs, bool by_name) const;
  /// The caller's arrays for outputs; those without one are invalid handles.
  Arrays arrange_out(nb::handle out) const;

 private:
  std::string input_names() const;

  std::vector<Port> ports_;
  std::vector<size_t> inputs_, outputs_;  // ports, in order
};

}  // namespace tenon::python
