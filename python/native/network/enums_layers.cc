// The enumerations that say what layers do.
#include <NvInfer.h>

#include "bind.h"
#include "enums.h"

namespace tenon::python {

using namespace nvinfer1;

void bind_layer_enums(nb::module_& m) {
  {
    using E = ActivationType;
    bind_enum<E>(m, "ActivationType", "An activation layer's function.",
                 {{"RELU", E::kRELU},
                  {"SIGMOID", E::kSIGMOID},
                  {"TANH", E::kTANH},
                  {"LEAKY_RELU", E::kLEAKY_RELU},
                  {"ELU", E::kELU},
                  {"SELU", E::kSELU},
                  {"SOFTSIGN", E::kSOFTSIGN},
                  {"SOFTPLUS", E::kSOFTPLUS},
                  {"CLIP", E::kCLIP},
                  {"HARD_SIGMOID", E::kHARD_SIGMOID},
                  {"SCALED_TANH", E::kSCALED_TANH},
                  {"THRESHOLDED_RELU", E::kTHRESHOLDED_RELU},
                  {"GELU_ERF", E::kGELU_ERF},
                  {"GELU_TANH", E::kGELU_TANH}});
  }
  {
    using E = AttentionNormalizationOp;
    bind_enum<E>(m, "AttentionNormalizationOp", "What normalizes attention's scores.",
                 {{"NONE", E::kNONE}, {"SOFTMAX", E::kSOFTMAX}});
  }
  {
    using E = BoundingBoxFormat;
    bind_enum<E>(m, "BoundingBoxFormat", "How a box's four numbers are read.",
                 {{"CORNER_PAIRS", E::kCORNER_PAIRS}, {"CENTER_SIZES", E::kCENTER_SIZES}});
  }
  {
    using E = CollectiveOperation;
    bind_enum<E>(m, "CollectiveOperation", "What several processes do together.",
                 {{"ALL_REDUCE", E::kALL_REDUCE},
                  {"ALL_GATHER", E::kALL_GATHER},
                  {"BROADCAST", E::kBROADCAST},
                  {"REDUCE", E::kREDUCE},
                  {"REDUCE_SCATTER", E::kREDUCE_SCATTER}});
  }
  {
    using E = CumulativeOperation;
    bind_enum<E>(m, "CumulativeOperation", "A cumulative layer's operation.", {{"SUM", E::kSUM}});
  }
  {
    using E = ElementWiseOperation;
    bind_enum<E>(m, "ElementWiseOperation", "An elementwise layer's operation.",
                 {{"SUM", E::kSUM},
                  {"PROD", E::kPROD},
                  {"MAX", E::kMAX},
                  {"MIN", E::kMIN},
                  {"SUB", E::kSUB},
                  {"DIV", E::kDIV},
                  {"POW", E::kPOW},
                  {"FLOOR_DIV", E::kFLOOR_DIV},
                  {"AND", E::kAND},
                  {"OR", E::kOR},
                  {"XOR", E::kXOR},
                  {"EQUAL", E::kEQUAL},
                  {"GREATER", E::kGREATER},
                  {"LESS", E::kLESS}});
  }
  {
    using E = FillOperation;
    bind_enum<E>(m, "FillOperation", "What a fill layer writes.",
                 {{"LINSPACE", E::kLINSPACE},
                  {"RANDOM_UNIFORM", E::kRANDOM_UNIFORM},
                  {"RANDOM_NORMAL", E::kRANDOM_NORMAL}});
  }
  {
    using E = GatherMode;
    bind_enum<E>(m, "GatherMode",
                 "Which elements a gather layer takes (ONNX Gather, GatherElements, GatherND).",
                 {{"DEFAULT", E::kDEFAULT}, {"ELEMENT", E::kELEMENT}, {"ND", E::kND}});
  }
  {
    using E = InterpolationMode;
    bind_enum<E>(m, "InterpolationMode", "How values between samples are found.",
                 {{"NEAREST", E::kNEAREST}, {"LINEAR", E::kLINEAR}, {"CUBIC", E::kCUBIC}});
  }
  {
    using E = KVCacheMode;
    bind_enum<E>(m, "KVCacheMode", "How a cache of keys and values is written.",
                 {{"LINEAR", E::kLINEAR}});
  }
  {
    using E = LayerType;
    bind_enum<E>(m, "LayerType", "The kind of a layer.",
                 {{"CONVOLUTION", E::kCONVOLUTION},
                  {"GRID_SAMPLE", E::kGRID_SAMPLE},
                  {"NMS", E::kNMS},
                  {"ACTIVATION", E::kACTIVATION},
                  {"POOLING", E::kPOOLING},
                  {"LRN", E::kLRN},
                  {"SCALE", E::kSCALE},
                  {"SOFTMAX", E::kSOFTMAX},
                  {"DECONVOLUTION", E::kDECONVOLUTION},
                  {"CONCATENATION", E::kCONCATENATION},
                  {"ELEMENTWISE", E::kELEMENTWISE},
                  {"PLUGIN", E::kPLUGIN},
                  {"UNARY", E::kUNARY},
                  {"PADDING", E::kPADDING},
                  {"SHUFFLE", E::kSHUFFLE},
                  {"REDUCE", E::kREDUCE},
                  {"TOPK", E::kTOPK},
                  {"GATHER", E::kGATHER},
                  {"MATRIX_MULTIPLY", E::kMATRIX_MULTIPLY},
                  {"RAGGED_SOFTMAX", E::kRAGGED_SOFTMAX},
                  {"CONSTANT", E::kCONSTANT},
                  {"IDENTITY", E::kIDENTITY},
                  {"CAST", E::kCAST},
                  {"PLUGIN_V2", E::kPLUGIN_V2},
                  {"SLICE", E::kSLICE},
                  {"SHAPE", E::kSHAPE},
                  {"PARAMETRIC_RELU", E::kPARAMETRIC_RELU},
                  {"RESIZE", E::kRESIZE},
                  {"TRIP_LIMIT", E::kTRIP_LIMIT},
                  {"RECURRENCE", E::kRECURRENCE},
                  {"ITERATOR", E::kITERATOR},
                  {"LOOP_OUTPUT", E::kLOOP_OUTPUT},
                  {"SELECT", E::kSELECT},
                  {"ASSERTION", E::kASSERTION},
                  {"FILL", E::kFILL},
                  {"QUANTIZE", E::kQUANTIZE},
                  {"DEQUANTIZE", E::kDEQUANTIZE},
                  {"CONDITION", E::kCONDITION},
                  {"CONDITIONAL_INPUT", E::kCONDITIONAL_INPUT},
                  {"CONDITIONAL_OUTPUT", E::kCONDITIONAL_OUTPUT},
                  {"SCATTER", E::kSCATTER},
                  {"EINSUM", E::kEINSUM},
                  {"ONE_HOT", E::kONE_HOT},
                  {"NON_ZERO", E::kNON_ZERO},
                  {"REVERSE_SEQUENCE", E::kREVERSE_SEQUENCE},
                  {"NORMALIZATION", E::kNORMALIZATION},
                  {"PLUGIN_V3", E::kPLUGIN_V3},
                  {"SQUEEZE", E::kSQUEEZE},
                  {"UNSQUEEZE", E::kUNSQUEEZE},
                  {"CUMULATIVE", E::kCUMULATIVE},
                  {"DYNAMIC_QUANTIZE", E::kDYNAMIC_QUANTIZE},
                  {"ATTENTION_INPUT", E::kATTENTION_INPUT},
                  {"ATTENTION_OUTPUT", E::kATTENTION_OUTPUT},
                  {"ROTARY_EMBEDDING", E::kROTARY_EMBEDDING},
                  {"KV_CACHE_UPDATE", E::kKVCACHE_UPDATE},
                  {"MOE", E::kMOE},
                  {"DIST_COLLECTIVE", E::kDIST_COLLECTIVE},
                  {"FULLY_CONNECTED", E::kFULLY_CONNECTED},
                  {"RNN_V2", E::kRNN_V2}});
  }
  {
    using E = LoopOutput;
    bind_enum<E>(m, "LoopOutput", "What a loop gives of a tensor of its body.",
                 {{"LAST_VALUE", E::kLAST_VALUE},
                  {"CONCATENATE", E::kCONCATENATE},
                  {"REVERSE", E::kREVERSE}});
  }
  {
    using E = MatrixOperation;
    bind_enum<E>(m, "MatrixOperation", "How a matrix multiplication reads a factor.",
                 {{"NONE", E::kNONE}, {"TRANSPOSE", E::kTRANSPOSE}, {"VECTOR", E::kVECTOR}});
  }
  {
    using E = MoEActType;
    bind_enum<E>(m, "MoEActType", "The activation of a mixture of experts.",
                 {{"NONE", E::kNONE}, {"SILU", E::kSILU}});
  }
  {
    using E = PaddingMode;
    bind_enum<E>(m, "PaddingMode", "How a window layer rounds and pads.",
                 {{"EXPLICIT_ROUND_DOWN", E::kEXPLICIT_ROUND_DOWN},
                  {"EXPLICIT_ROUND_UP", E::kEXPLICIT_ROUND_UP},
                  {"SAME_UPPER", E::kSAME_UPPER},
                  {"SAME_LOWER", E::kSAME_LOWER},
                  {"CAFFE_ROUND_DOWN", E::kCAFFE_ROUND_DOWN},
                  {"CAFFE_ROUND_UP", E::kCAFFE_ROUND_UP}});
  }
  {
    using E = PoolingType;
    bind_enum<E>(
        m, "PoolingType", "What a pooling layer takes of its window.",
        {{"MAX", E::kMAX}, {"AVERAGE", E::kAVERAGE}, {"MAX_AVERAGE_BLEND", E::kMAX_AVERAGE_BLEND}});
  }
  {
    using E = ReduceOperation;
    bind_enum<E>(m, "ReduceOperation", "What a reduce layer makes of its axes.",
                 {{"SUM", E::kSUM},
                  {"PROD", E::kPROD},
                  {"MAX", E::kMAX},
                  {"MIN", E::kMIN},
                  {"AVG", E::kAVG},
                  {"NONE", E::kNONE}});
  }
  {
    using E = ResizeCoordinateTransformation;
    bind_enum<E>(m, "ResizeCoordinateTransformation",
                 "How a resize layer's output coordinates map to its input's.",
                 {{"ALIGN_CORNERS", E::kALIGN_CORNERS},
                  {"ASYMMETRIC", E::kASYMMETRIC},
                  {"HALF_PIXEL", E::kHALF_PIXEL}});
  }
  {
    using E = ResizeRoundMode;
    bind_enum<E>(m, "ResizeRoundMode", "How a nearest resize rounds a coordinate.",
                 {{"HALF_UP", E::kHALF_UP},
                  {"HALF_DOWN", E::kHALF_DOWN},
                  {"FLOOR", E::kFLOOR},
                  {"CEIL", E::kCEIL}});
  }
  {
    using E = ResizeSelector;
    bind_enum<E>(m, "ResizeSelector", "Which coordinate a resize takes when an output extent is 1.",
                 {{"FORMULA", E::kFORMULA}, {"UPPER", E::kUPPER}});
  }
  {
    using E = SampleMode;
    bind_enum<E>(m, "SampleMode", "What is read outside of a tensor.",
                 {{"STRICT_BOUNDS", E::kSTRICT_BOUNDS},
                  {"WRAP", E::kWRAP},
                  {"CLAMP", E::kCLAMP},
                  {"FILL", E::kFILL},
                  {"REFLECT", E::kREFLECT},
                  {"DEFAULT", E::kDEFAULT}});
  }
  {
    using E = ScaleMode;
    bind_enum<E>(
        m, "ScaleMode", "What one shift, scale and power belong to.",
        {{"UNIFORM", E::kUNIFORM}, {"CHANNEL", E::kCHANNEL}, {"ELEMENTWISE", E::kELEMENTWISE}});
  }
  {
    using E = ScatterMode;
    bind_enum<E>(m, "ScatterMode",
                 "Which elements a scatter layer writes (ONNX ScatterElements, ScatterND).",
                 {{"ELEMENT", E::kELEMENT}, {"ND", E::kND}});
  }
  {
    using E = TopKOperation;
    bind_enum<E>(m, "TopKOperation", "Which elements a top-k layer takes.",
                 {{"MAX", E::kMAX}, {"MIN", E::kMIN}});
  }
  {
    using E = TripLimit;
    bind_enum<E>(m, "TripLimit", "What ends a loop.", {{"COUNT", E::kCOUNT}, {"WHILE", E::kWHILE}});
  }
  {
    using E = UnaryOperation;
    bind_enum<E>(
        m, "UnaryOperation", "A unary layer's function.",
        {{"EXP", E::kEXP},     {"LOG", E::kLOG},   {"SQRT", E::kSQRT},   {"RECIP", E::kRECIP},
         {"ABS", E::kABS},     {"NEG", E::kNEG},   {"SIN", E::kSIN},     {"COS", E::kCOS},
         {"TAN", E::kTAN},     {"SINH", E::kSINH}, {"COSH", E::kCOSH},   {"ASIN", E::kASIN},
         {"ACOS", E::kACOS},   {"ATAN", E::kATAN}, {"ASINH", E::kASINH}, {"ACOSH", E::kACOSH},
         {"ATANH", E::kATANH}, {"CEIL", E::kCEIL}, {"FLOOR", E::kFLOOR}, {"ERF", E::kERF},
         {"NOT", E::kNOT},     {"SIGN", E::kSIGN}, {"ROUND", E::kROUND}, {"ISINF", E::kISINF},
         {"ISNAN", E::kISNAN}});
  }
  // 8.x names.
  bind_enum<RNNOperation>(m, "RNNOperation", "Of 8.x: the cell of a recurrent layer.",
                          {{"RELU", RNNOperation::kRELU},
                           {"TANH", RNNOperation::kTANH},
                           {"LSTM", RNNOperation::kLSTM},
                           {"GRU", RNNOperation::kGRU}});
  bind_enum<RNNDirection>(
      m, "RNNDirection", "Of 8.x: the direction of a recurrent layer.",
      {{"UNIDIRECTION", RNNDirection::kUNIDIRECTION}, {"BIDIRECTION", RNNDirection::kBIDIRECTION}});
  bind_enum<RNNInputMode>(m, "RNNInputMode",
                          "Of 8.x: whether a recurrent layer's input has weights.",
                          {{"LINEAR", RNNInputMode::kLINEAR}, {"SKIP", RNNInputMode::kSKIP}});
  bind_enum<RNNGateType>(m, "RNNGateType", "Of 8.x: a gate of a recurrent layer.",
                         {{"INPUT", RNNGateType::kINPUT},
                          {"OUTPUT", RNNGateType::kOUTPUT},
                          {"FORGET", RNNGateType::kFORGET},
                          {"UPDATE", RNNGateType::kUPDATE},
                          {"RESET", RNNGateType::kRESET},
                          {"CELL", RNNGateType::kCELL},
                          {"HIDDEN", RNNGateType::kHIDDEN}});
  m.attr("ResizeMode") = m.attr("InterpolationMode");
  m.attr("SliceMode") = m.attr("SampleMode");
}

}  // namespace tenon::python
