// tenon-server: the models of a folder, for clients of the Open Inference Protocol.
#include <NvInferRuntime.h>
#include <tenon/error_codes.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "grpc/grpc_server.h"
#include "guard.h"
#include "http/http_server.h"
#include "http/metrics.h"
#include "http/rest_routes.h"
#include "http/status.h"
#include "model/repository.h"

namespace tenon::server {

using session::value_of;

namespace {

struct Options {
  std::vector<std::string> folders;
  std::string http_address = "0.0.0.0", grpc_address = "0.0.0.0", metrics_address;
  uint16_t http_port = 8000, grpc_port = 8001, metrics_port = 8002;
  bool allow_http = true, allow_grpc = true, allow_metrics = true, allow_status_page = true;
  bool asks_status = false;
  std::string control = "none", cache, token_file;
  TlsFiles http_tls, grpc_tls, metrics_tls;
  std::vector<std::string> plugins, trace;
  // Of gRPC as many as its own would be, but one where there are two cores: it wakes up no other.
  int grpc_threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1U, 16U));
  int http_threads = 2, poll_seconds = 15, exit_timeout = 30;
  bool allow_shared_memory = false;
  std::string shared_memory_prefix, access_log;
  size_t max_body_mib = 64, max_message_mib = 64, max_queue = 1024, max_queue_mib = 1024;

  void add_to(CLI::App& app);
};

void add_tls(CLI::App& app, const std::string& protocol, TlsFiles& files) {
  const auto add = [&](const char* name, std::string& path, const char* text) {
    app.add_option("--" + protocol + name, path, text)->check(CLI::ExistingFile);
  };
  add("-server-cert", files.certificate, "PEM file: the protocol is spoken in TLS with it");
  add("-server-key", files.key, "PEM file: the certificate's key");
  add("-root-cert", files.authorities,
      "PEM file: clients need a certificate of one of these authorities");
}

// The names are those of Triton Inference Server, where it has the option, and of KServe.
void Options::add_to(CLI::App& app) {
  app.add_option("--model-repository,--model-store,--model_dir,folder", folders,
                 "Folder of models: NAME/VERSION/model.plan or model.onnx, or NAME.plan or "
                 "NAME.onnx; several are possible");
  app.add_flag("--status", asks_status,
               "Print what the server at --metrics-address and --metrics-port does, and end");
  app.add_option("--http-address", http_address, "IP address, or unix:PATH");
  app.add_option("--http-port,--http_port", http_port, "0 for any that is free");
  app.add_option("--allow-http", allow_http);
  app.add_option("--http-thread-count", http_threads)->check(CLI::Range(1, 256));
  app.add_option("--http-max-input-size", max_body_mib, "Of a request, in MiB")
      ->check(CLI::Range(1, 2047));
  app.add_option("--allow-grpc", allow_grpc);
  app.add_option("--grpc-address", grpc_address, "IP address, or unix:PATH");
  app.add_option("--grpc-port,--grpc_port", grpc_port, "0 for any that is free");
  app.add_option("--grpc-infer-thread-count", grpc_threads, "Half of the cores, if not given")
      ->check(CLI::Range(1, 256));
  app.add_option("--grpc-max-message-size", max_message_mib, "Of a request, in MiB")
      ->check(CLI::Range(1, 2047));
  add_tls(app, "http", http_tls);
  add_tls(app, "grpc", grpc_tls);
  add_tls(app, "metrics", metrics_tls);
  app.add_option("--allow-metrics", allow_metrics);
  app.add_option("--allow-status-page", allow_status_page, "A page for browsers at / of HTTP");
  app.add_option("--metrics-address", metrics_address, "That of HTTP, if it is not given");
  app.add_option("--metrics-port", metrics_port);
  app.add_option("--plugins", plugins, "Library of plugins that models use; several are possible")
      ->allow_extra_args(false)  // the folder may be behind it
      ->check(CLI::ExistingFile);
  app.add_option("--model-control-mode", control,
                 "none: all models are loaded at the start; poll: and when files change; explicit: "
                 "and when clients say so")
      ->check(CLI::IsMember({"none", "poll", "explicit"}));
  app.add_option("--repository-poll-secs", poll_seconds)->check(CLI::Range(1, 86400));
  app.add_option("--max-queue-size", max_queue, "Requests that a model has at once")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--max-queue-mib", max_queue_mib, "Memory of their inputs, in MiB")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--cache-config", cache,
                 "local,size=BYTES: memory for responses of models with response_cache");
  app.add_option("--allow-shared-memory", allow_shared_memory,
                 "Whether clients may register shared memory of this machine");
  app.add_option("--shared-memory-prefix", shared_memory_prefix,
                 "Of the names of shared memory objects that clients may register");
  app.add_option("--exit-timeout-secs", exit_timeout, "How long requests have to end after SIGTERM")
      ->check(CLI::Range(0, 86400));
  app.add_option("--access-log", access_log,
                 "A file that each request adds a line of JSON to, or - for the standard output");
  app.add_option(
         "--trace-config", trace,
         "triton,file=PATH: where traces of requests go; level=TIMESTAMPS, rate=N, count=N, "
         "triton,log-frequency=N: which; several are possible")
      ->allow_extra_args(false);
  app.add_option("--token-file", token_file,
                 "A file with the token that requests need, as Authorization: Bearer TOKEN")
      ->check(CLI::ExistingFile);
}

std::string token_of(const Options& options) {
  if (options.token_file.empty()) return {};
  std::ifstream file(options.token_file);
  std::string token;
  std::getline(file, token);
  if (token.empty()) throw Error{options.token_file + ": its first line has no token"};
  return token;
}

// Of "local,size=1048576"; null without.
std::shared_ptr<ResponseCache> cache_of(const Options& options) {
  const std::string& text = options.cache;
  if (text.empty()) return nullptr;
  constexpr std::string_view kSize = "local,size=";
  const char* const end = text.data() + text.size();
  size_t bytes = 0;
  const bool is_size = text.starts_with(kSize);
  const auto [last, error] =
      std::from_chars(text.data() + (is_size ? kSize.size() : text.size()), end, bytes);
  if (error != std::errc() || last != end || bytes == 0)
    throw Error{"--cache-config: expected local,size=BYTES, found '" + text + "'"};
  return std::make_shared<ResponseCache>(bytes);
}

// Of "triton,file=PATH", "level=TIMESTAMPS" and others.
void open_traces(const Options& options, RequestTraces& traces) {
  const std::map<std::string, std::string> kNames = {{"level", "trace_level"},
                                                     {"rate", "trace_rate"},
                                                     {"count", "trace_count"},
                                                     {"mode", "trace_mode"},
                                                     {"triton,log-frequency", "log_frequency"}};
  std::string file;
  SettingChanges settings;
  for (const std::string& text : options.trace) {
    const size_t end = text.find('=');
    const std::string name = text.substr(0, end);
    const std::string value = end == std::string::npos ? "" : text.substr(end + 1);
    if (name == "triton,file" && !value.empty()) {
      file = value;
    } else if (const auto found = kNames.find(name); found != kNames.end()) {
      settings[found->second] = value;
    } else {
      throw Error{
          "--trace-config: expected triton,file=PATH, triton,log-frequency=N, level=, rate= "
          "or count=, found '"
          + printable(text) + "'"};
    }
  }
  value_of(traces.open(file, settings));
}

// "127.0.0.1:8000", "[::1]:8000" or "unix:PATH".
std::string address_text(const std::string& address, int port) {
  if (address.starts_with("unix:")) return address;
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// Blocks until the process is told to end.
void wait_for_signal(const sigset_t& signals, ServerLog& log) {
  int signal = 0;
  sigwait(&signals, &signal);
  log.write(Severity::kInfo, std::string("tenon-server: ")
                                 + (signal == SIGINT ? "SIGINT" : "SIGTERM")
                                 + ": answering what came");
}

// What both protocols use of what the options say.
struct Shared {
  SharedMemory* memory = nullptr;
  RequestRecords* records = nullptr;
  std::shared_ptr<ServerSettings> settings;

  void log(const std::string& line) const { settings->log.write(Severity::kInfo, line); }
};

std::unique_ptr<HttpServer> start_http(const Options& options, RestRoutes& routes,
                                       const Shared& shared) {
  HttpOptions of_http;
  of_http.address = options.http_address;
  of_http.port = options.http_port;
  of_http.threads = options.http_threads;
  of_http.max_body = options.max_body_mib << 20;
  of_http.token = token_of(options);
  of_http.tls = options.http_tls;
  of_http.records = shared.records;
  of_http.is_slow = RestRoutes::is_slow;
  auto server = value_of(HttpServer::start(of_http, [&](RestRequest request, Respond respond) {
    routes.handle(std::move(request), std::move(respond));
  }));
  const std::string name = options.http_tls.certificate.empty() ? "HTTP" : "HTTPS";
  shared.log("tenon-server: " + name + " at " + address_text(options.http_address, server->port()));
  return server;
}

std::unique_ptr<GrpcServer> start_grpc(const Options& options, Models& models,
                                       const Shared& shared) {
  GrpcOptions of_grpc;
  of_grpc.address = address_text(options.grpc_address, options.grpc_port);
  of_grpc.version = TENON_VERSION;
  of_grpc.threads = options.grpc_threads;
  of_grpc.max_message_bytes = options.max_message_mib << 20;
  of_grpc.allows_model_control = options.control == "explicit";
  of_grpc.tls = options.grpc_tls;
  of_grpc.memory = shared.memory;
  of_grpc.records = shared.records;
  of_grpc.settings = shared.settings;
  of_grpc.token = token_of(options);
  auto server = value_of(GrpcServer::start(models, of_grpc));
  shared.log("tenon-server: gRPC at " + address_text(options.grpc_address, server->port()));
  return server;
}

std::unique_ptr<HttpServer> start_metrics(const Options& options, const Models& models,
                                          const Shared& shared) {
  HttpOptions of_metrics;
  of_metrics.address =
      options.metrics_address.empty() ? options.http_address : options.metrics_address;
  if (options.metrics_address.empty() && of_metrics.address.starts_with("unix:"))
    of_metrics.address = "127.0.0.1";
  of_metrics.port = options.metrics_port;
  of_metrics.threads = 1;
  of_metrics.max_body = 1 << 16;
  of_metrics.tls = options.metrics_tls;
  auto server = value_of(
      HttpServer::start(of_metrics, [&models](const RestRequest& request, const Respond& respond) {
        respond(metrics_response(models, request));
      }));
  shared.log("tenon-server: metrics at " + address_text(of_metrics.address, server->port()));
  return server;
}

// The registry says on the standard error why it takes one not.
void load_plugins(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    // A name without a folder would be looked for where the system's libraries are.
    const std::string path = std::filesystem::absolute(library);
    if (getPluginRegistry()->loadLibrary(path.c_str()) == nullptr)
      throw Error{"--plugins: cannot load " + library + ": expected a library of plugins"};
  }
}

void serve(const Options& options) {
  if (options.folders.empty())
    throw Error{with_code("--model-repository: expected a folder of models", ErrorClass::kOptions)};
  load_plugins(options.plugins);
  // Threads take the mask of the one that starts them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  SharedMemoryOptions of_memory;
  of_memory.prefix = options.shared_memory_prefix;
  of_memory.max_bytes = options.max_queue_mib << 20;
  SharedMemory memory(of_memory);
  const auto access_log =
      options.access_log.empty() ? nullptr : value_of(AccessLog::open(options.access_log));
  const auto settings = std::make_shared<ServerSettings>();
  open_traces(options, settings->traces);
  RequestRecords records(access_log.get(), settings->traces);
  const Shared shared{options.allow_shared_memory ? &memory : nullptr, &records, settings};
  RepositoryOptions of_models;
  of_models.folders = options.folders;
  of_models.limits = {options.max_queue, options.max_queue_mib << 20};
  of_models.cache = cache_of(options);
  if (options.control == "poll") of_models.poll = std::chrono::seconds(options.poll_seconds);
  of_models.log = [&](Severity severity, const std::string& line) {
    settings->log.write(severity, line);
  };
  Repository models(of_models);
  RestRoutes routes(
      models,
      {options.control == "explicit", {}, shared.memory, options.allow_status_page, settings});

  // They listen before models are loaded, so that probes see that the server lives.
  const auto http = options.allow_http ? start_http(options, routes, shared) : nullptr;
  const auto grpc = options.allow_grpc ? start_grpc(options, models, shared) : nullptr;
  const auto metrics = options.allow_metrics ? start_metrics(options, models, shared) : nullptr;
  // Signals are waited for while models load.
  Result<void> started;
  std::thread loading([&] {
    started = models.start();
    if (started && !models.is_ready())
      shared.log("tenon-server: not all models could be loaded, and /v2/health/ready says so");
    if (started)
      shared.log("tenon-server: ready");
    else
      kill(getpid(), SIGTERM);
  });
  wait_for_signal(signals, settings->log);
  models.begin_stop();
  const auto timeout = std::chrono::seconds(options.exit_timeout);
  // Both at once, so that each has the whole time.
  std::thread stopping([&] {
    if (grpc != nullptr) grpc->stop(timeout);
  });
  if (http != nullptr) http->stop(timeout);
  stopping.join();
  loading.join();
  models.stop();
  value_of(started);
}

void print_status(const Options& options) {
  const std::string metrics =
      value_of(fetch_metrics(options.metrics_address, options.metrics_port));
  std::fputs(status_table(metrics).c_str(), stdout);
}

}  // namespace
}  // namespace tenon::server

// What jemalloc reads: memory of large tensors is kept for the next ones, also for smaller parts of
// them, and given back ten seconds after the last.
extern "C" {
__attribute__((visibility("default"))) const char* malloc_conf =
    "oversize_threshold:0,lg_extent_max_active_fit:12,background_thread:true";
}

int main(int count, char** words) {
  tenon::server::Options options;
  CLI::App app("Serves models by the Open Inference Protocol (KServe v2) over HTTP and gRPC.",
               "tenon-server");
  app.set_version_flag("--version", TENON_VERSION);
  options.add_to(app);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return tenon::with_code(error.what(), tenon::ErrorClass::kOptions)
           + "\nRun `tenon-server --help`.\n";
  });
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  const auto fail = [](const std::string& text) {
    std::fprintf(stderr, "tenon-server: %s\n",
                 tenon::with_code(text, tenon::ErrorClass::kCommand).c_str());
    return 1;
  };
  try {
    if (options.asks_status)
      tenon::server::print_status(options);
    else
      tenon::server::serve(options);
    return 0;
  } catch (const tenon::server::Error& error) {
    return fail(error.text);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
