// Plugins on a GPU: CUDA's own runtime replaces ours in the process that checks them.
#pragma once

#include <memory>
#include <string>

namespace tenon::check {

/// The file of CUDA's runtime that `name` stands for, found as the dynamic linker finds libraries.
/// A process that is started with it preloaded calls it, and so do the plugins there. Throws
/// Failure when it cannot be loaded.
std::string find_cuda_runtime(const std::string& name);

/// From now on plugins run on the GPU. Throws Failure unless this process was started with
/// `runtime` preloaded, and there is a GPU.
void use_gpu(const std::string& runtime);

/// Whether use_gpu() was called.
bool on_gpu();

/// What IPluginV2Ext::attachToContext() gets on a GPU: a new handle of cuDNN or cuBLAS. Null on the
/// CPU, and where the library is not found.
std::shared_ptr<void> make_cudnn_handle();
std::shared_ptr<void> make_cublas_handle();

}  // namespace tenon::check
