// Networks cut into pieces, so that each piece can be given what another engine computed.
#ifndef TENON_COMPARE_CUT_H
#define TENON_COMPARE_CUT_H

#include <NvInfer.h>
#include <tenon/session/result.h>
#include <tenon/session/shape.h>

#include <string>
#include <vector>

namespace tenon::compare {

/// What the input is called that stands in for a tensor where the network was cut.
std::string cut_name(const std::string& tensor);

/// Cuts the network at tensors: layers that read one read a new input of its type instead, of the
/// given shape and named cut_name(), and the tensor itself becomes an output. So one run with the
/// tensors of another engine as inputs computes what each piece makes of what that engine's piece
/// was given. Left as they are, and not in the result: tensors that are no floats or decide shapes,
/// and what the network lacks.
/// @return the tensors that were cut.
session::Result<std::vector<std::string>> cut(nvinfer1::INetworkDefinition& network,
                                              const session::Shapes& tensors);

}  // namespace tenon::compare

#endif  // TENON_COMPARE_CUT_H
