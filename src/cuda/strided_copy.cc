#include "cuda/strided_copy.h"

#include "base/cuda_stream.h"
#include "common/coalesced_axes.h"
#include "cuda/check.h"
#include "cuda/cuda_target.h"

namespace tenon::cuda {
namespace {

constexpr int64_t kMinTransposed = 16;  // shorter runs are read as they come

// Where the last axis is a run, its elements move in words that fit all that is added to addresses.
void widen(WordCopy& copy) {
  const int last = copy.axes - 1;
  const int64_t run = copy.extents[last] * copy.word;
  uint64_t distances = address_of(copy.source) | address_of(copy.target);
  for (int axis = 0; axis < last; ++axis) distances |= static_cast<uint64_t>(copy.strides[axis]);
  copy.word = common_word(distances, run);
  copy.extents[last] = run / copy.word;
  copy.strides[last] = copy.word;
}

}  // namespace

StridedCopy::StridedCopy(const Shape& out, const Shape& strides, int64_t bytes) : bytes_(bytes) {
  const CoalescedAxes axes = coalesced_axes(out, strides, bytes);
  extents_ = axes.extents;
  strides_ = axes.strides;
}

void StridedCopy::run(const void* source, void* target, cudaStream_t stream) const {
  if (extents_.volume() == 0) return;
  WordCopy copy{source, target, bytes_, extents_.rank(), {}, {}};
  std::copy(extents_.begin(), extents_.end(), copy.extents);
  std::copy(strides_.begin(), strides_.end(), copy.strides);
  int last = copy.axes - 1;
  if (copy.strides[last] == bytes_) {
    if (last == 0)
      return cuda_device().copy(target, source, static_cast<size_t>(copy.extents[0] * bytes_),
                                from_cuda(stream));
    widen(copy);
    if (copy.extents[last] == 1) copy.axes = last--;
  }
  int transposed = -1;
  if (copy.strides[last] != copy.word && copy.extents[last] >= kMinTransposed)
    for (int axis = 0; axis < last; ++axis)
      if (copy.strides[axis] == copy.word && copy.extents[axis] >= kMinTransposed)
        transposed = axis;
  if (transposed >= 0)
    launch_transposition(copy, transposed, stream);
  else
    launch_copy(copy, stream);
  check_launch("a strided copy");
}

SampledCopy::SampledCopy(const Shape& in, const Shape& out, const Shape& start, const Shape& step,
                         Outside outside, int64_t bytes)
    : outside_(outside) {
  const Shape strides = in.strides();
  copy_.word = bytes;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const bool is_whole =
        in[axis] == out[axis] && start[axis] == 0 && (step[axis] == 1 || out[axis] == 1);
    // Neighbouring axes that are copied whole are one.
    if (is_whole && ends_whole_) {
      copy_.extents[copy_.axes - 1] *= out[axis];
      copy_.strides[copy_.axes - 1] = strides[axis] * bytes;
      continue;
    }
    copy_.extents[copy_.axes] = out[axis];
    copy_.strides[copy_.axes] = strides[axis] * bytes;
    axes_[copy_.axes++] = {start[axis], step[axis], in[axis], is_whole};
    ends_whole_ = is_whole;
  }
  if (copy_.axes > 0) return;
  copy_.extents[0] = 1;
  axes_[copy_.axes++] = {0, 1, 1, true};
}

void SampledCopy::run(const void* source, const void* fill, void* target,
                      cudaStream_t stream) const {
  WordCopy copy = copy_;
  for (int axis = 0; axis < copy.axes; ++axis)
    if (copy.extents[axis] == 0) return;
  copy.source = source;
  copy.target = target;
  if (ends_whole_ && fill == nullptr) widen(copy);
  launch_sampled_copy(copy, axes_, outside_, fill, stream);
  check_launch("a sampled copy");
}

}  // namespace tenon::cuda
