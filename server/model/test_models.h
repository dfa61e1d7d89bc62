// Models of functions, for tests of what is made of models.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models.h"

namespace tenon::server {

/// Answers by a function, in the thread that asks.
class FunctionModel final : public Model {
 public:
  using Infer = std::function<void(InferRequest, Receive)>;

  FunctionModel(ModelMetadata metadata, Infer infer)
      : metadata_(std::move(metadata)), infer_(std::move(infer)) {}

  const ModelMetadata& metadata() const override { return metadata_; }
  void infer(InferRequest request, Receive receive) override {
    infer_(std::move(request), std::move(receive));
  }
  serve::Statistics statistics() const override { return {}; }
  void drain() noexcept override {}

 private:
  const ModelMetadata metadata_;
  const Infer infer_;
};

class FunctionModels final : public Models {
 public:
  void add(ModelMetadata metadata, FunctionModel::Infer infer) {
    const std::string name = metadata.name;
    models_[name] = std::make_shared<FunctionModel>(std::move(metadata), std::move(infer));
  }

  std::variant<std::shared_ptr<Model>, RequestError> find(const std::string& name,
                                                          const std::string&) const override {
    const auto found = models_.find(name);
    if (found != models_.end()) return found->second;
    return RequestError{Failure::kNotFound, "there is no model '" + name + "'"};
  }
  std::vector<std::string> versions(const std::string&) const override { return {"1"}; }
  std::vector<ModelStatus> index() const override { return {}; }
  bool is_ready() const override { return true; }
  Result<void> load(const std::string&, const std::optional<std::string>&) override { return {}; }
  Result<void> unload(const std::string& name, bool) override {
    models_.erase(name);
    return {};
  }

 private:
  std::map<std::string, std::shared_ptr<Model>> models_;
};

inline Tensor tensor_with(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(shape);
  std::ranges::copy(values, *tensor.cpu<float>());
  return tensor;
}

inline std::vector<float> values_of(Tensor& tensor) {
  const float* const begin = *tensor.cpu<float>();
  return {begin, begin + tensor.numel()};
}

/// Waits for it.
inline InferAnswer answer_of(Model& model, InferRequest request) {
  std::promise<InferAnswer> promise;
  model.infer(std::move(request),
              [&](InferAnswer answer) { promise.set_value(std::move(answer)); });
  return promise.get_future().get();
}

/// Empty for a response.
inline std::string error_of(const InferAnswer& answer) {
  const auto* const error = std::get_if<RequestError>(&answer);
  return error == nullptr ? "" : error->text;
}

}  // namespace tenon::server
