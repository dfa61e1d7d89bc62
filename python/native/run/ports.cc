#include "ports.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tenon::python {

using nvinfer1::ICudaEngine;

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

void refuse_overlaps(const std::vector<Bound>& arrays) {
  const auto begin = [](const Bound& array) { return static_cast<char*>(array.view->data()); };
  const auto end = [&](const Bound& array) { return begin(array) + array.view->bytes(); };
  for (const Bound& written : arrays) {
    if (written.port->is_input) continue;
    for (const Bound& other : arrays)
      if (&other != &written && begin(other) < end(written) && begin(written) < end(other))
        raise(PyExc_ValueError, written.port->label() + " shares memory with " + other.port->label()
                                    + "; give it an array of its own");
  }
}

Ports::Ports(ICudaEngine& engine, int profile) {
  if (profile < 0 || profile >= engine.getNbOptimizationProfiles())
    raise(PyExc_ValueError, "there is no profile " + std::to_string(profile) + ": the engine has "
                                + std::to_string(engine.getNbOptimizationProfiles()));
  for (session::Tensor& tensor : session::tensors_of(engine, profile)) {
    if (!tensor.format.is_linear())
      raise(PyExc_ValueError,
            tensor.label() + " lies in the format "
                + engine.getTensorFormatDesc(tensor.name.c_str())
                + ", and arrays are linear: use the execution context, or build the engine with "
                  "TensorFormat.LINEAR allowed");
    (tensor.is_input ? inputs_ : outputs_).push_back(ports_.size());
    const ElementType& element = element_type(tensor.type);
    ports_.push_back({std::move(tensor), &element});
  }
}

std::string Ports::input_names() const {
  std::string text;
  for (size_t i = 0; i < inputs(); ++i) text += (i > 0 ? ", '" : "'") + input(i).name + "'";
  return inputs_.empty() ? "none" : text;
}

Ports::Arrays Ports::arrange(const nb::args& args, const nb::kwargs& kwargs, bool by_name) const {
  Arrays arrays(inputs());
  size_t count = 0;
  const auto put = [&](const char* name, nb::handle array) {
    for (size_t i = 0; i < inputs(); ++i) {
      if (input(i).name != name) continue;
      if (arrays[i].is_valid()) raise(PyExc_TypeError, input(i).label() + " is given twice");
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
    if (args.size() > inputs())
      raise(PyExc_TypeError,
            std::to_string(args.size()) + " arrays are given, but the inputs are " + input_names());
    for (size_t i = 0; i < args.size(); ++i) arrays[i] = args[i];
    count = args.size();
  }
  for (auto [name, array] : kwargs) {
    const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), nullptr);
    if (std::string_view(text) != "out") put(text, array);
  }
  if (count < inputs())
    for (size_t i = 0; i < inputs(); ++i)
      if (!arrays[i].is_valid())
        raise(PyExc_TypeError, input(i).label() + " is missing; the inputs are " + input_names());
  return arrays;
}

Ports::Arrays Ports::arrange_out(nb::handle out) const {
  Arrays arrays(outputs());
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

}  // namespace tenon::python
