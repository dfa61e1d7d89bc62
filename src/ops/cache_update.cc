#include "ops/cache_update.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(CacheUpdate);

void CacheUpdate::visit(FieldVisitor& v) {
  v("axis", axis);
  v("circular", circular);
}

void CacheUpdate::infer(Inference& c) const {
  require_inputs(c, 2, 3);
  require_type_of_data(c, 1, "the update");
  const Dims &cache = c.dims(0), &update = c.dims(1);
  require(cache.size() == update.size() && cache.size() >= 2,
          "expected a cache and an update of the same rank, 2 or more, found {} and {}",
          text_of(cache), text_of(update));
  const int along = normalized_axis(axis, c.rank(0));
  require(along > 0, "axis 0 is that of the batch");
  for (size_t i = 0; i < cache.size(); ++i) {
    if (!cache[i]->is_integer_constant() || !update[i]->is_integer_constant()) continue;
    const bool fits = static_cast<int>(i) == along
                          ? update[i]->value.integer <= cache[i]->value.integer
                          : update[i] == cache[i];
    require(fits, "an update of {} does not fit a cache of {}", text_of(update), text_of(cache));
  }
  if (c.has_input(2)) {
    require_index(c, 2, "the places");
    require(c.rank(2) == 1, "expected places of one dimension, found {}", text_of(c.dims(2)));
    if (c.dims(2)[0]->is_integer_constant() && cache[0]->is_integer_constant())
      require(c.dims(2)[0] == cache[0], "expected {} places, found {}", text_of(cache[0]),
              text_of(c.dims(2)[0]));
  }
  c.set_output(0, c.type(0), cache);
}

void CacheUpdate::reference(const ReferenceCall& call) const {
  const Shape &cache = call.inputs[0].shape, &update = call.inputs[1].shape;
  require_output(call.outputs[0], cache);
  const int along = normalized_axis(axis, cache.rank());
  Shape expected = cache;
  expected[along] = update.rank() == cache.rank() ? update[along] : -1;
  require(update == expected && update[along] <= cache[along],
          "an update of {} does not fit a cache of {}", update, cache);
  std::vector<int64_t> places(static_cast<size_t>(cache[0]), 0);
  if (call.inputs.size() > 2 && call.inputs[2].data != nullptr)
    places = read_integers(call.inputs[2]);
  require(static_cast<int64_t>(places.size()) == cache[0], "{} positions were given for {} batches",
          places.size(), cache[0]);
  const int64_t length = cache[along], added = update[along];
  for (int64_t& place : places) {
    require(circular ? place >= 0 : place >= 0 && place <= length - added,
            "place {} is outside [0, {}]", place, length - added);
    if (length > 0) place %= circular ? length : length + 1;
  }
  copy_bytes(call.outputs[0].data, call.inputs[0].data,
             element_bytes(call.inputs[0].type) * static_cast<size_t>(cache.volume()));
  const size_t bytes = element_bytes(call.inputs[0].type)
                       * static_cast<size_t>(cache.volume(along + 1, cache.rank()));
  const int64_t outer = cache.volume(0, along);
  if (bytes == 0 || outer == 0) return;
  const int64_t per_batch = outer / cache[0];
  const auto* from = call.inputs[1].as<std::byte>();
  auto* to = call.outputs[0].as<std::byte>();
  parallel_for(outer * added, std::max<int64_t>(1, 65536 / static_cast<int64_t>(bytes)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t o = i / added;
                   int64_t at = places[static_cast<size_t>(o / per_batch)] + i % added;
                   if (at >= length) at -= length;
                   std::memcpy(to + static_cast<size_t>(o * length + at) * bytes,
                               from + static_cast<size_t>(i) * bytes, bytes);
                 }
               });
}

}  // namespace tenon
