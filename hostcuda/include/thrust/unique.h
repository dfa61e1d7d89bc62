/// Part of core.h.
#pragma once

#include "thrust/core.h"
