// Barriers in shared memory (mbarrier), and copies that arrive at them, from memory by TMA and by
// cp.async; of compute capability 9.0.
#pragma once

#include <cuda.h>

#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kWarpgroup = 128;  // threads

__device__ void initialize(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
// When this thread's copies by copy_16 are done.
__device__ void arrive_after_copies(uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__device__ void wait(uint64_t* barrier, uint32_t parity) {
  uint32_t is_done = 0;
  do {
    asm volatile(
        "{.reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;"
        "selp.u32 %0, 1, 0, done;}"
        : "=r"(is_done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  } while (is_done == 0);
}
// The barrier waits for so many bytes, too.
__device__ void expect(uint64_t* barrier, int bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
// The same, and it arrives.
__device__ void arrive_and_expect(uint64_t* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ void copy_bulk(void* to, const void* from, int bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
// A box of a matrix.
__device__ void copy_box(void* to, const CUtensorMap& map, int column, int row, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
// Of a tensor with four axes, innermost first.
__device__ void copy_box(void* to, const CUtensorMap& map, const int (&at)[4], uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, %4, %5}], [%6];" ::"r"(shared_address(to)),
      "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(shared_address(barrier))
      : "memory");
}
// Back into the tensor, as one of the copies that wait_for_stores waits for.
__device__ void store_box(const CUtensorMap& map, const int (&at)[4], const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          &map),
      "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(shared_address(from))
      : "memory");
}
__device__ void end_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until this thread's stores have read shared memory.
__device__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// An element of the windows of neighbouring positions, from that whose window begins at a line and
// a column of an image.
__device__ void copy_im2col(void* to, const CUtensorMap& map, int channel, int column, int line,
                            int image, int window_column, int window_line, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(to)),
      "l"(&map), "r"(channel), "r"(column), "r"(line), "r"(image), "r"(shared_address(barrier)),
      "h"(static_cast<uint16_t>(window_column)), "h"(static_cast<uint16_t>(window_line))
      : "memory");
}
// Counts the stages that a block has used, in the order in which they are loaded.
template <int kStages> class StageCounter {
 public:
  __device__ int stage() const { return static_cast<int>(at_ % kStages); }
  __device__ uint32_t parity() const { return at_ / kStages % 2; }
  __device__ void advance(int count = 1) { at_ += static_cast<uint32_t>(count); }

 private:
  uint32_t at_ = 0;
};

// Of one warpgroup.
__device__ void synchronize_warpgroup(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kWarpgroup) : "memory");
}

}  // namespace
}  // namespace tenon::cuda
