#include "tenon/serve/score_layers.h"

#include "guard.h"
#include "network_layers.h"

namespace tenon::serve {

using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

namespace {

// An output in float32, with classes that are known; throws Error for another rank.
Term scores_of(INetworkDefinition& network, const std::string& output, bool fits_rank(int rank),
               int axis, const char* expected) {
  ITensor& tensor = chosen_output(network, output);
  const nvinfer1::Dims dims = tensor.getDimensions();
  if (!fits_rank(dims.nbDims) || dims.d[axis] < 1)
    throw Error{std::string("output '") + tensor.getName() + "' is of shape " + dims_text(dims)
                + ": expected " + expected + " with a known number of classes"};
  return Term(network, tensor).cast(DataType::kFLOAT);
}

// The tensors of one job; throws Error unless they are two of the extent, labels and scores.
std::pair<std::span<const int32_t>, std::span<const float>> labels_and_scores(
    std::vector<Tensor>& outputs, const char* expected) {
  const auto is_of = [&](size_t i, DataType type) {
    return outputs[i].type() == type && outputs[i].ndims() == 2 && outputs[i].size(0) == 1;
  };
  if (outputs.size() < 2 || !is_of(0, DataType::kINT32) || !is_of(1, DataType::kFLOAT)
      || outputs[0].size(1) != outputs[1].size(1))
    throw Error{std::string("expected ") + expected + ": found " + std::to_string(outputs.size())
                + " other tensors"};
  const auto count = static_cast<size_t>(outputs[0].size(1));
  return {{session::value_of(outputs[0].cpu<int32_t>()), count},
          {session::value_of(outputs[1].cpu<float>()), count}};
}

}  // namespace

Result<void> append_classes(INetworkDefinition& network, const std::string& output, int32_t count,
                            bool is_logit) noexcept {
  return session::guard([&] {
    const Term given = scores_of(
        network, output, [](int rank) { return rank == 2 || rank == 4; }, 1,
        "(N, classes) or (N, classes, 1, 1)");
    const int64_t classes = given.size(1);
    if (given.rank() == 4 && (given.size(2) != 1 || given.size(3) != 1))
      throw Error{"scores of " + dims_text(given.tensor().getDimensions())
                  + ": expected (N, classes, 1, 1)"};
    if (count < 1 || count > classes || count > 3840)
      throw Error{"the " + std::to_string(count) + " best of " + std::to_string(classes)
                  + " classes: expected 1 to " + std::to_string(std::min<int64_t>(classes, 3840))};
    const Term rows = given.rank() == 4 ? given.reshape({0, classes}) : given;
    const auto [scores, labels] = (is_logit ? rows.softmax(1) : rows).best(count);
    replace_outputs(network, {&chosen_output(network, output)},
                    {{"class_labels", &labels.tensor()}, {"class_scores", &scores.tensor()}});
  });
}

Result<std::vector<ClassScore>> classes_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const auto [labels, scores] = labels_and_scores(
        outputs, "class_labels and class_scores (1, count), as append_classes makes them");
    std::vector<ClassScore> classes;
    for (size_t i = 0; i < labels.size(); ++i) classes.push_back({labels[i], scores[i]});
    return classes;
  });
}

Result<void> append_segmentation(INetworkDefinition& network, const std::string& output) noexcept {
  return session::guard([&] {
    const Term scores = scores_of(
        network, output, [](int rank) { return rank == 4; }, 1, "(N, classes, height, width)");
    const Term labels = scores.permute({0, 2, 3, 1}).best(1).indices.reshape({0, 0, 0});
    replace_outputs(network, {&chosen_output(network, output)},
                    {{"cell_labels", &labels.tensor()}});
  });
}

Result<void> append_text(INetworkDefinition& network, const std::string& output,
                         bool is_logit) noexcept {
  return session::guard([&] {
    const Term given =
        scores_of(network, output, [](int rank) { return rank == 3; }, 2, "(N, steps, classes)");
    const auto [scores, labels] = (is_logit ? given.softmax(2) : given).best(1);
    const Term best_scores = scores.reshape({0, 0}), best_labels = labels.reshape({0, 0});
    replace_outputs(
        network, {&chosen_output(network, output)},
        {{"step_labels", &best_labels.tensor()}, {"step_scores", &best_scores.tensor()}});
  });
}

Result<Text> text_of(std::vector<Tensor>& outputs, std::span<const std::string> alphabet,
                     int64_t blank) noexcept {
  return session::guard([&] {
    const auto [labels, scores] = labels_and_scores(
        outputs, "step_labels and step_scores (1, steps), as append_text makes them");
    return session::value_of(decode_text(labels, scores, alphabet, blank));
  });
}

}  // namespace tenon::serve
