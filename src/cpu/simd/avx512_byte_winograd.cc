// Winograd's filtering in integers with AVX-512.
#if defined(__x86_64__)
#include "cpu/simd/avx512_byte_epilogue.h"

namespace tenon::cpu {
using namespace avx512::bytes;
}

#include "cpu/simd/byte_winograd_inl.h"

namespace tenon::cpu {

const ByteWinograd avx512::kByteWinograd[2] = {form<Two>(), form<Four>()};

}  // namespace tenon::cpu
#endif
