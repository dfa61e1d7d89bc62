#include "run/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/cuda_stream.h"
#include "builder/build_plan.h"
#include "cpu/cpu_target.h"
#include "ops/concatenation.h"
#include "ops/elementwise.h"
#include "plan/plan_file.h"
#include "plan/plan_test_network.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Engine> make_engine(nvinfer1::IGpuAllocator* allocator = nullptr) {
  Network n;
  testing::make_network(n);
  BuildOptions options;
  options.profiles = {testing::profile({1, 4, 4, 4}, {2, 4, 8, 8}, {4, 4, 16, 16}),
                      testing::profile({1, 4, 32, 32}, {1, 4, 32, 32}, {1, 4, 40, 40})};
  const auto bytes = write_plan(build_plan(n, cpu_target(), options));
  return std::make_shared<Engine>(read_plan(bytes, nullptr, "plan"), cpu_target(), Log(),
                                  allocator);
}

// The same network through the layers' reference kernels, one at a time.
std::vector<float> expected(const Tensor& image) {
  Network n;
  testing::make_network(n);
  std::map<const Value*, Tensor> known{{n.inputs()[0], image}};
  Shape shape = image.shape();
  for (const Node* node : n.sorted()) {
    std::vector<TensorView> inputs;
    for (const Value* v : node->inputs)
      inputs.push_back(view_of(v->constant ? *v->constant : known.at(v)));
    const bool last = node->outputs[0]->is_output;
    Tensor out(DataType::kFLOAT, last ? Shape{shape[0], shape.volume(1, 4)} : shape);
    const TensorView view = view_of(out);
    node->op->reference({inputs, {&view, 1}});
    known[node->outputs[0]] = out;
  }
  const Tensor& out = known.at(n.outputs()[0]);
  return {out.data<float>(), out.data<float>() + out.count()};
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

void expect_right(Context& context, const Shape& shape) {
  const Tensor image = testing::ramp(shape, 0.25f);
  std::vector<float> out(static_cast<size_t>(image.count()), -1);
  context.set_input_shape(0, shape);
  context.set_address(0, const_cast<void*>(image.data()));
  context.set_address(1, out.data());
  EXPECT_EQ(context.tensor_shape(1), (Shape{shape[0], shape.volume(1, 4)}));
  context.execute();
  const auto want = expected(image);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(out[i], want[i], 1e-5) << shape.str() << i;
}

// What is joined lies in one piece for one image, within what that is joined to, but for an input
// of the network; for two images it does not.
TEST(Context, JoinsWhatItMadeInPlace) {
  using nvinfer1::ElementWiseOperation;
  Network n;
  Value& x = n.add_input("image", DataType::kFLOAT, {-1, 4, 2, 8});
  const auto combine = [&](Value& a, Value& b, ElementWiseOperation operation) -> Value& {
    auto op = std::make_unique<ElementWise>();
    op->operation = operation;
    return *n.add_node(std::move(op), {&a, &b}).outputs[0];
  };
  const auto join = [&](Value& a, Value& b) -> Value& {
    auto op = std::make_unique<Concatenation>();
    op->axis = 1;
    return *n.add_node(std::move(op), {&a, &b}).outputs[0];
  };
  Value& twice = combine(x, x, ElementWiseOperation::kSUM);
  Value& square = combine(x, x, ElementWiseOperation::kPROD);
  Value& cube = combine(square, x, ElementWiseOperation::kPROD);
  Value& inner = join(twice, square);
  Value& outer = join(join(inner, cube), x);
  Value& sum = combine(outer, outer, ElementWiseOperation::kSUM);
  Value& later = combine(square, twice, ElementWiseOperation::kSUB);
  sum.name = "sum", later.name = "later";
  n.mark_output(sum), n.mark_output(later);
  n.infer();
  BuildOptions options;
  options.profiles = {testing::profile({1, 4, 2, 8}, {1, 4, 2, 8}, {2, 4, 2, 8})};
  const auto engine =
      std::make_shared<const Engine>(build_plan(n, cpu_target(), options), cpu_target(), Log());
  Context context(engine, true);
  for (const int64_t images : {1, 2, 1}) {
    const Shape shape{images, 4, 2, 8};
    const Tensor image = testing::ramp(shape, 0.25f);
    std::vector<float> sums(static_cast<size_t>(4 * image.count()), -1), differences(sums);
    context.set_input_shape(0, shape);
    context.set_address(0, const_cast<void*>(image.data()));
    context.set_address(engine->find_binding("sum"), sums.data());
    context.set_address(engine->find_binding("later"), differences.data());
    // All that is joined lies in the largest result.
    const int64_t largest = 4 * 64 * images * static_cast<int64_t>(sizeof(float));
    EXPECT_EQ(context.device_memory_needed() == largest, images == 1);
    context.execute();
    for (int64_t i = 0; i < image.count(); ++i) {
      const float v = image.data<float>()[i];
      const int64_t channels = i / 64 * 4 * 64 + i % 64;
      ASSERT_EQ(sums[static_cast<size_t>(channels)], 4 * v);
      ASSERT_EQ(sums[static_cast<size_t>(channels + 64)], 2 * v * v);
      ASSERT_EQ(sums[static_cast<size_t>(channels + 128)], 2 * v * v * v);
      ASSERT_EQ(sums[static_cast<size_t>(channels + 192)], 2 * v);
      ASSERT_EQ(differences[static_cast<size_t>(i)], v * v - 2 * v);
    }
  }
}

TEST(Context, ComputesWhatTheReferencesDoAtEveryShape) {
  Context context(make_engine(), true);
  for (const Shape& shape : {Shape{2, 4, 8, 8}, Shape{1, 4, 4, 5}, Shape{4, 4, 16, 16},
                             Shape{2, 4, 8, 8}, Shape{3, 4, 7, 9}})
    expect_right(context, shape);
  context.set_profile(1);
  expect_right(context, {1, 4, 33, 40});
}

TEST(Context, RefusesShapesOutsideTheProfile) {
  Context context(make_engine(), true);
  EXPECT_THAT(error_of([&] { context.set_input_shape(0, {5, 4, 8, 8}); }),
              HasSubstr("outside profile 0, which allows 1x4x4x4 to 4x4x16x16: axis 0 is 5"));
  EXPECT_THAT(error_of([&] { context.set_input_shape(0, {4, 8, 8}); }), HasSubstr("3 dimensions"));
  EXPECT_THAT(error_of([&] { context.set_input_shape(1, {1}); }), HasSubstr("output"));
  EXPECT_THAT(error_of([&] { context.set_profile(2); }), HasSubstr("profile 2 does not exist"));
}

TEST(Context, AnotherProfileGivesMemoryBack) {
  class Counter final : public nvinfer1::IGpuAllocator {
   public:
    void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override {
      ++held;
      return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    bool deallocate(void* memory) noexcept override {
      --held;
      std::free(memory);
      return true;
    }
    int held = 0;
  };
  Counter counter;
  {
    Context context(make_engine(&counter), true);
    expect_right(context, {4, 4, 16, 16});
    EXPECT_EQ(counter.held, 1);
    context.set_profile(0);
    EXPECT_EQ(counter.held, 1);
    context.set_profile(1);
    EXPECT_EQ(counter.held, 0);
    expect_right(context, {1, 4, 33, 40});
    context.set_profile(0);
    expect_right(context, {4, 4, 16, 16});
  }
  EXPECT_EQ(counter.held, 0);
}

TEST(Context, SaysWhatIsMissing) {
  Context context(make_engine(), true);
  EXPECT_THAT(error_of([&] { context.execute(); }), HasSubstr("'image' has no shape yet"));
  context.set_input_shape(0, {1, 4, 4, 4});
  EXPECT_THAT(error_of([&] { context.execute(); }), HasSubstr("input 'image' has no address"));
}

TEST(Context, EnqueuedRunsKeepTheirOrderAndAddresses) {
  Context context(make_engine(), true);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const Shape shape{1, 4, 8, 8};
  context.set_input_shape(0, shape);
  std::vector<Tensor> images;
  std::vector<std::vector<float>> outputs(40, std::vector<float>(256));
  for (int i = 0; i < 40; ++i)
    images.push_back(testing::ramp(shape, 0.01f * static_cast<float>(i)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    context.set_address(0, const_cast<void*>(images[i].data()));
    context.set_address(1, outputs[i].data());
    context.enqueue(from_cuda(stream));
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto want = expected(images[i]);
    for (size_t k = 0; k < want.size(); ++k) ASSERT_NEAR(outputs[i][k], want[k], 1e-5);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Context, ContextsOfOneEngineRunInSeveralThreads) {
  const auto engine = make_engine();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Context context(engine, true);
      for (int round = 0; round < 5; ++round) expect_right(context, {1 + i, 4, 8 + round, 8});
    });
  for (std::thread& t : threads) t.join();
}

TEST(Context, UsesTheCallersDeviceMemory) {
  const auto engine = make_engine();
  Context context(engine, false);
  context.set_input_shape(0, {4, 4, 16, 16});
  const auto bytes = engine->device_memory(0);
  const auto memory = allocate_aligned(static_cast<size_t>(bytes));
  context.set_device_memory(memory.get(), bytes);
  expect_right(context, {4, 4, 16, 16});
  EXPECT_LE(context.device_memory_needed(), bytes);
  Context small(engine, false);
  small.set_device_memory(memory.get(), 64);
  small.set_input_shape(0, {4, 4, 16, 16});
  std::vector<float> buffer(4096);
  small.set_address(0, buffer.data());
  small.set_address(1, buffer.data());
  EXPECT_THAT(error_of([&] { small.execute(); }),
              HasSubstr("bytes of device memory; it was given 64"));
}

TEST(Context, ShapesThatDoNotFitALayerAreRefusedBeforeItRuns) {
  Network n;
  Value& a = n.add_input("a", DataType::kFLOAT, {-1, -1});
  Value& b = n.add_input("b", DataType::kFLOAT, {-1, -1});
  Value& out = *n.add_node(std::make_unique<Concatenation>(), {&a, &b}, "join").outputs[0];
  n.mark_output(out);
  ProfileRequest profile;
  for (const char* name : {"a", "b"})
    profile.inputs[name] = {Shape{1, 1}, Shape{2, 4}, Shape{8, 8}, {}, {}, {}};
  BuildOptions options;
  options.profiles = {profile};
  Context context(
      std::make_shared<Engine>(build_plan(n, cpu_target(), options), cpu_target(), Log()), true);
  std::vector<float> data(64), result(128);
  context.set_address(0, data.data());
  context.set_address(1, data.data());
  context.set_address(2, result.data());
  context.set_input_shape(0, {3, 4});
  context.set_input_shape(1, {5, 7});
  EXPECT_THAT(
      error_of([&] { context.execute(); }),
      HasSubstr("layer join (Concatenation): expected inputs that agree except along axis"));
  context.set_input_shape(1, {5, 4});
  EXPECT_EQ(error_of([&] { context.execute(); }), "");
}

TEST(Context, DimensionsOfOneNameAreComparedAtEveryChange) {
  Network n;
  Value& a = n.add_input("a", DataType::kFLOAT, {-1}, {"n"});
  Value& b = n.add_input("b", DataType::kFLOAT, {-1}, {"n"});
  n.mark_output(*n.add_node(std::make_unique<ElementWise>(), {&a, &b}, "sum").outputs[0]);
  ProfileRequest profile;
  for (const char* name : {"a", "b"})
    profile.inputs[name] = {Shape{1}, Shape{2}, Shape{8}, {}, {}, {}};
  BuildOptions options;
  options.profiles = {profile};
  Context context(
      std::make_shared<Engine>(build_plan(n, cpu_target(), options), cpu_target(), Log()), true);
  std::vector<float> data(8), result(8);
  void* addresses[] = {data.data(), data.data(), result.data()};
  const auto run = [&](int64_t of_a, int64_t of_b) {
    context.set_input_shape(0, {of_a});
    context.set_input_shape(1, {of_b});
    return error_of([&] { context.execute(addresses); });
  };
  EXPECT_EQ(run(8, 8), "");
  // The sizes that a decides are known by now; b is read no further than it goes.
  EXPECT_THAT(run(8, 2), HasSubstr("input 'b': axis 0 is 2, but the dimension 'n' is 8"));
  EXPECT_EQ(run(2, 2), "");
}

TEST(Context, ValuesOfShapeInputsAreCheckedAgainInAnotherProfile) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {12});
  Value& size = n.add_input("size", DataType::kINT64, {2});
  auto reshape = std::make_unique<Shuffle>();
  reshape->has_reshape = true;
  n.mark_output(*n.add_node(std::move(reshape), {&x, &size}, "reshape").outputs[0]);
  BuildOptions options;
  for (const int64_t min_extent : {1, 3}) {
    ProfileRequest profile;
    profile.inputs["size"].min_values = {min_extent, 1};
    profile.inputs["size"].opt_values = {3, 4};
    profile.inputs["size"].max_values = {12, 12};
    options.profiles.push_back(profile);
  }
  Context context(
      std::make_shared<Engine>(build_plan(n, cpu_target(), options), cpu_target(), Log()), true);
  std::vector<float> data(12), result(12);
  int64_t wanted[] = {2, 6};
  void* addresses[] = {data.data(), wanted, result.data()};
  EXPECT_EQ(error_of([&] { context.execute(addresses); }), "");
  context.set_profile(1);
  const auto refused = HasSubstr("'size': element 0 is 2, outside profile 1, which allows 3 to 12");
  EXPECT_THAT(error_of([&] { context.execute(addresses); }), refused);
  EXPECT_THAT(error_of([&] { context.tensor_shape(2); }), refused);
  wanted[0] = 4;
  wanted[1] = 3;
  EXPECT_EQ(error_of([&] { context.execute(addresses); }), "");
}

TEST(Context, InputsMayBeScalars) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, Shape());
  Value& out = *n.add_node(std::make_unique<Activation>(), {&x}, "relu").outputs[0];
  n.mark_output(out);
  Context context(
      std::make_shared<Engine>(build_plan(n, cpu_target(), BuildOptions()), cpu_target(), Log()),
      true);
  float in = -2, result = 7;
  context.set_address(0, &in);
  context.set_address(1, &result);
  context.execute();
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace tenon
