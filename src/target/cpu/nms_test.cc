// Non-maximum suppression against the reference. The number of rows is found by running, so the
// kernel is called by hand.
#include "ops/nms.h"

#include "target/testing.h"

namespace tenon::cpu {
namespace {

struct Rows {
  std::vector<std::byte> bytes;
  int32_t count = -1;
  bool operator==(const Rows&) const = default;
};

class NmsTest : public ::testing::Test {
 protected:
  void set(const Shape& boxes, const Shape& scores, int32_t most, float overlap, float least) {
    boxes_ = random_tensor(boxes, 3, 0, 40);
    float* b = boxes_.mutable_data<float>();
    for (int64_t i = 0; i < boxes_.count(); ++i)
      if (i % 4 >= 2) b[i] = b[i - 2] + b[i] / 4 - 2;  // mostly behind the first corner
    scores_ = random_tensor(scores, 4, 0, 1);
    most_ = Tensor::of<int32_t>(DataType::kINT32, {1}, {&most, 1});
    overlap_ = Tensor::of<float>(DataType::kFLOAT, {1}, {&overlap, 1});
    least_ = Tensor::of<float>(DataType::kFLOAT, {1}, {&least, 1});
  }

  Rows reference(const Nms& op) {
    Rows rows;
    const AllocateOutput allocate = allocation(op, rows);
    std::vector<TensorView> inputs;
    for (const Tensor* t : tensors()) inputs.push_back(view_of(*t));
    const TensorView outputs[] = {{nullptr, op.indices_type, {-1, 3}},
                                  {&rows.count, DataType::kINT32, {}}};
    op.reference({inputs, outputs, &allocate});
    return rows;
  }

  Rows kernel(const Nms& op) {
    std::vector<TensorSpec> specs;
    std::vector<const void*> addresses;
    for (const Tensor* t : tensors()) {
      specs.push_back({t->type(), Layout::kLinear, t->shape(), true});
      addresses.push_back(t->data());
    }
    const TensorSpec outputs[] = {{op.indices_type, Layout::kLinear, {-1, 3}, true},
                                  {DataType::kINT32, Layout::kLinear, {}, true}};
    const std::vector<const Tensor*> constants(specs.size(), nullptr);
    const Candidate& first = cpu_target().candidates(op)[0];
    EXPECT_EQ(first.name, "nms");
    Offer offer = first.offer({op, specs, outputs, constants});
    const auto execution = std::get<std::unique_ptr<Kernel>>(offer)->prepare(specs, outputs);
    const auto scratch = allocate_aligned(execution->scratch_bytes());
    Rows rows;
    const AllocateOutput allocate = allocation(op, rows);
    void* const results[] = {nullptr, &rows.count};
    in_arena([&] { execution->run({addresses, results, scratch.get(), nullptr, &allocate}); });
    return rows;
  }

 private:
  std::vector<const Tensor*> tensors() const {
    return {&boxes_, &scores_, &most_, &overlap_, &least_};
  }
  static AllocateOutput allocation(const Nms& op, Rows& rows) {
    return [&](int, const Shape& shape) -> void* {
      rows.bytes.resize(bytes_of(op.indices_type, shape.volume()));
      return rows.bytes.data();
    };
  }

  Tensor boxes_{DataType::kFLOAT, {0}}, scores_{DataType::kFLOAT, {0}},
      most_{DataType::kINT32, {1}}, overlap_{DataType::kFLOAT, {1}}, least_{DataType::kFLOAT, {1}};
};

TEST_F(NmsTest, KeepsWhatTheReferenceKeeps) {
  for (const bool classes_first : {false, true})
    for (const int64_t box_classes : {0, 1, 20})
      for (const int64_t count : {0, 1, 500})
        for (const float overlap : {0.f, 0.3f, 0.5f}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", classes_first, box_classes, count, overlap));
          const Shape boxes =
              box_classes == 0 ? Shape{2, count, 4} : Shape{2, count, box_classes, 4};
          set(boxes, classes_first ? Shape{2, 20, count} : Shape{2, count, 20}, 60, overlap, 0.1f);
          Nms op;
          op.classes_first = classes_first;
          op.format =
              overlap > 0.4f ? BoundingBoxFormat::kCENTER_SIZES : BoundingBoxFormat::kCORNER_PAIRS;
          op.indices_type = overlap > 0 ? DataType::kINT64 : DataType::kINT32;
          const Rows rows = kernel(op);
          EXPECT_EQ(rows, reference(op));
          EXPECT_EQ(rows.count > 0, count > 0);
        }
}

TEST_F(NmsTest, OnlySoManyBoxesAreLookedAtOrKept) {
  set({1, 3000, 4}, {1, 3000, 1}, 3000, 0.6f, -1);
  Nms op;
  const int32_t all = kernel(op).count;
  EXPECT_GT(all, 700);
  op.top_k_box_limit = 900;
  EXPECT_EQ(kernel(op), reference(op));
  EXPECT_LT(kernel(op).count, all);
  set({1, 3000, 4}, {1, 3000, 1}, 70, 0.6f, -1);
  EXPECT_EQ(kernel(op).count, 70);
  EXPECT_EQ(kernel(op), reference(op));
  set({1, 3000, 4}, {1, 3000, 1}, 0, 0.6f, -1);
  EXPECT_EQ(kernel(op).count, 0);
}

}  // namespace
}  // namespace tenon::cpu
