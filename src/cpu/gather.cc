// Gather without a copy of the indices: rows, single elements, and tuples of indices.
#include "ops/gather.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/words.h"

namespace tenon::cpu {
namespace {

using nvinfer1::GatherMode;

constexpr int64_t kBytesPerTask = 65536;

inline int64_t in_range(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    fail(ErrorCode::kINVALID_ARGUMENT, "index {} is outside [{}, {})", index, -extent, extent);
  return index < 0 ? index + extent : index;
}

// Copies block source(i) to block i.
template <class T, class Source>
void copy_elements(const void* from, void* to, int64_t begin, int64_t end, const Source& source) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<T*>(to)[i] = static_cast<const T*>(from)[source(i)];
}

template <class Source>
void copy_blocks(const RunArguments& arguments, int64_t count, int64_t bytes,
                 const Source& source) {
  const void* from = arguments.inputs[0];
  void* to = arguments.outputs[0];
  if (bytes == 0) return;
  parallel_for(count, std::max<int64_t>(1, kBytesPerTask / bytes), [&](int64_t begin, int64_t end) {
    const bool copied = with_word(
        bytes, [&](auto zero) { copy_elements<decltype(zero)>(from, to, begin, end, source); });
    if (copied) return;
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(static_cast<std::byte*>(to) + i * bytes,
                  static_cast<const std::byte*>(from) + source(i) * bytes,
                  static_cast<size_t>(bytes));
  });
}

class GatherExecution final : public Execution {
 public:
  GatherExecution(const Gather& op, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : mode_(op.mode),
        batch_(op.batch_axes),
        axis_(op.mode == GatherMode::kND ? 0 : normalized_axis(op.axis, inputs[0].shape.rank())),
        data_(inputs[0].shape),
        indices_(inputs[1].shape),
        out_(output.shape),
        bytes_(static_cast<int64_t>(bytes_of(inputs[0].type, 1))),
        is_wide_(inputs[1].type == DataType::kINT64) {
    if (mode_ == GatherMode::kELEMENT) {
      require(out_ == indices_, "indices of {} do not give {}", indices_, out_);
      for (int k = 0; k < out_.rank(); ++k)
        require(k == axis_ || out_[k] <= data_[k], "axis {}: expected at most {} indices, found {}",
                k, data_[k], out_[k]);
    } else {
      require(data_.volume(0, batch_) == indices_.volume(0, batch_),
              "batch axes of {} and {} differ", data_, indices_);
    }
  }

  void run(const RunArguments& arguments) override {
    if (out_.volume() == 0) return;
    if (is_wide_)
      run_with(arguments, static_cast<const int64_t*>(arguments.inputs[1]));
    else
      run_with(arguments, static_cast<const int32_t*>(arguments.inputs[1]));
  }

 private:
  template <class Index> void run_with(const RunArguments& arguments, const Index* index) const {
    switch (mode_) {
      case GatherMode::kDEFAULT:
        return gather_default(arguments, index);
      case GatherMode::kELEMENT:
        return gather_elements(arguments, index);
      case GatherMode::kND:
        return gather_nd(arguments, index);
    }
  }

  template <class Index>
  void gather_default(const RunArguments& arguments, const Index* index) const {
    const int64_t outer = data_.volume(0, axis_), extent = data_[axis_];
    const int64_t picked = indices_.volume(batch_, indices_.rank());
    const int64_t outer_per_batch = outer / std::max<int64_t>(data_.volume(0, batch_), 1);
    const int64_t bytes = data_.volume(axis_ + 1, data_.rank()) * bytes_;
    if (outer == 1)
      return copy_blocks(arguments, picked, bytes,
                         [&](int64_t i) { return in_range(index[i], extent); });
    copy_blocks(arguments, outer * picked, bytes, [&](int64_t i) {
      const int64_t o = i / picked;
      const int64_t at = o / outer_per_batch * picked + i % picked;
      return o * extent + in_range(index[at], extent);
    });
  }

  template <class Index>
  void gather_elements(const RunArguments& arguments, const Index* index) const {
    const Shape steps = data_.strides();
    const int last = out_.rank() - 1;
    const int64_t extent = data_[axis_], step = steps[axis_];
    const int64_t inner_step = last == axis_ ? 0 : 1, length = last < 0 ? 1 : out_[last];
    // Where the row begins, the gathered axis apart; rows are found once each.
    const auto row_base = [&](int64_t row) {
      int64_t from = 0;
      for (int k = last - 1; k >= 0; --k) {
        if (k != axis_) from += row % out_[k] * steps[k];
        row /= out_[k];
      }
      return from;
    };
    const int64_t rows = out_.volume() / length;
    const int64_t grain = std::max<int64_t>(1, kBytesPerTask / (length * bytes_));
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t base = row_base(row);
        const Index* at = index + row * length;
        const auto copy = [&](auto zero) {
          using T = decltype(zero);
          const auto* from = static_cast<const T*>(arguments.inputs[0]) + base;
          T* to = static_cast<T*>(arguments.outputs[0]) + row * length;
          for (int64_t i = 0; i < length; ++i)
            to[i] = from[in_range(at[i], extent) * step + i * inner_step];
        };
        with_bytes(copy);
      }
    });
  }

  template <class Body> void with_bytes(const Body& body) const {
    switch (bytes_) {
      case 1:
        return body(uint8_t{});
      case 2:
        return body(uint16_t{});
      case 4:
        return body(uint32_t{});
      default:
        return body(uint64_t{});
    }
  }

  template <class Index> void gather_nd(const RunArguments& arguments, const Index* index) const {
    const int64_t width = indices_.back(), tuples = indices_.volume(0, indices_.rank() - 1);
    const int end = batch_ + static_cast<int>(width);
    const int64_t per_batch = tuples / std::max<int64_t>(data_.volume(0, batch_), 1);
    copy_blocks(arguments, tuples, data_.volume(end, data_.rank()) * bytes_, [&](int64_t i) {
      int64_t from = i / per_batch;
      for (int k = batch_; k < end; ++k)
        from = from * data_[k] + in_range(index[i * width + k - batch_], data_[k]);
      return from;
    });
  }

  GatherMode mode_;
  int batch_, axis_;
  Shape data_, indices_, out_;
  int64_t bytes_;
  bool is_wide_;
};

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const Gather& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<GatherExecution>(op_, inputs, outputs[0]);
  }

 private:
  Gather op_;
};

}  // namespace

Offer offer_gather(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  const DataType index = request.inputs[1].type;
  if (index != DataType::kINT32 && index != DataType::kINT64)
    return "indices are expected as int32 or int64";
  return std::make_unique<GatherKernel>(static_cast<const Gather&>(request.op));
}

}  // namespace tenon::cpu
