// The products by wgmma, whose operands are read from shared memory by a group of four warps.
#include "cuda/integer_gemm.cuh"

namespace tenon::cuda {
namespace {

constexpr int kDepth = 128;  // bytes of a row that are multiplied at a time: those of a swizzle
constexpr int kStep = 32;    // of which an instruction multiplies so many
constexpr int kWarpgroup = 128;

// Where a matrix of rows of 128 swizzled bytes lies: its address, the bytes between groups of eight
// rows, and the kind of swizzle.
__device__ uint64_t describe(const uint8_t* matrix) {
  constexpr uint64_t kEightRows = 8 * kDepth >> 4, kSwizzle128 = 1;
  return (shared_address(matrix) >> 4 & 0x3fff) | uint64_t{1} << 16 | kEightRows << 32
         | kSwizzle128 << 62;
}

__device__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending> __device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// What was copied into shared memory is seen by wgmma.
__device__ void publish_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#define TENON_SUMS_8(c, i)                                                         \
  "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3]), "+r"(c[(i) + 1][0]), \
      "+r"(c[(i) + 1][1]), "+r"(c[(i) + 1][2]), "+r"(c[(i) + 1][3])
#define TENON_SUMS_32(c, i) \
  TENON_SUMS_8(c, i), TENON_SUMS_8(c, (i) + 2), TENON_SUMS_8(c, (i) + 4), TENON_SUMS_8(c, (i) + 6)
#define TENON_REGISTERS_32                                                                         \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31"
#define TENON_REGISTERS_64                                                                        \
  TENON_REGISTERS_32                                                                              \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54," \
  "%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define TENON_REGISTERS_128                                                                       \
  TENON_REGISTERS_64                                                                              \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86," \
  "%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,"  \
  "%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%"   \
  "126,"                                                                                          \
  "%127"

// c (64, columns) += a (64, 32) b (columns, 32)^T; sums wrap.
template <class Data> __device__ void multiply_add(int32_t (&c)[8][4], uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<Data>)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" TENON_REGISTERS_32
                 "}, %32, %33, 1;"
                 : TENON_SUMS_32(c, 0)
                 : "l"(a), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8 {" TENON_REGISTERS_32
                 "}, %32, %33, 1;"
                 : TENON_SUMS_32(c, 0)
                 : "l"(a), "l"(b));
}
template <class Data> __device__ void multiply_add(int32_t (&c)[16][4], uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<Data>)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" TENON_REGISTERS_64
                 "}, %64, %65, 1;"
                 : TENON_SUMS_32(c, 0), TENON_SUMS_32(c, 8)
                 : "l"(a), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.s8 {" TENON_REGISTERS_64
                 "}, %64, %65, 1;"
                 : TENON_SUMS_32(c, 0), TENON_SUMS_32(c, 8)
                 : "l"(a), "l"(b));
}
template <class Data> __device__ void multiply_add(int32_t (&c)[32][4], uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<Data>)
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" TENON_REGISTERS_128
                 "}, %128, %129, 1;"
                 : TENON_SUMS_32(c, 0), TENON_SUMS_32(c, 8), TENON_SUMS_32(c, 16),
                   TENON_SUMS_32(c, 24)
                 : "l"(a), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.u8.s8 {" TENON_REGISTERS_128
                 "}, %128, %129, 1;"
                 : TENON_SUMS_32(c, 0), TENON_SUMS_32(c, 8), TENON_SUMS_32(c, 16),
                   TENON_SUMS_32(c, 24)
                 : "l"(a), "l"(b));
}

// Of shared memory for tiles, and then for their sums.
template <int kRows, int kColumns, int kStages> constexpr int work_bytes() {
  constexpr int kTiles = kStages * (kRows + kColumns) * kDepth;
  constexpr int kSums = 2 * kWarpgroup / 32 * sums_bytes(kRows / 128, kColumns / 8);
  return kTiles > kSums ? kTiles : kSums;
}

// Two groups of warps, each of half the rows. A tile is loaded while two are multiplied: the one
// that it replaces was multiplied before those.
template <class Data, int kRows, int kColumns, int kStages, bool kAlongLines>
__global__ void __launch_bounds__(2 * kWarpgroup, kColumns <= 64 ? 2 : 1)
    multiply(IntegerGemm p, Dividers dividers, int64_t rows, unsigned column_tiles) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kThreads = 2 * kWarpgroup, kBlocks = kRows / 128;  // of 64 rows in a group
  constexpr int kStageBytes = (kRows + kColumns) * kDepth;
  constexpr int kWorkBytes = work_bytes<kRows, kColumns, kStages>();
  extern __shared__ __align__(1024) uint8_t shared[];
  const int64_t first_row = int64_t{blockIdx.x / column_tiles} * kRows;
  const int first_column = static_cast<int>(blockIdx.x % column_tiles) * kColumns;
  const int row_bytes = p.row_bytes();
  const int steps = row_bytes / kDepth;
  DataLoader<kRows, kThreads, kDepth, kAlongLines> data(p, dividers, first_row, rows);
  const auto load_step = [&](int step) {
    if (step < steps) {
      uint8_t* stage = shared + step % kStages * kStageBytes;
      data.load(stage);
      load_weights<kColumns, kThreads, kDepth>(p, first_column, step * kDepth, row_bytes,
                                               stage + kRows * kDepth);
    }
    end_group();
  };

  const int group = static_cast<int>(threadIdx.x) / kWarpgroup;
  WarpSums<kBlocks, kColumns / 8> sums = {};
  const AddendTile<kRows, kColumns, kThreads> addend{shared + kWorkBytes};
  if (addend.is_used(p)) addend.load(p, first_row, rows, first_column);
  for (int step = 0; step < kStages - 2; ++step) load_step(step);
  for (int step = 0; step < steps; ++step) {
    wait_for_groups<kStages - 3>();
    publish_copies();
    __syncthreads();
    const uint8_t* stage = shared + step % kStages * kStageBytes;
    begin_products();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const uint64_t a = describe(stage + (group * kBlocks + block) * 64 * kDepth);
      const uint64_t b = describe(stage + kRows * kDepth);
#pragma unroll
      for (int part = 0; part < kDepth / kStep; ++part)
        multiply_add<Data>(sums[block], a + (part * kStep >> 4), b + (part * kStep >> 4));
    }
    end_products();
    load_step(step + kStages - 2);
    wait_for_products<1>();
  }
  wait_for_products<0>();
  wait_for_groups<0>();

  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  store_sums(
      p, sums, {first_row, rows, first_column}, 0,
      [&](int block) { return (group * kBlocks + block) * 64 + warp % 4 * 16; }, addend,
      shared + warp * sums_bytes(kBlocks, kColumns / 8));
#endif
}

template <class Data, int kRows, int kColumns, int kStages>
void launch(const IntegerGemm& p, cudaStream_t stream) {
  constexpr int kWorkBytes = work_bytes<kRows, kColumns, kStages>();
  launch_tiles<kRows, kColumns, 2 * kWarpgroup, kWorkBytes>(
      p,
      p.channels % kChunk == 0 ? multiply<Data, kRows, kColumns, kStages, false>
                               : multiply<Data, kRows, kColumns, kStages, true>,
      stream);
}

template <class Data> void launch(const IntegerGemm& p, cudaStream_t stream) {
  switch (p.tile) {
    case IntegerGemm::Tile::kWarpgroups256x128:
      return launch<Data, 256, 128, 4>(p, stream);
    case IntegerGemm::Tile::kWarpgroups128x256:
      return launch<Data, 128, 256, 4>(p, stream);
    case IntegerGemm::Tile::kWarpgroups128x128:
      return launch<Data, 128, 128, 4>(p, stream);
    default:
      return launch<Data, 128, 64, 4>(p, stream);
  }
}

}  // namespace

void launch_integer_gemm_of_warpgroups(const IntegerGemm& p, cudaStream_t stream) {
  if (p.data_is_signed)
    launch<int8_t>(p, stream);
  else
    launch<uint8_t>(p, stream);
}

}  // namespace tenon::cuda
