// Winograd's filtering in integers with AVX2.
#if defined(__x86_64__)
#include "cpu/simd/avx2_byte_epilogue.h"

namespace tenon::cpu {
using namespace avx2::bytes;
}

#include "cpu/simd/byte_winograd_inl.h"

namespace tenon::cpu {

const ByteWinograd avx2::kByteWinograd[2] = {form<Two>(), form<Four>()};

}  // namespace tenon::cpu
#endif
