// The checks of plugin libraries.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "check/check.h"
#include "engine_call.h"

namespace tenon::python {
namespace {

// What plugins say of themselves need not be UTF-8.
nb::object text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

void append_rows(nb::list& rows, const check::PluginReport& report) {
  const check::Identity& plugin = report.identity;
  for (const check::Result& result : report.results)
    rows.append(nb::make_tuple(text(plugin.name), text(plugin.version), text(plugin.name_space),
                               text(result.check), text(result.input),
                               check::name_of(result.outcome), text(result.expected),
                               text(result.found)));
}

nb::list check_plugins(const check::Options& options, const nb::callable& on_report) {
  const std::vector<check::PluginReport> reports = into_engine([&] {
    return check::check_plugins(options, [&](const check::PluginReport& report) {
      const Held held;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      on_report(text(check::text_of(report)));
    });
  });
  nb::list rows;
  for (const check::PluginReport& report : reports) append_rows(rows, report);
  return rows;
}

}  // namespace

void bind_plugin_checks(nb::module_& m) {
  m.def(
      "check_plugins",
      [](std::string library, std::vector<std::string> plugins, std::string shapes,
         std::string types, std::vector<std::string> fields, std::vector<std::string> cases,
         int time_limit, std::vector<std::string> worker, const nb::callable& on_report) {
        check::Options options;
        options.library = std::move(library);
        options.plugins = std::move(plugins);
        options.shapes = std::move(shapes);
        options.types = std::move(types);
        options.fields = std::move(fields);
        options.cases = std::move(cases);
        options.time_limit = time_limit;
        options.worker = std::move(worker);
        return check_plugins(options, on_report);
      },
      nb::arg("library"), nb::arg("plugins"), nb::arg("shapes"), nb::arg("types"),
      nb::arg("fields"), nb::arg("cases"), nb::arg("time_limit"), nb::arg("worker"),
      nb::arg("on_report"),
      nb::sig("def check_plugins(library: str, plugins: list[str], shapes: str, types: str, "
              "fields: list[str], cases: list[str], time_limit: int, worker: list[str], "
              "on_report: collections.abc.Callable[[str], object]) "
              "-> list[tuple[str, str, str, str, str, str, str, str]]"),
      "Checks the plugins of a library; those that come along for \"\". Each check is a row: name, "
      "version and namespace of the plugin, check, input, outcome, what was expected, what was "
      "found. `on_report` gets the report for people of each plugin when it is done. `worker`: "
      "the program, with its first arguments, that hands one more to tenon::check::work().");
}

}  // namespace tenon::python
