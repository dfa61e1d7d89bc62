#include "machine_limits.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tenon::tool {
namespace {

using ::testing::HasSubstr;

// A folder with files as a system has them.
class System : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "limits.XXXXXX";
    root_ = std::string(::mkdtemp(name.data())) + "/";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  MachineLimits limits() { return read_machine_limits(root_); }

  std::string root_;
};

TEST_F(System, QuotaIsTheLeastOfAGroupAndThoseAroundIt) {
  write("proc/self/cgroup", "0::/kubepods/pod1/box\n");
  write("sys/fs/cgroup/kubepods/pod1/box/cpu.max", "400000 100000\n");
  write("sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/kubepods/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/kubepods/pod1/memory.max", "268435456\n");
  EXPECT_EQ(limits().cpu_quota, 1.5);
  EXPECT_EQ(limits().memory_max, 268435456);
}

TEST_F(System, ControlGroupsOfVersion1AreRead) {
  write("proc/self/cgroup", "5:memory:/box\n4:cpu,cpuacct:/box\n0::/\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limits().cpu_quota, 2.5);
  EXPECT_EQ(limits().memory_max, std::nullopt);
}

TEST_F(System, NothingIsKnownWhereThereIsNothing) {
  EXPECT_EQ(limits().cpu_quota, std::nullopt);
  EXPECT_EQ(limits().memory_max, std::nullopt);
  EXPECT_EQ(limits().numa_nodes, 1);
  EXPECT_EQ(limits().huge_pages, "unknown");
  EXPECT_GE(limits().processors, 1);
}

TEST_F(System, FilesThatSayNothingUsefulAreNoLimits) {
  write("proc/self/cgroup", "0\n::\n0::/..\n");
  write("sys/fs/cgroup/cpu.max", "much little\n");
  write("sys/devices/system/node/has_cpu", "-,x,3-1\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "][\n");
  EXPECT_EQ(limits().cpu_quota, std::nullopt);
  EXPECT_EQ(limits().numa_nodes, 1);
  EXPECT_EQ(limits().huge_pages, "unknown");
}

TEST_F(System, NodesAndHugePages) {
  write("sys/devices/system/node/has_cpu", "0-1,4\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(limits().numa_nodes, 3);
  EXPECT_EQ(limits().huge_pages, "madvise");
}

TEST_F(System, NodesWithoutProcessorsOfTheProcessDoNotCount) {
  write("sys/devices/system/node/online", "0-2\n");  // the last is memory alone
  write("sys/devices/system/node/has_cpu", "0-1\n");
  write("sys/devices/system/node/node0/cpulist", "0-1023\n");
  write("sys/devices/system/node/node1/cpulist", "5000-5001\n");
  EXPECT_EQ(limits().numa_nodes, 1);
}

TEST(MachineLimits, FindsMoreThreadsThanProcessorsOrQuota) {
  EXPECT_TRUE(findings_of({.processors = 4}, 4).empty());
  const auto many = findings_of({.processors = 4}, 8);
  ASSERT_EQ(many.size(), 1u);
  EXPECT_THAT(many[0].what, HasSubstr("8 threads, and this process may use 4 processors"));
  EXPECT_THAT(many[0].fix, HasSubstr("TENON_THREADS=4"));
  // A quota of a part of a processor lets one thread in.
  EXPECT_TRUE(findings_of({.processors = 4, .cpu_quota = 0.5}, 1).empty());
  const auto quota = findings_of({.processors = 64, .cpu_quota = 2.5}, 64);
  ASSERT_EQ(quota.size(), 1u);
  EXPECT_THAT(quota[0].what, HasSubstr("a quota of 2.5 processors"));
  EXPECT_THAT(quota[0].fix, HasSubstr("TENON_THREADS=2,"));
}

TEST(MachineLimits, FindsLittleMemoryAndSeveralNodes) {
  const auto findings = findings_of({.processors = 1, .memory_max = 256 << 20, .numa_nodes = 2}, 1);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0].what, HasSubstr("256 MiB"));
  EXPECT_THAT(findings[1].fix, HasSubstr("numactl"));
}

}  // namespace
}  // namespace tenon::tool
