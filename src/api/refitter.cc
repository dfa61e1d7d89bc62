#include "api/refitter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/cuda_stream.h"
#include "base/half.h"
#include "base/parallel.h"

namespace tenon {
namespace {

constexpr nvinfer1::Weights kNoWeights{DataType::kFLOAT, nullptr, 0};

std::string quoted(const char* name) {
  return name != nullptr ? fmt::format("'{}'", name) : "null";
}

const char* role_name(nvinfer1::WeightsRole role) {
  static constexpr const char* kNames[] = {"kKERNEL", "kBIAS",     "kSHIFT",
                                           "kSCALE",  "kCONSTANT", "kANY"};
  return kNames[static_cast<size_t>(checked(role))];
}

/// A part of weights to be copied.
struct Chunk {
  std::byte* to;
  const std::byte* from;
  size_t bytes;
};

void add_chunks(std::vector<Chunk>& chunks, const void* from, Tensor& to) {
  constexpr size_t kChunk = size_t{1} << 18;
  for (size_t at = 0; at < to.bytes(); at += kChunk)
    chunks.push_back({to.mutable_data<std::byte>() + at, static_cast<const std::byte*>(from) + at,
                      std::min(kChunk, to.bytes() - at)});
}

// Many weights are too small for several threads, and all together are not.
void copy(std::span<const Chunk> chunks) {
  constexpr int64_t kGrain = 4;
  parallel_for(static_cast<int64_t>(chunks.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto& [to, from, bytes] = chunks[static_cast<size_t>(i)];
      std::memcpy(to, from, bytes);
    }
  });
}

// From float32 to the bits of float64, or the other way round.
Tensor in_type(Tensor given, DataType type) {
  if (given.type() == type) return given;
  Tensor made(type, given.shape());
  for (int64_t i = 0; i < given.count(); ++i)
    if (type == DataType::kINT64)
      made.mutable_data<int64_t>()[i] = std::bit_cast<int64_t>(double{given.data<float>()[i]});
    else
      made.mutable_data<float>()[i] =
          static_cast<float>(std::bit_cast<double>(given.data<int64_t>()[i]));
  return made;
}

}  // namespace

RefitterView::RefitterView(EngineView& engine, nvinfer1::ILogger& logger)
    : Live(this, this),
      reporter_(&logger),
      engine_(engine.self()),
      weights_(refittable_weights(engine.plan())),
      given_(weights_.size()) {
  mImpl = this;
  require(engine.plan().is_refittable(),
          "the engine is not refittable: build it with BuilderFlag::kREFIT, kREFIT_IDENTICAL or "
          "kREFIT_INDIVIDUAL");
  for (size_t i = 0; i < weights_.size(); ++i)
    if (!weights_[i].name.empty()) by_name_.emplace(weights_[i].name, i);
}

EngineView& RefitterView::engine() const {
  auto* engine = const_cast<EngineView*>(engine_->load());
  require(engine != nullptr, "the engine was deleted before its refitter");
  return *engine;
}

std::vector<size_t> RefitterView::named(const std::string& name) const {
  std::vector<size_t> found;
  const auto [from, to] = by_name_.equal_range(name);
  for (auto i = from; i != to; ++i) found.push_back(i->second);
  return found;
}

void RefitterView::check(size_t index, const nvinfer1::Weights& weights,
                         const std::string& what) const {
  const Tensor& current = weights_[index].current;
  const bool is_float64 = has_float64(weights_[index].name) || weights_[index].is_float64;
  const bool is_converted =
      is_float64 && (weights.type == DataType::kFLOAT || weights.type == DataType::kINT64);
  require(weights.values != nullptr, "{}: the values are null", what);
  require((weights.type == current.type() || is_converted) && weights.count == current.count(),
          "{}: {} elements of {} were given; expected {} of {}", what, weights.count,
          name_of(weights.type), current.count(),
          is_float64 ? "int64, which hold the bits of float64, or of float32"
                     : name_of(current.type()));
}

// Other weights of the name may be the same numbers in float32.
bool RefitterView::has_float64(const std::string& name) const {
  return std::ranges::any_of(named(name), [&](size_t i) { return weights_[i].is_float64; });
}

void RefitterView::give(size_t index, Tensor weights) {
  const nvinfer1::Weights all{weights.type(), weights.data(), weights.count()};
  check(index, all, fmt::format("weights '{}'", weights_[index].name));
  given_[index] = {all, nvinfer1::TensorLocation::kHOST, std::move(weights)};
}

bool RefitterView::setWeights(const char* layerName, nvinfer1::WeightsRole role,
                              nvinfer1::Weights weights) noexcept {
  return reporter_.run([&] {
    const std::string what =
        fmt::format("weights {} of layer {}", role_name(role), quoted(layerName));
    bool found = false;
    for (size_t i = 0; i < weights_.size() && layerName != nullptr; ++i)
      for (const RefittableWeights::Use& use : weights_[i].uses) {
        if (use.layer != layerName || use.role != role) continue;
        check(i, weights, what);
        given_[i] = {weights, nvinfer1::TensorLocation::kHOST, std::nullopt};
        found = true;
      }
    require(found, "{}: the engine has no such refittable weights; getAll lists them", what);
  });
}

void RefitterView::give_named(const char* name, const nvinfer1::Weights& weights,
                              nvinfer1::TensorLocation location) {
  const std::vector<size_t> found = named(name != nullptr ? name : "");
  require(!found.empty(),
          "the engine has no refittable weights of the name {}; getAllWeights lists them",
          quoted(name));
  for (const size_t i : found) check(i, weights, fmt::format("weights {}", quoted(name)));
  for (const size_t i : found) given_[i] = {weights, checked(location), std::nullopt};
}

bool RefitterView::setNamedWeights(const char* name, nvinfer1::Weights weights) noexcept {
  return reporter_.run([&] { give_named(name, weights, nvinfer1::TensorLocation::kHOST); });
}

bool RefitterView::setNamedWeightsWithLocation(const char* name, nvinfer1::Weights weights,
                                               nvinfer1::TensorLocation location) noexcept {
  return reporter_.run([&] { give_named(name, weights, location); });
}

bool RefitterView::unsetNamedWeights(const char* weightsName) noexcept {
  return reporter_.run([&] {
    bool found = false;
    for (const size_t i : named(weightsName != nullptr ? weightsName : "")) {
      found |= given_[i].has_value();
      given_[i].reset();
    }
    require(found, "no weights were set under the name {}", quoted(weightsName));
  });
}

nvinfer1::Weights RefitterView::getNamedWeights(const char* weightsName) const noexcept {
  return reporter_.guard(kNoWeights, [&] {
    for (const size_t i : named(weightsName != nullptr ? weightsName : ""))
      if (given_[i]) return given_[i]->weights;
    return kNoWeights;
  });
}

nvinfer1::TensorLocation RefitterView::getWeightsLocation(const char* weightsName) const noexcept {
  return reporter_.guard(nvinfer1::TensorLocation::kHOST, [&] {
    for (const size_t i : named(weightsName != nullptr ? weightsName : ""))
      if (given_[i]) return given_[i]->location;
    return nvinfer1::TensorLocation::kHOST;
  });
}

nvinfer1::Weights RefitterView::getWeightsPrototype(const char* weightsName) const noexcept {
  constexpr nvinfer1::Weights kNone{DataType::kFLOAT, nullptr, -1};
  return reporter_.guard(kNone, [&] {
    const std::vector<size_t> found = named(weightsName != nullptr ? weightsName : "");
    if (found.empty()) return kNone;
    const Tensor& current = weights_[found.front()].current;
    const DataType type = has_float64(weightsName) ? DataType::kINT64 : current.type();
    return nvinfer1::Weights{type, nullptr, current.count()};
  });
}

int32_t RefitterView::list_names(bool only_missing, int32_t size, const char** names) const {
  int32_t count = 0;
  for (auto i = by_name_.begin(); i != by_name_.end(); i = by_name_.upper_bound(i->first)) {
    const std::vector<size_t> all = named(i->first);
    if (only_missing
        && std::none_of(all.begin(), all.end(), [&](size_t k) { return is_missing(k); }))
      continue;
    if (names != nullptr && count < size) names[count] = i->first.c_str();
    ++count;
  }
  return count;
}

int32_t RefitterView::list_uses(bool only_missing, int32_t size, const char** layers,
                                nvinfer1::WeightsRole* roles) const {
  int32_t count = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (only_missing && !is_missing(i)) continue;
    for (const RefittableWeights::Use& use : weights_[i].uses) {
      if (layers != nullptr && count < size) layers[count] = use.layer.c_str();
      if (roles != nullptr && count < size) roles[count] = use.role;
      ++count;
    }
  }
  return count;
}

int32_t RefitterView::getMissing(int32_t size, const char** layerNames,
                                 nvinfer1::WeightsRole* roles) noexcept {
  return reporter_.guard(0, [&] { return list_uses(true, size, layerNames, roles); });
}

int32_t RefitterView::getAll(int32_t size, const char** layerNames,
                             nvinfer1::WeightsRole* roles) noexcept {
  return reporter_.guard(0, [&] { return list_uses(false, size, layerNames, roles); });
}

int32_t RefitterView::getMissingWeights(int32_t size, const char** weightsNames) noexcept {
  return reporter_.guard(0, [&] { return list_names(true, size, weightsNames); });
}

int32_t RefitterView::getAllWeights(int32_t size, const char** weightsNames) noexcept {
  return reporter_.guard(0, [&] { return list_names(false, size, weightsNames); });
}

bool RefitterView::setDynamicRange(const char* tensorName, float, float) noexcept {
  return reporter_.run([&] {
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "tensor {} has no range: INT8 comes from Quantize and Dequantize layers, whose scales are "
         "weights",
         quoted(tensorName));
  });
}

bool RefitterView::setMaxThreads(int32_t maxThreads) noexcept {
  return reporter_.run([&] {
    require(maxThreads > 0, "{} threads are not possible", maxThreads);
    set_thread_count(maxThreads);
  });
}

int32_t RefitterView::getMaxThreads() const noexcept {
  return thread_count();
}

std::vector<uint8_t> RefitterView::are_new() const {
  std::vector<uint8_t> result(given_.size());
  parallel_for(static_cast<int64_t>(given_.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (!given_[i]) continue;
      const Tensor& current = weights_[i].current;
      const bool can_compare = given_[i]->location == nvinfer1::TensorLocation::kHOST
                               && given_[i]->weights.type == current.type()
                               && current.data() != nullptr;
      result[i] = !can_compare
                  || std::memcmp(given_[i]->weights.values, current.data(), current.bytes()) != 0;
    }
  });
  return result;
}

// Of those that are others than before: layers whose weights stay keep their packed forms.
std::vector<std::optional<Tensor>> RefitterView::copies() const {
  const Device& device = engine().engine().device();
  const std::vector<uint8_t> is_new = are_new();
  std::vector<std::optional<Tensor>> result(given_.size());
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!is_new[i]) continue;
    const auto& [weights, location, copy] = *given_[i];
    if (copy) {
      result[i] = *copy;
      continue;
    }
    Tensor taken(weights.type, Shape{weights.count});
    if (location == nvinfer1::TensorLocation::kDEVICE)
      device.copy_out(taken.mutable_data<void>(), weights.values, taken.bytes(), nullptr);
    else
      add_chunks(chunks, weights.values, taken);
    result[i] = std::move(taken);
  }
  copy(chunks);
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i]) result[i] = in_type(std::move(*result[i]), weights_[i].current.type());
  return result;
}

// What a layer in 16 bits would make infinite.
void RefitterView::validate(const std::vector<std::optional<Tensor>>& given) const {
  if (plan().source->precision.reduced != DataType::kHALF) return;
  constexpr float kLargest = 65504;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i] || given[i]->type() != DataType::kFLOAT) continue;
    const std::span values(given[i]->data<float>(), static_cast<size_t>(given[i]->count()));
    const auto too_large = std::count_if(values.begin(), values.end(), [](float x) {
      return std::isfinite(x) && std::abs(x) > kLargest;
    });
    if (too_large > 0)
      reporter_.log().warning("weights '{}': {} of {} values are beyond the range of FP16",
                              weights_[i].name, too_large, values.size());
  }
}

void RefitterView::refit() {
  const MemoryCache::Scope scope(memory_);
  const auto given = copies();
  if (validates_) validate(given);
  engine().refit(given);
  weights_ = refittable_weights(plan());
  // The application's memory may change until the next refit, which reads it again.
  for (auto& one : given_)
    if (one && one->copy) one.reset();
}

bool RefitterView::refitCudaEngine() noexcept {
  return reporter_.run([&] { refit(); });
}

bool RefitterView::refitCudaEngineAsync(cudaStream_t stream) noexcept {
  return reporter_.run([&] {
    if (Failure failure = engine().engine().device().synchronize(from_cuda(stream)))
      fail(ErrorCode::kFAILED_EXECUTION, "earlier work of the stream failed: {}", failure);
    refit();
  });
}

}  // namespace tenon
