#include "plugins/python_object.h"

#include <nanobind/stl/string.h>
#include <tenon/plugin_host.h>

#include <unordered_map>

namespace tenon::python {
namespace {

// Read and changed with the GIL held.
std::unordered_map<const void*, PyObject*>& adapted() {
  static auto* const map = new std::unordered_map<const void*, PyObject*>;
  return *map;
}

std::string short_type_name(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

}  // namespace

nb::object python_class(const char* module, const char* name) {
  return nb::module_::import_(module).attr(name);
}

PythonObject::~PythonObject() {
  if (!python_lives()) return;
  const Held held;
  object_.dec_ref();
}

Adapter::Adapter(nb::object self, const void* interface)
    : self_(std::move(self)), interface_(interface) {
  adapted()[interface] = self_.get().ptr();
}

Adapter::~Adapter() {
  if (!python_lives()) return;
  const Held held;
  adapted().erase(interface_);
}

nb::object python_of(const void* interface) {
  const auto it = adapted().find(interface);
  return it == adapted().end() ? nb::object() : nb::borrow(it->second);
}

std::string Adapter::class_name() const {
  return short_type_name(self_.get());
}

void Adapter::refuse(nb::handle value, const char* method, const char* expected) const {
  const std::string message =
      class_name() + "." + method + " gave a " + short_type_name(value) + "; expected " + expected;
  throw nb::type_error(message.c_str());
}

int32_t Adapter::status_of(nb::handle result, const char* method) const {
  if (result.is_none()) return 0;
  return taken<int32_t>(result, method, "None, or a status (int), 0 on success");
}

void Adapter::report(const char* method, const std::exception& error) const {
  if (tenonReportPluginError == nullptr) return;
  std::string message = class_name() + "." + method + "() raised ";
  if (const auto* raised = dynamic_cast<const nb::python_error*>(&error))
    message += short_type_name(raised->value()) + ": " + nb::str(raised->value()).c_str();
  else
    message += error.what();
  tenonReportPluginError(message.c_str());
}

const char* Adapter::text(const char* attribute, std::string& kept) const noexcept {
  return call<const char*>(nullptr, attribute, [&]() -> const char* {
    const nb::object value = self().attr(attribute);
    if (value.is_none()) return nullptr;
    kept = taken<std::string>(value, attribute, "a str");
    return kept.c_str();
  });
}

}  // namespace tenon::python
