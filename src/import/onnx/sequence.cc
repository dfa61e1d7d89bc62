// Operators on sequences of tensors, and on optionals.
#include "import/sequence.h"

#include <onnx_schema.pb.h>

#include "import/node.h"
#include "ops/gather.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

// The position that input i names among `count` elements; negative ones count from the end. `end`
// allows the position behind the last.
size_t position(NodeContext& n, int i, size_t count, bool end = false) {
  const auto values = n.integers_of(i, "the position in the sequence");
  require(values.size() == 1, "the position has {} elements; expected one", values.size());
  const auto size = static_cast<int64_t>(count);
  const int64_t at = values[0] < 0 ? values[0] + size : values[0];
  if (at < 0 || at >= size + (end ? 1 : 0))
    fail_import(Code::kINVALID_NODE, "position {} is outside the {} there are", values[0], count);
  return static_cast<size_t>(at);
}

// Positions count elements, which parts of unknown length do not tell.
void require_known_length(const Sequence& sequence, const char* what) {
  if (!has_known_length(sequence))
    fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC,
                "{} of a sequence whose length only running tells is not supported yet", what);
}

// A slice of `size` along an axis from `start` on.
Value& part(NodeContext& n, Value& x, size_t axis, int64_t start, int64_t size) {
  Dims starts(x.dims.size(), n.number(0)), sizes = x.dims, strides(x.dims.size(), n.number(1));
  starts[axis] = n.number(start);
  sizes[axis] = n.number(size);
  return n.slice(x, starts, sizes, strides);
}

Value& without_axis(NodeContext& n, Value& x, size_t axis) {
  Dims extents = x.dims;
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
  return n.reshape(x, extents);
}

// Each element of a sequence is a layer.
constexpr int64_t kLongestSequence = 65536;

std::vector<int64_t> split_sizes(NodeContext& n, int64_t extent) {
  const bool sized = n.has_input(1);
  require(sized || extent <= kLongestSequence, "a sequence of {} tensors is too long; at most {}",
          extent, kLongestSequence);
  if (!sized) return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  const bool chunks = n.rank(n.input(1)) == 0;
  std::vector<int64_t> given = n.integers_of(1, "the sizes of the parts");
  if (!chunks) return given;
  require(given[0] > 0, "parts of {} elements are not possible", given[0]);
  require(extent / given[0] < kLongestSequence,
          "parts of {} elements of {} are too many; at most {}", given[0], extent,
          kLongestSequence);
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < extent; start += given[0])
    sizes.push_back(std::min(given[0], extent - start));
  return sizes;
}

// The slices of an axis whose extent only running tells: the tensor itself, that axis first.
Sequence slices(NodeContext& n, Value& x, size_t axis, bool keep) {
  Value& first = stack(n, {{&x, false}}, 0);  // (1, …): the axis moves there
  std::vector<int32_t> order(first.dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::swap(order[0], order[axis + 1]);
  Value& moved = n.transpose(first, order);
  return {{keep ? &moved : &without_axis(n, moved, axis + 1), true}};
}

}  // namespace

TENON_IMPORT(SequenceEmpty, 11, "") {
  n.ignore("dtype");
  n.set_output(0, Sequence());
}

TENON_IMPORT(SequenceConstruct, 11, "") {
  Sequence elements;
  for (int i = 0; i < n.input_count(); ++i) elements.push_back({&n.input(i)});
  n.set_output(0, std::move(elements));
}

TENON_IMPORT(SequenceInsert, 11, "the position must be constant, or the end") {
  Sequence elements = n.sequence_input(0);
  if (n.has_input(2)) require_known_length(elements, "a position");
  const size_t at = n.has_input(2) ? position(n, 2, elements.size(), true) : elements.size();
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), {&n.input(1)});
  n.set_output(0, std::move(elements));
}

TENON_IMPORT(SequenceErase, 11, "the length and the position must be constant") {
  Sequence elements = n.sequence_input(0);
  require_known_length(elements, "an element");
  require(!elements.empty(), "the sequence is empty");
  const size_t at = n.has_input(1) ? position(n, 1, elements.size()) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  n.set_output(0, std::move(elements));
}

TENON_IMPORT(SequenceAt, 11, "elements of several shapes need a constant position") {
  const Sequence& elements = n.sequence_input(0);
  if (has_known_length(elements) && n.constant_input(1) != nullptr) {
    n.set_output(0, *elements[position(n, 1, elements.size())].tensor);
    return;
  }
  n.set_output(0, n.add(std::make_unique<Gather>(), {&stack(n, elements, 0), &n.input(1)}));
}

TENON_IMPORT(SequenceLength, 11, "") {
  n.set_output(0, n.reshape(n.shape_tensor({length_of(n, n.sequence_input(0))}), {}));
}

TENON_IMPORT(SplitToSequence, 11, "sizes must be constant; with sizes, the extent too") {
  n.expect_inputs(1, 2);
  Value& x = n.input(0);
  const auto axis = static_cast<size_t>(normalized_axis(n.integer("axis", 0), n.rank(x)));
  const bool keep = n.flag("keepdims", true) || n.has_input(1);
  const Dim extent = x.dims[axis];
  if (!extent->is_integer_constant()) {
    if (n.has_input(1))
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC,
                  "parts of given sizes of an axis whose extent only running tells are not "
                  "supported yet: axis {} has no constant extent",
                  axis);
    n.set_output(0, slices(n, x, axis, keep));
    return;
  }
  const auto sizes = split_sizes(n, extent->value.integer);
  Sequence elements;
  int64_t start = 0;
  for (int64_t size : sizes) {
    require(size >= 0 && size <= extent->value.integer - start,
            "parts of {} elements do not fit extent {}", fmt::join(sizes, ", "),
            extent->value.integer);
    Value& slice = part(n, x, axis, start, size);
    elements.push_back({keep ? &slice : &without_axis(n, slice, axis)});
    start += size;
  }
  require(start == extent->value.integer, "the parts have {} elements together; the axis has {}",
          start, extent->value.integer);
  n.set_output(0, std::move(elements));
}

TENON_IMPORT(ConcatFromSequence, 11, "") {
  const Sequence& elements = n.sequence_input(0);
  require(!elements.empty(), "the sequence is empty");
  require_readable(elements);
  const bool new_axis = n.flag("new_axis", false);
  const int rank = static_cast<int>(element_dims(elements[0]).size()) + (new_axis ? 1 : 0);
  const int axis = normalized_axis(n.integer("axis"), rank);
  n.set_output(0, new_axis ? stack(n, elements, axis) : concatenate(n, elements, axis));
}

TENON_IMPORT(SequenceMap, 17, "sequences of known length") {
  onnx::GraphProto& body = n.graph_in("body");
  const size_t count = n.sequence_input(0).size();
  for (int i = 0; i < n.input_count(); ++i) {
    if (!n.is_sequence(i)) continue;
    require_known_length(n.sequence_input(i), "a map");
    require(n.sequence_input(i).size() == count,
            "its sequences have {} and {} elements; expected one length", count,
            n.sequence_input(i).size());
  }
  std::vector<Sequence> made(static_cast<size_t>(n.output_count()));
  for (size_t k = 0; k < count; ++k) {
    std::vector<Item> elements;
    for (int i = 0; i < n.input_count(); ++i)
      elements.emplace_back(n.is_sequence(i) ? n.sequence_input(i)[k].tensor : &n.input(i));
    onnx::GraphProto copy = body;  // importing uses it up
    const auto outputs = n.bodies().inline_body(copy, elements);
    require(outputs.size() == made.size(), "its body makes {} tensors; the node has {} outputs",
            outputs.size(), made.size());
    for (size_t i = 0; i < made.size(); ++i)
      made[i].push_back({as_tensor(outputs[i], "what the body makes")});
  }
  for (size_t i = 0; i < made.size(); ++i) n.set_output(static_cast<int>(i), std::move(made[i]));
}

TENON_IMPORT(Optional, 15, "") {
  n.expect_inputs(0, 1);
  n.ignore("type");
  n.set_output(0, n.input_count() > 0 ? n.inputs()[0] : Item(EmptyOptional()));
}

TENON_IMPORT(OptionalHasElement, 15, "") {
  n.expect_inputs(0, 1);
  Tensor holds(DataType::kBOOL, Shape());
  *holds.mutable_data<bool>() = n.input_count() > 0 && !is_empty_optional(n.inputs()[0]);
  n.set_output(0, n.network().add_weight(std::move(holds), n.proto().output(0)));
}

TENON_IMPORT(OptionalGetElement, 15, "") {
  n.expect_inputs(1, 1);
  if (is_empty_optional(n.inputs().at(0)))
    fail_import(Code::kINVALID_NODE, "the optional holds nothing");
  n.set_output(0, n.inputs()[0]);
}

}  // namespace tenon
