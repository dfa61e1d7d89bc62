#include "cpu/partition.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "backend/host_caches.h"
#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kKiB = 1024;

Machine machine_of(int64_t threads, int64_t second_level = 512 * kKiB) {
  return {.first_level = 32 * kKiB, .second_level = second_level, .threads = threads};
}

// Rows of a matrix, 14 in a block, times one of `columns` columns, in panels of two vectors of 16.
Work product(int64_t rows, int64_t depth, int64_t columns) {
  return {.blocks = units(rows, 14),
          .columns = units(columns, 16),
          .panel = 2,
          .products = 14. * 32 * static_cast<double>(depth),
          .block_bytes = 14 * depth * 4,
          .panel_bytes = 32 * depth * 4};
}

// Whatever the sizes are.
TEST(PartitionTest, EachBlockAndColumnIsInOneTask) {
  for (const int64_t images : {1, 3})
    for (const int64_t blocks : {1, 2, 7, 200})
      for (const int64_t columns : {1, 2, 5, 64})
        for (const int64_t panel : {1, 2})
          for (const int64_t threads : {1, 2, 7, 64}) {
            const Work work{.images = images,
                            .blocks = blocks,
                            .columns = columns,
                            .panel = panel,
                            .products = 1000,
                            .block_bytes = 10000,
                            .panel_bytes = 4000};
            const Partition tasks(work, machine_of(threads));
            std::vector<int> times(static_cast<size_t>(images * blocks * columns));
            for (int64_t task = 0; task < tasks.count(); ++task) {
              const auto t = tasks[task];
              EXPECT_LE(t.end_block - t.first_block, tasks.blocks());
              EXPECT_LE(t.end_column - t.first_column, tasks.columns());
              EXPECT_EQ(t.first_column % panel, 0);
              for (int64_t b = t.first_block; b < t.end_block; ++b)
                for (int64_t c = t.first_column; c < t.end_column; ++c)
                  ++times[static_cast<size_t>((t.image * blocks + b) * columns + c)];
            }
            EXPECT_EQ(std::set<int>(times.begin(), times.end()), std::set<int>{1})
                << images << " images, " << blocks << " blocks, " << columns << " columns, "
                << threads << " threads";
          }
}

TEST(PartitionTest, NothingIsNoTask) {
  EXPECT_EQ(Partition().count(), 0);
  EXPECT_EQ(Partition({.images = 0, .blocks = 4}).count(), 0);
  EXPECT_EQ(Partition({.images = 4, .blocks = 0}).count(), 0);
}

// A task's blocks fill half of the second level, whatever that is.
TEST(PartitionTest, BlocksStayInTheCache) {
  for (const int64_t cache : {256 * kKiB, 1024 * kKiB, 2048 * kKiB}) {
    const Work work = product(100000, 64, 32);
    const Partition tasks(work, machine_of(1, cache));
    EXPECT_LE(tasks.blocks() * work.block_bytes, cache / 2);
    EXPECT_GT(tasks.blocks() * work.block_bytes, cache / 4);
  }
}

// Of a block that is larger than the cache, one is a task.
TEST(PartitionTest, BlocksAreNotDivided) {
  EXPECT_EQ(Partition(product(1000, 1 << 20, 32), machine_of(1)).blocks(), 1);
}

TEST(PartitionTest, ThreadsHaveEnoughTasks) {
  for (const int64_t threads : {2, 3, 16})
    for (const int64_t rows : {1, 100, 100000})
      EXPECT_GE(Partition(product(rows, 1024, 4096), machine_of(threads)).count(), 4 * threads);
  EXPECT_EQ(Partition(product(1, 1024, 4096), machine_of(1)).count(), 1);
}

// Rows are read once where there are enough of them.
TEST(PartitionTest, FewRowsAloneAreDividedByColumns) {
  EXPECT_EQ(Partition(product(100000, 64, 64), machine_of(2)).columns(), 4);
  EXPECT_EQ(Partition(product(1, 1024, 4096), machine_of(2)).blocks(), 1);
  EXPECT_LE(Partition(product(1, 1024, 4096), machine_of(2)).columns(), 4096 / 16 / 8);
}

// Each thread's next task has the same weights where they are many, else the data beside its own.
TEST(PartitionTest, ATaskIsFollowedByWhatIsNear) {
  const Partition many(product(14 * 64, 4096, 4096), machine_of(2));
  EXPECT_EQ(many.after(0).first_column, many[0].first_column);
  EXPECT_EQ(many.after(many.count() - 1).first_column, many[many.count() - 1].first_column);
  const Partition few(product(14 * 2, 256, 512), machine_of(2));
  ASSERT_GT(few.count(), 2);
  EXPECT_NE(few.after(0).first_column, few[0].first_column);
}

TEST(PartitionTest, DepthIsDividedEvenlyAsTheCacheSays) {
  // 128 bytes an element: 32 KiB hold 256.
  EXPECT_EQ(block_depth(256, 128, 32 * kKiB, 16), 256);
  EXPECT_EQ(block_depth(257, 128, 32 * kKiB, 16), 144);
  EXPECT_EQ(block_depth(1024, 128, 64 * kKiB, 16), 512);
  EXPECT_EQ(block_depth(1024, 128, 48 * kKiB, 16), 352);
  // No fewer than are worth it.
  EXPECT_EQ(block_depth(1024, 1 << 20, 32 * kKiB, 16), 256);
  EXPECT_EQ(block_depth(7, 128, 32 * kKiB, 16), 16);
}

TEST(PartitionTest, TheMachineIsTheHostsUntilOneIsGiven) {
  set_host_caches(HostCaches{1000, 2000, 3000});
  set_thread_count(3);
  EXPECT_EQ(this_machine().first_level, 1000);
  EXPECT_EQ(this_machine().second_level, 2000);
  EXPECT_EQ(this_machine().threads, 3);
  set_host_caches(std::nullopt);
  set_thread_count(0);
  EXPECT_GE(this_machine().second_level, 64 * kKiB);
}

/// Every kernel that takes the layer equals the reference, whatever the caches hold.
void check_with_all_caches(LayerTest test) {
  for (const size_t bytes : {size_t{1} << 10, size_t{256} << 10, size_t{64} << 20}) {
    set_host_caches(HostCaches{bytes, bytes, bytes});
    for (const Candidate& candidate : test.candidates()) {
      SCOPED_TRACE(testing::Message() << candidate.name << " with " << bytes << " bytes");
      if (test.offer(candidate.name).empty()) expect_close(test.run(), test.reference(), 1e-5);
    }
  }
  set_host_caches(std::nullopt);
}

TEST(PartitionTest, KernelsOfConvolutionsAreRightWithAnyCaches) {
  for (const Convolution& op :
       {one_element(48), sliding(37, {3, 3}, {1, 1}, {1, 1}), sliding(4, {5, 5}, {1, 1}, {2, 2})})
    check_with_all_caches(layer(op, {2, 300, 13, 17}));
  check_with_all_caches(layer(sliding(300, {3, 3}, {1, 1}, {1, 1}, 300), {2, 300, 13, 17}));
}

TEST(PartitionTest, KernelsOfDeconvolutionsAreRightWithAnyCaches) {
  check_with_all_caches(layer(sliding<Deconvolution>(37, {2, 2}, {2, 2}, {0, 0}), {2, 300, 9, 8}));
}

TEST(PartitionTest, KernelsOfMatrixProductsAreRightWithAnyCaches) {
  for (const int64_t rows : {1, 150})
    check_with_all_caches({MatrixMultiply(), {data({rows, 2311}), constant({2311, 48})}});
}

}  // namespace
}  // namespace tenon::cpu
