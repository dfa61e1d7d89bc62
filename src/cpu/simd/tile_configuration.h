// What AMX's tiles are to be, as its instruction reads it.
#pragma once

#include <cstdint>

namespace tenon::cpu {
namespace {

struct TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

}  // namespace
}  // namespace tenon::cpu
