/// CUDA C++'s language and built-in functions; tenon-nvcc includes it in front of every source.
#pragma once
#pragma GCC system_header

#include <assert.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tenon/hostcuda/atomics.h"
#include "tenon/hostcuda/bits.h"
#include "tenon/hostcuda/functions.h"
#include "tenon/hostcuda/launch.h"
#include "tenon/hostcuda/refused.h"
#include "tenon/hostcuda/rounding.h"
#include "tenon/hostcuda/symbols.h"
#include "tenon/hostcuda/warp.h"
#include "tenon/hostcuda/words.h"
