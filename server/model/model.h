// What front ends see of a model: it has names, inputs and outputs, and answers requests.
#pragma once

#include <tenon/serve/statistics.h>
#include <tenon/serve/tensor.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace tenon::server {

using serve::Clock;
using serve::DataType;
using serve::Error;
using serve::Result;
using serve::Shape;
using serve::Tensor;

/// Of a request, an input or an output, as the Open Inference Protocol has them.
using Parameter = std::variant<bool, int64_t, double, std::string>;
using Parameters = std::map<std::string, Parameter>;

struct NamedTensor {
  std::string name;
  Tensor tensor;  ///< on the host
};

/// Which of the requests that follow each other a request is.
struct SequencePlace {
  std::variant<uint64_t, std::string> id;  ///< 0 or empty where it is none
  bool is_start = false, is_end = false;

  bool is_given() const { return id != decltype(id)() && id != decltype(id)(std::string()); }
};

struct InferRequest {
  std::string id;
  std::vector<NamedTensor> inputs;
  std::vector<std::string> outputs;  ///< those that are wanted, in their order; empty for all
  std::optional<Clock::time_point> deadline;
  int priority = 0;      ///< as of serve::JobOptions: higher goes first
  std::stop_token stop;  ///< used when nobody waits for the answer any more
  SequencePlace sequence;
  std::string trace;  ///< `traceparent` of W3C Trace Context; may be empty
  size_t bytes = 0;   ///< of the message, which the tensors may keep
  Clock::time_point begin = Clock::now();
};

/// When a request began to wait for its batch, and when that ran.
struct InferTimes {
  Clock::time_point queue, compute, end;

  bool are_known() const { return end > compute; }
};

struct InferResponse {
  std::string model, version, id;
  std::vector<NamedTensor> outputs;
  InferTimes times = {};
};

/// Why there is no response. HTTP and gRPC have a status for each.
enum class Failure {
  kInvalid,      ///< the request: 400, INVALID_ARGUMENT
  kNotFound,     ///< no such model or version: 404, NOT_FOUND
  kFull,         ///< the queue is full: 429, RESOURCE_EXHAUSTED; the request may be sent again
  kUnavailable,  ///< the model is not ready, or is being stopped: 503, UNAVAILABLE
  kExpired,      ///< the deadline passed: 504, DEADLINE_EXCEEDED
  kCancelled,    ///< 499, CANCELLED
  kInternal,     ///< the model failed: 500, INTERNAL
};

struct RequestError {
  Failure failure = Failure::kInternal;
  std::string text;
};

using InferAnswer = std::variant<InferResponse, RequestError>;
/// Called once, in any thread, maybe before infer() returns; it must not throw or take long.
using Receive = std::function<void(InferAnswer)>;

struct TensorMetadata {
  std::string name;
  DataType type = DataType::kFLOAT;
  Shape shape;                           ///< -1 for extents that vary
  std::vector<std::string> labels = {};  ///< of an output's classes, by their index; may be fewer
};

struct ModelMetadata {
  std::string name, version, platform;
  std::vector<TensorMetadata> inputs, outputs;
  size_t max_batch = 1;     ///< 1 where requests are not put together
  std::string config = {};  ///< as ModelConfig::message
};

/// What a model's requests found in the response cache.
struct CacheStatistics {
  uint64_t hits = 0, misses = 0;
  double hit_seconds = 0, miss_seconds = 0;  ///< that looking took, and keeping the response
};

/// A version of a model that is loaded. All members may be called from any thread.
class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelMetadata& metadata() const = 0;
  /// Answers the request once.
  virtual void infer(InferRequest request, Receive receive) = 0;
  virtual serve::Statistics statistics() const = 0;
  /// Nothing for models whose responses are not cached.
  virtual std::optional<CacheStatistics> cache_statistics() const { return std::nullopt; }
  /// Answers all that came, and refuses what comes from now on.
  virtual void drain() noexcept = 0;
};

}  // namespace tenon::server
