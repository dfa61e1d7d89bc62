// Stages in front of networks and behind them, as models without a file: steps of ensembles.
#pragma once

#include <memory>
#include <string>

#include "pipeline_model.h"

namespace tenon::server {

/// By the configuration's `backend`, with its `parameters`:
///
/// "tenon_picture": a JPEG or PNG becomes a network's input.
///   inputs: "picture" UINT8 (bytes of the file)
///   outputs: "images" FP32 (1, 3, height, width), RGB; "placement" FP32 (8): the matrix from
///   pixels of the network's input to the picture's, row by row, and the picture's width and height
///   parameters: width, height; fit: letterbox, as Ultralytics', or resize; channels: rgb or bgr;
///   mean, std: one for each channel, of values from 0 to 1
///
/// "tenon_boxes": a detector's output becomes boxes.
///   inputs: "head" FP32 (1, rows, columns); "placement" FP32 (8)
///   outputs: "detection_boxes" FP32 (n, 4): left, top, right, bottom in pixels of the picture;
///   "detection_scores" FP32 (n); "detection_classes" INT32 (n), the best first
///   parameters: head: yolov5, yolov8 or yolov10; score_threshold, iou_threshold, max_boxes
///
/// An error for another backend, parameters that it does not have, and values out of range.
Result<std::shared_ptr<Model>> load_stage_model(const std::string& version,
                                                const ModelConfig& config,
                                                const QueueLimits& limits = {}) noexcept;

/// What the stages do, without a queue; throws an Error.
PipelineParts picture_stage(const ModelConfig& config);
PipelineParts boxes_stage(const ModelConfig& config);

}  // namespace tenon::server
