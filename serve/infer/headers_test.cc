// An application may include all headers of tenon/serve/.
#include <gtest/gtest.h>

#include "tenon/serve/blaze.h"
#include "tenon/serve/box.h"
#include "tenon/serve/center_net.h"
#include "tenon/serve/classification.h"
#include "tenon/serve/compile.h"
#include "tenon/serve/detect_options.h"
#include "tenon/serve/dlpack.h"
#include "tenon/serve/engine_instances.h"
#include "tenon/serve/faces.h"
#include "tenon/serve/image.h"
#include "tenon/serve/infer.h"
#include "tenon/serve/instances.h"
#include "tenon/serve/job.h"
#include "tenon/serve/letterbox.h"
#include "tenon/serve/matrix.h"
#include "tenon/serve/mix_memory.h"
#include "tenon/serve/nms.h"
#include "tenon/serve/norm.h"
#include "tenon/serve/oriented_boxes.h"
#include "tenon/serve/pipeline.h"
#include "tenon/serve/pipeline_core.h"
#include "tenon/serve/pipeline_job.h"
#include "tenon/serve/pipeline_options.h"
#include "tenon/serve/poses.h"
#include "tenon/serve/preprocess.h"
#include "tenon/serve/protect.h"
#include "tenon/serve/raw_yolo.h"
#include "tenon/serve/segmentation.h"
#include "tenon/serve/statistics.h"
#include "tenon/serve/tensor.h"
#include "tenon/serve/tensor_allocator.h"
#include "tenon/serve/tensor_file.h"
#include "tenon/serve/text.h"
#include "tenon/serve/text_boxes.h"
#include "tenon/serve/trt.h"
#include "tenon/serve/view.h"
#include "tenon/serve/yolo.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write

TEST(Headers, CanBeUsedTogether) {
  EXPECT_EQ(InstanceMask().mask.pixels.size(), 0u);
  EXPECT_EQ((Instance<int, int>().run), nullptr);
}

}  // namespace
