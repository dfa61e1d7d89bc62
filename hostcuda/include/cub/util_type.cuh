/// Part of operators.cuh.
#pragma once

#include "cub/operators.cuh"
