/// Where the tutorial's sources look for the layer.
#pragma once

#include "../onnxplugin/onnxplugin.hpp"
