// IAlgorithmSelector: an application chooses the kernels of a build.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <vector>

#include "plan/kernel_selector.h"

namespace tenon {

class AlgorithmContext;
class Algorithm;

/// Passes the kernels of each layer on to the application, which outlives it.
class AlgorithmSelection final : public KernelSelector {
 public:
  /// @param reject_empty it is an error when the application selects nothing; else the fastest is
  ///     taken then.
  AlgorithmSelection(nvinfer1::IAlgorithmSelector& selector, bool reject_empty);
  ~AlgorithmSelection() override;

  size_t select(const SelectedLayer& layer, std::span<const KernelChoice> choices) override;
  /// Tells the application what was taken, once all layers have a kernel.
  void report() const;

 private:
  nvinfer1::IAlgorithmSelector& selector_;
  bool reject_empty_;
  std::vector<std::unique_ptr<AlgorithmContext>> contexts_;
  std::vector<std::unique_ptr<Algorithm>> taken_;
};

}  // namespace tenon
