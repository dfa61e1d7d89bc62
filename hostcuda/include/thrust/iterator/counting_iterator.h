/// Part of iterators.h.
#pragma once

#include "thrust/iterator/iterators.h"
