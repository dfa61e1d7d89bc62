#include "tenon/session/context.h"

#include <algorithm>

#include "guard.h"
#include "tenon/session/shape.h"

namespace tenon::session {

using nvinfer1::Dims;

Result<std::unique_ptr<Context>> Context::make(
    nvinfer1::ICudaEngine& engine, int32_t profile, cudaStream_t stream, ErrorLog* log,
    nvinfer1::ExecutionContextAllocationStrategy strategy) noexcept {
  return guard([&] {
    const int32_t count = engine.getNbOptimizationProfiles();
    if (profile < 0 || profile >= count)
      throw Error{"there is no profile " + std::to_string(profile) + ": the engine has "
                  + std::to_string(count) + ", numbered from 0"};
    std::unique_ptr<Context> context(new Context(engine, profile, log));
    context->context_.reset(engine.createExecutionContext(strategy));
    if (context->context_ == nullptr) throw context->failure("cannot make an execution context");
    if (context->get().getOptimizationProfile() != profile
        && !context->get().setOptimizationProfileAsync(profile, stream))
      throw context->failure("cannot set the optimization profile");
    context->tensors_ = tensors_of(engine, profile);
    for (const Tensor& tensor : context->tensors_)
      context->numbers_.emplace(tensor.name, static_cast<int>(context->numbers_.size()));
    context->shapes_.resize(context->tensors_.size(), Dims{-1, {}});
    context->addresses_.resize(context->tensors_.size());
    context->is_data_dependent_.resize(context->tensors_.size());
    return context;
  });
}

Error Context::failure(std::string otherwise) const {
  return log_ != nullptr ? log_->failure(std::move(otherwise)) : Error{std::move(otherwise)};
}

int Context::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? -1 : found->second;
}

bool Context::has_shape(size_t i, const Dims& shape) const {
  const Dims& own = shapes_[i];
  return own.nbDims >= 0 && own.nbDims == shape.nbDims
         && std::equal(own.d, own.d + own.nbDims, shape.d);
}

Result<void> Context::set_shape(size_t i, const Dims& shape) noexcept {
  return guard([&] {
    if (has_shape(i, shape)) return;
    shapes_[i].nbDims = -1;  // unknown if the call fails
    if (!context_->setInputShape(tensors_[i].name.c_str(), shape))
      throw failure(tensors_[i].label() + " cannot have shape " + shape_text(to_shape(shape)));
    shapes_[i] = shape;
  });
}

Result<Shape> Context::known_shape(size_t i) const noexcept {
  return guard([&] {
    const Dims found = shape(i);
    if (found.nbDims < 0) throw failure(tensors_[i].label() + ": its shape is not known");
    return to_shape(found);
  });
}

bool Context::is_data_dependent(size_t i) {
  if (!is_known(shape(i))) is_data_dependent_[i] = true;
  return is_data_dependent_[i];
}

Result<void> Context::set_address(size_t i, void* data) noexcept {
  return guard([&] {
    // The values behind an address that decides shapes may be others.
    if (data == addresses_[i] && !tensors_[i].decides_shapes) return;
    addresses_[i] = nullptr;
    if (!context_->setTensorAddress(tensors_[i].name.c_str(), data))
      throw failure(tensors_[i].label() + " cannot lie at its address");
    addresses_[i] = data;
  });
}

Result<void> Context::set_output(size_t i, nvinfer1::IOutputAllocator* output) noexcept {
  return guard([&] {
    if (!context_->setOutputAllocator(tensors_[i].name.c_str(), output))
      throw failure(tensors_[i].label() + " cannot get its memory from an allocator");
  });
}

}  // namespace tenon::session
