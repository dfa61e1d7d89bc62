// Contexts whose memory is a device's: which addresses they take.
#include "builder/build_plan.h"
#include "cpu/remote_target_testing.h"
#include "ops/gather.h"
#include "ops/reduce.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ContextOnADevice : public ::testing::Test {
 protected:
  // "x" (6) in rows of "size" (2), to the rows' sums as "y".
  std::shared_ptr<const Engine> sums() {
    Network n;
    Value& x = n.add_input("x", DataType::kFLOAT, {6});
    Value& size = n.add_input("size", DataType::kINT64, {2});
    auto reshape = std::make_unique<Shuffle>();
    reshape->has_reshape = true;
    Value& rows = add(n, std::move(reshape), {&x, &size});
    auto sum = std::make_unique<Reduce>();
    sum->axes = 1u << 1;
    finish(n, add(n, std::move(sum), {&rows}), "y");
    BuildOptions options;
    ProfileRequest profile;
    profile.inputs["size"].min_values = {1, 1};
    profile.inputs["size"].opt_values = {3, 2};
    profile.inputs["size"].max_values = {6, 6};
    options.profiles = {profile};
    return std::make_shared<Engine>(build_plan(n, target_, options), target_, Log());
  }
  // "x" (6) in rows of "size" (2), as "rows", and two of its numbers at the places that "size" has,
  // too, as "picked".
  std::shared_ptr<const Engine> picks() {
    Network n;
    Value& x = n.add_input("x", DataType::kFLOAT, {6});
    Value& size = n.add_input("size", DataType::kINT64, {2});
    auto reshape = std::make_unique<Shuffle>();
    reshape->has_reshape = true;
    finish(n, add(n, std::move(reshape), {&x, &size}), "rows");
    finish(n, add(n, std::make_unique<Gather>(), {&x, &size}), "picked");
    ProfileRequest profile;
    profile.inputs["size"].min_values = {1, 1};
    profile.inputs["size"].opt_values = {3, 2};
    profile.inputs["size"].max_values = {6, 6};
    return engine_of(n, profile, target_);
  }
  static std::string error_of(const std::function<void()>& body) {
    try {
      body();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  template <class T> DeviceBuffer copy_of(const std::vector<T>& values) {
    DeviceBuffer buffer(target_.memory, values.size() * sizeof(T));
    target_.memory.copy_in(buffer.data(), values.data(), buffer.bytes(), nullptr);
    return buffer;
  }
  std::vector<float> result(const DeviceBuffer& buffer, size_t count) {
    std::vector<float> values(count);
    target_.memory.copy_out(values.data(), buffer.data(), count * sizeof(float), nullptr);
    return values;
  }

  RemoteTarget target_;
  std::vector<float> numbers_{1, 2, 3, 4, 5, 6}, out_ = std::vector<float>(6);
  std::vector<int64_t> rows_{3, 2};
};

TEST_F(ContextOnADevice, TakesItsMemory) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), y(target_.memory, 24);
  void* addresses[] = {x.data(), rows_.data(), y.data()};
  context.execute(addresses);
  EXPECT_THAT(result(y, 3), ElementsAre(3, 7, 11));
  rows_ = {2, 3};
  context.enqueue(nullptr);
  EXPECT_THAT(result(y, 2), ElementsAre(6, 15));
}

TEST_F(ContextOnADevice, HostMemoryIsOneClearError) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), y(target_.memory, 24);
  void* good[] = {x.data(), rows_.data(), y.data()};
  void* host_input[] = {numbers_.data(), rows_.data(), y.data()};
  void* host_output[] = {x.data(), rows_.data(), out_.data()};
  for (const bool enqueues : {false, true}) {
    const auto run = [&](std::span<void* const> addresses) {
      return error_of([&] {
        for (int i = 0; i < 3; ++i) context.set_address(i, addresses[static_cast<size_t>(i)]);
        if (enqueues)
          context.enqueue(nullptr);
        else
          context.execute();
      });
    };
    EXPECT_EQ(run(good), "");
    EXPECT_THAT(run(host_input), AllOf(HasSubstr("input 'x': its address 0x"),
                                       HasSubstr("is memory of the host, or of another device"),
                                       HasSubstr("cudaMalloc"), HasSubstr("cudaMallocHost")));
    EXPECT_THAT(run(host_output), HasSubstr("output 'y': its address 0x"));
    EXPECT_EQ(run(good), "");
    EXPECT_THAT(result(y, 3), ElementsAre(3, 7, 11));
  }
}

TEST_F(ContextOnADevice, ElementsLieWhole) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), y(target_.memory, 32);
  void* addresses[] = {x.data(), rows_.data(), static_cast<std::byte*>(y.data()) + 2};
  EXPECT_THAT(error_of([&] { context.execute(addresses); }),
              AllOf(HasSubstr("output 'y': its address 0x"), HasSubstr("no multiple of the 4")));
  addresses[2] = static_cast<std::byte*>(y.data()) + 4;
  EXPECT_EQ(error_of([&] { context.execute(addresses); }), "");
}

TEST_F(ContextOnADevice, AsksOnceForAnAddress) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), other = copy_of(numbers_), y(target_.memory, 24);
  void* addresses[] = {x.data(), rows_.data(), y.data()};
  context.execute(addresses);
  const int before = target_.memory.questions;
  for (int i = 0; i < 3; ++i) context.execute(addresses);
  EXPECT_EQ(target_.memory.questions, before);
  addresses[0] = other.data();
  context.execute(addresses);
  EXPECT_EQ(target_.memory.questions, before + 1);
}

TEST_F(ContextOnADevice, ShapeInputsAreOnTheHost) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), size = copy_of(rows_), y(target_.memory, 24);
  void* addresses[] = {x.data(), size.data(), y.data()};
  EXPECT_THAT(error_of([&] { context.execute(addresses); }),
              AllOf(HasSubstr("input 'size' is read on the host, and its address 0x"),
                    HasSubstr("is a GPU's memory: give it host memory")));
  EXPECT_THAT(error_of([&] { context.tensor_shape(2); }), HasSubstr("'size' is read on the host"));
}

// Kernels find them on the device, where they are copied once.
TEST_F(ContextOnADevice, ShapeInputsAreCopiedOnceForTheirElements) {
  Context context(picks(), true);
  const DeviceBuffer data = copy_of(numbers_), rows(target_.memory, 24), picked(target_.memory, 8);
  void* addresses[] = {data.data(), rows_.data(), rows.data(), picked.data()};
  for (const int copies : {2, 0}) {
    const int before = target_.memory.copies_in;
    for (const int64_t count : {3, 2}) {
      rows_ = {count, 6 / count};
      addresses[1] = rows_.data();
      context.execute(addresses);
      const auto expected = {numbers_[static_cast<size_t>(count)],
                             numbers_[static_cast<size_t>(6 / count)]};
      EXPECT_THAT(result(picked, 2), ::testing::ElementsAreArray(expected));
    }
    EXPECT_EQ(target_.memory.copies_in, before + copies);
  }
}

// Also what is taken before the first run.
TEST_F(ContextOnADevice, MemoryIsThatOfTheEnginesDevice) {
  target_.memory.make_current(1);
  Context context(picks(), true);
  target_.memory.make_current(0);
  const DeviceBuffer other(target_.memory, 1);
  EXPECT_EQ(target_.memory.last_used, 0);
  context.set_address(1, rows_.data());
  context.device_memory_needed();
  EXPECT_EQ(target_.memory.last_used, 1);
  EXPECT_EQ(target_.memory.current(), 0);
}

// Kernels ask CUDA whether their launch failed.
TEST_F(ContextOnADevice, EarlierErrorsOfTheCallerAreNotOfTheRun) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_), y(target_.memory, 24);
  void* addresses[] = {x.data(), rows_.data(), y.data()};
  EXPECT_NE(cudaSetDevice(-1), cudaSuccess);
  context.execute(addresses);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(ContextOnADevice, AllocatorsGiveItsMemory) {
  Context context(sums(), true);
  const DeviceBuffer x = copy_of(numbers_);
  context.set_address(0, x.data());
  context.set_address(1, rows_.data());
  Keeper keeper;
  context.set_output_allocator(2, &keeper);
  EXPECT_THAT(error_of([&] { context.execute(); }), HasSubstr("output 'y': its address 0x"));
}

TEST_F(ContextOnADevice, AnAllocatorGivesWhatWeightsAndContextsTake) {
  struct Allocator final : nvinfer1::IGpuAllocator {
    explicit Allocator(const Device& device) : device(device) {}
    void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
      void* data = device.allocate(size);
      bytes[data] = size;
      return data;
    }
    bool deallocate(void* memory) noexcept override {
      device.release(memory);
      return bytes.erase(memory) == 1;
    }
    const Device& device;
    std::map<void*, uint64_t, std::less<>> bytes;
  } allocator(target_.memory);
  Network n;
  Value& image = n.add_input("image", DataType::kFLOAT, {1, 4, 8, 8});
  finish(n, testing::convolve(n, image, "c", 4, 4), "y");
  const Plan plan = build_plan(n, target_, BuildOptions());
  {
    const auto engine = std::make_shared<Engine>(plan, target_, Log(), &allocator);
    ASSERT_EQ(allocator.bytes.size(), 1u);
    EXPECT_GE(allocator.bytes.begin()->second, 4u * 4 * 9 * sizeof(float));
    Context context(engine, true);
    const DeviceBuffer x(target_.memory, 4 * 64 * 4), y(target_.memory, 4 * 64 * 4);
    void* addresses[] = {x.data(), y.data()};
    context.execute(addresses);
  }
  EXPECT_TRUE(allocator.bytes.empty());
}

TEST_F(ContextOnADevice, WorkingMemoryIsItsOwn) {
  const auto engine = sums();
  Context context(engine, false);
  const auto bytes = std::max<int64_t>(engine->device_memory(0), 64);
  const auto memory = allocate_aligned(static_cast<size_t>(bytes));
  EXPECT_THAT(error_of([&] { context.set_device_memory(memory.get(), bytes); }),
              HasSubstr("is memory of the host, or of another device"));
}

}  // namespace
}  // namespace tenon
