#include "cpu/convolution/winograd_split.h"

#include <limits>

#include "cpu/blocks.h"

namespace tenon::cpu {
namespace {

/// Products that take as long as a float that comes from memory, as all weights do once.
constexpr double kProductsPerColdFloat = 16;
/// And as one that goes to the third-level cache or comes from there.
constexpr double kProductsPerFloat = 8;
/// Scratch memory of a task, in floats, unless even the smallest block wants more.
constexpr int64_t kMaxFloats = 4 << 20;

// Of the thread that has most to do.
double time_of(const WinogradForm& form, const WinogradSplit& split, const Machine& machine) {
  const int64_t vectors = std::min(split.per_slice, form.padded(form.output_channels) / form.lanes);
  const auto weights = static_cast<double>(form.plane_start(form.planes()) * form.lanes * vectors);
  const int64_t data = form.planes() * form.depth() * split.block;
  const int64_t products = form.planes() * form.lanes * split.block;
  auto moved = static_cast<double>(data);
  if ((data + products * split.kept_vectors) * int64_t{sizeof(float)} > machine.near_bytes())
    moved +=
        static_cast<double>(data * units(vectors, split.kept_vectors) + 2 * products * vectors);
  const double multiplied = weights * static_cast<double>(split.block);
  // A thread takes tasks one after another, block by block of a slice of output channels: the first
  // of a slice brings its weights from memory.
  const int64_t tasks = units(split.blocks * split.slices, machine.threads);
  const auto cold = static_cast<double>(units(tasks, std::max<int64_t>(split.blocks, 1)));
  return cold * std::max(multiplied, weights * kProductsPerColdFloat)
         + (static_cast<double>(tasks) - cold) * std::max(multiplied, weights * kProductsPerFloat)
         + static_cast<double>(tasks) * moved * kProductsPerFloat;
}

}  // namespace

WinogradSplit split_winograd(const WinogradForm& form, int64_t tiles, const Machine& machine) {
  const int64_t threads = machine.threads;
  const int64_t vectors = form.padded(form.output_channels) / form.lanes;
  constexpr int64_t kPair = WinogradForm::kPair;
  WinogradSplit best;
  best.per_group = simd_kernels().winograd.max_sums / std::min(vectors, kPair);
  best.time = std::numeric_limits<double>::infinity();
  // Up to one block of all tiles.
  for (int64_t groups = 1; groups == 1 || groups / 2 * best.per_group < tiles; groups *= 2)
    for (int64_t slices = 1; slices <= std::min(threads, units(vectors, kPair)); ++slices)
      for (int64_t kept = kPair; kept == kPair || kept < 2 * vectors; kept *= 2) {
        WinogradSplit split = best;
        // Blocks of equal size, and as many for each thread.
        split.blocks = units(tiles, groups * best.per_group);
        if (split.blocks > threads) split.blocks = units(split.blocks, threads) * threads;
        split.block = std::max<int64_t>(units(tiles, std::max<int64_t>(split.blocks, 1)), 1);
        split.blocks = units(tiles, split.block);
        split.per_slice = units(units(vectors, slices), kPair) * kPair;
        split.slices = units(vectors, split.per_slice);
        split.kept_vectors = std::min(kept, split.per_slice);
        const int64_t floats =
            form.planes() * split.block * (form.depth() + split.kept_vectors * form.lanes);
        split.time = time_of(form, split, machine);
        if (split.time < best.time && (groups == 1 || floats <= kMaxFloats)) best = split;
      }
  return best;
}

}  // namespace tenon::cpu
