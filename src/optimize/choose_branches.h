// Conditionals whose condition is known when the network is built.
#pragma once

#include "network/network.h"

namespace tenon {

/// The layers of the body that runs take the conditional's place, where the condition follows from
/// constants and from extents that are constant, as those that every profile fixes. Where it does
/// not, and has to be decided now (Conditional::otherwise), body 1 takes it, with an assertion that
/// the condition is false. Shapes are known before and after.
void choose_branches(Network& network);

}  // namespace tenon
