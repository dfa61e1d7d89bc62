// Plan files: opened in place, and described.
#include <nanobind/stl/string.h>
#include <tenon/describe.h>
#include <tenon/open_plan.h>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"
#include "messages.h"

namespace tenon::python {

void bind_plan_file(nb::module_& m) {
  m.def(
      "open_plan",
      [](nvinfer1::IRuntime& runtime, const char* path) {
        return into_engine([&] { return Owned(open_plan(runtime, path)); });
      },
      nb::arg("runtime"), nb::arg("path"), of_parent(),
      "The engine of a plan file, which is mapped: it must stay as it is while the engine lives. "
      "None, after an error to the runtime's logger, when it is no intact plan.");
  m.def(
      "describe_plan",
      [](const char* path) {
        Messages messages(nvinfer1::ILogger::Severity::kINTERNAL_ERROR);
        const Text text =
            into_engine([&] { return describe_plan(messages, path, DumpFormat::kTEXT); });
        if (text == nullptr) {
          std::string what = "cannot describe the plan";
          for (const auto& [severity, message] : messages.take(false)) what += "\n  " + message;
          throw Error(what);
        }
        return std::string(static_cast<const char*>(text->data()), text->size());
      },
      nb::arg("path"), "The plan file as text; loads no plugin. Raises tenon.Error.");
}

}  // namespace tenon::python
