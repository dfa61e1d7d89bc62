// tenon-load: load for a server of the Open Inference Protocol, and what it made of it.
#include <fmt/format.h>
#include <sys/resource.h>
#include <tenon/error_codes.h>
#include <tenon/printable.h>
#include <tenon/replace_file.h>
#include <tenon/session/result.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <utility>

#include "grpc_transport.h"
#include "http_transport.h"
#include "load_options.h"
#include "report.h"

namespace tenon::load {
namespace {

using nlohmann::ordered_json;

// A model, and how the requests for it are sent.
struct Prepared {
  ModelDescription model;
  std::vector<NamedInput> inputs;
  MakeTransport make_transport;
};

Prepared prepare_http(const LoadOptions& options) {
  const HttpAddress address(options.url);
  Prepared made;
  made.model = describe_over_http(address, options.model, options.version, options.message,
                                  options.generator.timeout);
  made.inputs = make_inputs(made.model, options.inputs);
  HttpMessage message = http_message(made.model, made.inputs, options.message, address.text());
  made.make_transport = [address, message = std::move(message)](const TransportOptions& transport,
                                                                Receive receive) {
    return make_http_transport(address, message, transport, std::move(receive));
  };
  return made;
}

Prepared prepare_grpc(const LoadOptions& options) {
  Prepared made;
  made.model = describe_over_grpc(options.url, options.model, options.version, options.message,
                                  options.generator.timeout);
  made.inputs = make_inputs(made.model, options.inputs);
  std::string message = grpc_message(made.model, made.inputs, options.message);
  made.make_transport = [&options, message = std::move(message)](TransportOptions transport,
                                                                 Receive receive) {
    // Calls share connections, but for so many that a server has a limit.
    constexpr size_t kCallsOfConnection = 64;
    transport.connections =
        std::min((transport.connections + kCallsOfConnection - 1) / kCallsOfConnection,
                 options.generator.connections);
    transport.connections = std::max(transport.connections, transport.threads);
    return make_grpc_transport(options.url, message, options.message, transport,
                               std::move(receive));
  };
  return made;
}

void print_inputs(const Prepared& prepared) {
  for (const NamedInput& input : prepared.inputs)
    fmt::print("input {}: {} {}\n", printable(input.name), input.datatype,
               session::shape_text(input.array.shape));
}

int64_t batch_of(const Prepared& prepared) {
  const bool has_batch = !prepared.model.inputs.empty() && !prepared.model.inputs[0].shape.empty()
                         && prepared.model.inputs[0].shape[0] < 0;
  return has_batch ? prepared.inputs[0].array.shape[0] : 1;
}

void write_json(const std::string& path, const ordered_json& json) {
  if (path.empty()) return;
  const std::string text = json.dump(2) + "\n";
  replace_file(path, text.data(), text.size());
}

// The levels, one after the other; returns whether no request failed.
bool run(const LoadOptions& options) {
  const Prepared prepared = options.is_grpc() ? prepare_grpc(options) : prepare_http(options);
  const int64_t batch = batch_of(prepared);
  const bool is_table = !options.prints_json;
  if (is_table && options.is_verbose) print_inputs(prepared);
  if (is_table)
    fmt::print("{}\n", table_head(options.levels[0].loop, options.generator.percentiles));
  ordered_json levels = ordered_json::array(), times = ordered_json::array();
  std::string failure;
  for (const Level& level : options.levels) {
    const LevelResult result = run_level(level, options.generator, prepared.make_transport);
    if (is_table) {
      fmt::print("{}\n", table_row(result, batch));
      std::fflush(stdout);
    }
    levels.push_back(to_json(result, batch));
    if (!options.export_times.empty()) times.push_back(times_json(result));
    if (failure.empty()) failure = result.first_failure;
  }
  const ordered_json result = {{"model", options.model},
                               {"protocol", options.protocol},
                               {"url", options.url},
                               {"batch", batch},
                               {"levels", levels}};
  if (options.prints_json) fmt::print("{}\n", result.dump(2));
  write_json(options.export_json, result);
  write_json(options.export_times, times);
  if (!failure.empty())
    fmt::print(stderr, "tenon-load: the first request that failed: {}\n", printable(failure));
  return failure.empty();
}

// As many connections as the system has for a process, and not only as many as it gives at first.
void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace tenon::load

int main(int count, char** words) {
  tenon::load::allow_descriptors();
  tenon::load::LoadOptions options;
  CLI::App app(
      "Sends requests to a server of the Open Inference Protocol (KServe v2), and measures.",
      "tenon load");
  app.set_version_flag("--version", TENON_VERSION);
  app.get_formatter()->column_width(40);
  options.add_to(app);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return tenon::with_code(error.what(), tenon::ErrorClass::kOptions)
           + "\nRun `tenon load --help`.\n";
  });
  CLI11_PARSE(app, count, words);
  const auto fail = [](const std::string& text, tenon::ErrorClass error_class) {
    fmt::print(stderr, "tenon-load: {}\n", tenon::with_code(text, error_class));
    return 1;
  };
  try {
    options.check();
  } catch (const tenon::session::Error& error) {
    return fail(error.text, tenon::ErrorClass::kOptions);
  }
  try {
    return tenon::load::run(options) ? 0 : 1;
  } catch (const tenon::session::Error& error) {
    return fail(error.text, tenon::ErrorClass::kCommand);
  } catch (const std::exception& error) {
    return fail(tenon::printable(error.what()), tenon::ErrorClass::kCommand);
  }
}
