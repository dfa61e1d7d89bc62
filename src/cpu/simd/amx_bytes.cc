// Products of bytes with AMX's tiles.
#if defined(__x86_64__)
#include <algorithm>

#include "cpu/simd/avx512_byte_epilogue.h"
#include "cpu/simd/byte_segments.h"
#include "cpu/simd/tile_configuration.h"

namespace tenon::cpu {

using namespace avx512::bytes;

namespace {

constexpr int64_t kTile = avx512::kTilePixels;  // rows of a tile, and its columns of 32 bits
constexpr int64_t kGroupBytes = kPanelChannels * kDotGroupBytes;  // of a panel's dot group

// Tiles 0 to 3 hold sums, segment by segment, 4 and 5 data, 6 and 7 weights of so many dot groups.
TileConfiguration configuration_of(int64_t groups) {
  TileConfiguration c;
  for (int i = 0; i < 8; ++i) {
    const bool is_data = i == 4 || i == 5;
    c.row_bytes[i] = static_cast<uint16_t>((is_data ? groups : kTile) * kDotGroupBytes);
    c.rows[i] = static_cast<uint8_t>(i < 6 ? kTile : groups);
  }
  return c;
}

// The most dot groups of a tile into which a run divides.
int64_t groups_of(int64_t steps) {
  int64_t groups = std::min(steps, kTile);
  while (groups > 1 && steps % groups != 0) --groups;
  return groups;
}

// Bytes that will be wanted, so many lines of them with each tile.
struct Ahead {
  const int8_t* next;
  int64_t lines;
};

template <int S>
[[gnu::always_inline]] inline void add_tiles(const uint8_t* const (&x)[S], int64_t pixel_step,
                                             const int8_t* weights) {
  _tile_loadd(6, weights, kGroupBytes);
  _tile_loadd(7, weights + kGroupBytes / 2, kGroupBytes);
  _tile_loadd(4, x[0], pixel_step);
  _tile_dpbusd(0, 4, 6);
  _tile_dpbusd(1, 4, 7);
  if constexpr (S == 2) {
    _tile_loadd(5, x[1], pixel_step);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

template <int S, class Epilogue>
void store_tiles(const Segment (&segments)[S], const Epilogue& epilogue, int64_t out_step) {
  alignas(64) int32_t sums[2 * S][kTile * kTile];
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  if constexpr (S == 2) {
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
  }
  const auto load = [&](int s, int64_t p, Sums& to) {
    for (int v = 0; v < kVectors; ++v) to[v] = _mm512_load_si512(sums[2 * s + v] + p * kTile);
  };
  for (int s = 0; s < S; ++s) {
    const Segment& segment = segments[s];
    int64_t p = 0;
    for (; p + 2 <= segment.pixels; p += 2) {
      Sums two[2];
      load(s, p, two[0]);
      load(s, p + 1, two[1]);
      const int64_t at[] = {segment.out + p * out_step, segment.out + (p + 1) * out_step};
      store<2>(epilogue, two, at);
    }
    if (p == segment.pixels) continue;
    Sums one[1];
    load(s, p, one[0]);
    const int64_t at = segment.out + p * out_step;
    store<1>(epilogue, one, &at);
  }
}

// S segments of up to kTile pixels.
template <int S, class Epilogue>
void product_of(const Segment (&segments)[S], const ByteWindows& w, int64_t groups,
                const int8_t* panel, const Epilogue& epilogue, int64_t out_step, Ahead& ahead) {
  for (const Segment& segment : segments)
    for (int64_t p = 0; p < segment.pixels; ++p) epilogue.prefetch(segment.out + p * out_step);
  // Each pixel's sums begin with what is added.
  alignas(64) int32_t add[kVectors][kTile];
  for (int v = 0; v < kVectors; ++v) _mm512_store_si512(add[v], epilogue.add[v]);
  _tile_loadd(0, add[0], 0);
  _tile_loadd(1, add[1], 0);
  if constexpr (S == 2) {
    _tile_loadd(2, add[0], 0);
    _tile_loadd(3, add[1], 0);
  }
  for (int64_t run = 0; run < w.runs; ++run) {
    const uint8_t* x[S];
    for (int s = 0; s < S; ++s) x[s] = segments[s].first + run * w.run_step;
    for (int64_t k = 0; k < w.steps; k += groups, panel += groups * kGroupBytes) {
      add_tiles<S>(x, w.pixel_step, panel);
      for (int64_t i = 0; i < ahead.lines; ++i, ahead.next += 64)
        _mm_prefetch(ahead.next, _MM_HINT_T1);  // no address is wrong
      for (int s = 0; s < S; ++s) x[s] += groups * kDotGroupBytes;
    }
  }
  store_tiles<S>(segments, epilogue, out_step);
}

template <class Epilogue>
void product_with(const Epilogue& epilogue, const ByteWindows& w, int64_t groups,
                  const BytePanel& panel, ByteResultSteps out_steps) {
  // The next panel, spread over all tiles of this one.
  const int64_t pairs = (w.rows * ((w.pixels + kTile - 1) / kTile) + 1) / 2;
  const int64_t tiles = pairs * w.runs * (w.steps / groups);
  Ahead ahead = {panel.weights + panel.bytes, (panel.bytes / 64 + tiles - 1) / tiles};
  for_segments<kTile>(w, out_steps, 0, w.pixels, [&](const auto& segments) {
    product_of(segments, w, groups, panel.weights, epilogue, out_steps.pixel, ahead);
  });
}

}  // namespace

void avx512::product_by_tiles(const ByteWindows& windows, const BytePanel& panel,
                              const ByteResult& result, int64_t output_channels, void* out,
                              ByteResultSteps out_steps) {
  // A tile takes as long whatever it holds.
  constexpr int64_t kFewProducts = 32;
  const int64_t groups = groups_of(windows.steps);
  if (std::min(windows.pixels, kTile) * groups < kFewProducts)
    return kInt8ByteProducts.product(windows, panel, result, output_channels, out, out_steps);
  const TileConfiguration configuration = configuration_of(groups);
  _tile_loadconfig(&configuration);
  with_epilogue(result, output_channels, out, [&](const auto& epilogue) {
    product_with(epilogue, windows, groups, panel, out_steps);
  });
  _tile_release();
}

}  // namespace tenon::cpu
#endif
