// What nodes read, with what graphs inside them read from around them; renaming of values.
#pragma once

#include <string_view>
#include <vector>

#include "edit/store.h"

namespace tenon::edit {

/// Values of the node's graph, or of those around it, that the node and graphs inside it read.
std::vector<std::string_view> reads_of(const Store& store, Id node);

/// The value gets another name everywhere: where it is made, read and described.
void rename_value(Store& store, Id graph, std::string_view from, std::string_view to);

/// The same, for a name that an output of the graph has and whose type stays as it is.
void take_name(Store& store, Id graph, std::string_view from, std::string_view to);

/// True when the value is an output of its graph.
bool is_output(const Store& store, Id graph, std::string_view name);

}  // namespace tenon::edit
