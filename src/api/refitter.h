// IRefitter: new weights for an engine.
#pragma once

#include <NvInfer.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/engine.h"
#include "api/guard.h"
#include "api/live.h"
#include "base/memory_cache.h"
#include "builder/refit.h"

namespace tenon {

class RefitterView final : public nvinfer1::IRefitter,
                           public nvinfer1::apiv::VRefitter,
                           public Live<RefitterView, nvinfer1::IRefitter> {
 public:
  /// Throws when the engine is not refittable.
  RefitterView(EngineView& engine, nvinfer1::ILogger& logger);

  const Reporter& reporter() const { return reporter_; }
  const Plan& plan() const { return engine().plan(); }
  /// Those that go by one name; none for a name that no weights have.
  std::vector<size_t> named(const std::string& name) const;
  const std::vector<RefittableWeights>& weights() const { return weights_; }
  /// As setNamedWeights() does, to one of weights(); copied now.
  void give(size_t index, Tensor weights);

  nvinfer1::IRefitter* getPImpl() noexcept override { return this; }
  bool setWeights(const char* layerName, nvinfer1::WeightsRole role,
                  nvinfer1::Weights weights) noexcept override;
  bool refitCudaEngine() noexcept override;
  int32_t getMissing(int32_t size, const char** layerNames,
                     nvinfer1::WeightsRole* roles) noexcept override;
  int32_t getAll(int32_t size, const char** layerNames,
                 nvinfer1::WeightsRole* roles) noexcept override;
  bool setDynamicRange(const char* tensorName, float min, float max) noexcept override;
  float getDynamicRangeMin(const char*) const noexcept override { return 0; }
  float getDynamicRangeMax(const char*) const noexcept override { return 0; }
  int32_t getTensorsWithDynamicRange(int32_t, const char**) const noexcept override { return 0; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }
  bool setNamedWeights(const char* name, nvinfer1::Weights weights) noexcept override;
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept override;
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept override;
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
  bool setNamedWeightsWithLocation(const char* name, nvinfer1::Weights weights,
                                   nvinfer1::TensorLocation location) noexcept override;
  nvinfer1::Weights getNamedWeights(const char* weightsName) const noexcept override;
  nvinfer1::TensorLocation getWeightsLocation(const char* weightsName) const noexcept override;
  bool unsetNamedWeights(const char* weightsName) noexcept override;
  void setWeightsValidation(bool weightsValidation) noexcept override {
    validates_ = weightsValidation;
  }
  bool getWeightsValidation() const noexcept override { return validates_; }
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept override;
  nvinfer1::Weights getWeightsPrototype(const char* weightsName) const noexcept override;

 private:
  // What the application gave: memory of its own, or (for a parser) a copy.
  struct Given {
    nvinfer1::Weights weights;
    nvinfer1::TensorLocation location = nvinfer1::TensorLocation::kHOST;
    std::optional<Tensor> copy;
  };

  EngineView& engine() const;
  void check(size_t index, const nvinfer1::Weights& weights, const std::string& what) const;
  bool has_float64(const std::string& name) const;
  void give_named(const char* name, const nvinfer1::Weights& weights,
                  nvinfer1::TensorLocation location);
  /// Whether weights were given, and are not known to be the current ones; one for each.
  std::vector<uint8_t> are_new() const;
  std::vector<std::optional<Tensor>> copies() const;
  void validate(const std::vector<std::optional<Tensor>>& given) const;
  void refit();
  bool is_missing(size_t index) const {
    return !weights_[index].current.has_data() && !given_[index].has_value();
  }
  int32_t list_names(bool only_missing, int32_t size, const char** names) const;
  int32_t list_uses(bool only_missing, int32_t size, const char** layers,
                    nvinfer1::WeightsRole* roles) const;

  Reporter reporter_;
  EngineView::Self engine_;
  std::vector<RefittableWeights> weights_;
  std::vector<std::optional<Given>> given_;  // one for each
  std::multimap<std::string, size_t> by_name_;
  bool validates_ = true;
  /// Of the weights that refits have replaced.
  MemoryCache memory_;
};

}  // namespace tenon
