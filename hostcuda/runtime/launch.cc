/// Launches: their errors, their place in a stream, and the order of their blocks.
#include "hostcuda/runtime/launch.h"

#include <tenon/cudart/engine.h>

#include <algorithm>
#include <numeric>

#include "hostcuda/runtime/environment.h"
#include "hostcuda/runtime/kernels.h"
#include "hostcuda/runtime/pool.h"
#include "hostcuda/runtime/worker.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {
namespace {

// A launch of fewer threads is over before another worker would have come.
constexpr std::uint64_t kWorthSharing = 4096;

void release_launch(void* data) {
  auto* const launch = static_cast<Launch*>(data);
  launch->body.destroy(launch->body.object);
  delete launch;
}

void run_launch(void* data) {
  Launch& launch = *static_cast<Launch*>(data);
  launch.begin();
  const std::uint64_t blocks = launch.blocks();
  const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(
      environment().workers(), blocks * launch.threads() / kWorthSharing + 1));
  run_side_by_side(
      static_cast<unsigned>(std::min<std::uint64_t>(workers, blocks)),
      [](void* shared) {
        Launch& launch = *static_cast<Launch*>(shared);
        try {
          Worker::mine().run(launch);
        } catch (...) {  // no memory for a stack
          launch.fail(cudaErrorMemoryAllocation);
        }
      },
      &launch);
  if (launch.error() != cudaSuccess) cudart::report_failure(launch.error());
}

// What is wrong with a launch, in words; success when nothing is.
cudaError_t check(const Launch& launch, const char** why) {
  const dim3 grid = launch.grid, block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const Kernel& kernel = *launch.body.kernel;
  if (threads == 0) return *why = "the block has no threads", cudaErrorInvalidConfiguration;
  if (launch.blocks() == 0) return *why = "the grid has no blocks", cudaErrorInvalidConfiguration;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
    return *why = "a block has at most 1024 threads, and 64 along z", cudaErrorInvalidConfiguration;
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return *why = "a grid has at most 65535 blocks along y and z", cudaErrorInvalidConfiguration;
  if (kernel.most_threads > 0 && threads > kernel.most_threads)
    return *why = "the block has more threads than __launch_bounds__ promises",
           cudaErrorLaunchOutOfResources;
  if (launch.dynamic_bytes > kernel.most_dynamic_bytes)
    return *why =
               "it wants more dynamic shared memory than the kernel may have: 48 KiB, or what "
               "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) said",
           cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace

void Launch::fail(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  error_.compare_exchange_strong(none, error);
}

void Launch::begin() {
  taken_ = 0;
  error_ = cudaSuccess;
  if (environment().order != Order::kRandom) return;
  // Block i * step + offset, where the step has no factor in common with the number of blocks.
  step_ = environment().seed % 7919 * 2 + 1;
  while (std::gcd(step_, blocks()) != 1) ++step_;
  offset_ = environment().seed * 48271 % blocks();
}

bool Launch::take_block(uint3& index) {
  if (error_ != cudaSuccess) return false;
  std::uint64_t number = taken_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t count = blocks();
  if (number >= count) return false;
  if (environment().order == Order::kReverse) number = count - 1 - number;
  if (environment().order == Order::kRandom)
    number = (number % count * (step_ % count) + offset_) % count;
  index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
           static_cast<unsigned>(number / (std::uint64_t{grid.x} * grid.y))};
  return true;
}

cudaError_t launch(const Recorded& body, Site site, dim3 grid, dim3 block, std::size_t shared_bytes,
                   cudaStream_t stream) {
  auto* const launch = new Launch;
  launch->body = body;
  launch->site = site;
  launch->grid = grid;
  launch->block = block;
  launch->dynamic_bytes = shared_bytes;
  const char* why = "";
  cudaError_t error = check(*launch, &why);
  if (error != cudaSuccess) {
    report(
        "%s:%d: kernel %s is not launched with grid (%u, %u, %u), block (%u, %u, %u) and %zu "
        "bytes of shared memory: %s (%s)",
        site.file, site.line, body.kernel->name, grid.x, grid.y, grid.z, block.x, block.y, block.z,
        shared_bytes, why, cudaGetErrorName(error));
    cudart::keep_error(error);
  } else if (is_in_kernel()) {
    report("%s:%d: kernel %s is launched by a kernel, which is not supported yet", site.file,
           site.line, body.kernel->name);
    Worker::mine().fail(cudaErrorNotSupported);
  } else if (cudart::on_gpu()) {
    report(
        "%s:%d: kernel %s is compiled for the CPU, and this process's CUDA memory is on a GPU: "
        "set TENON_TARGET=cpu",
        site.file, site.line, body.kernel->name);
    error = cudaErrorNoKernelImageForDevice;
  } else {
    error = cudart::enqueue(stream, &run_launch, launch, &release_launch);
  }
  if (error != cudaSuccess) release_launch(launch);
  return error;
}

}  // namespace tenon::hostcuda
