/// Part of block_exchange.cuh.
#pragma once

#include "cub/block/block_exchange.cuh"
