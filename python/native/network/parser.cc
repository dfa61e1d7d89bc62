// OnnxParser and its errors.
#include <NvOnnxParser.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <string>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"

namespace tenon::python {
namespace {

using nvonnxparser::IParser;
using nvonnxparser::IParserError;
using nvonnxparser::OnnxParserFlag;

// A parser that several threads may use: one waits for the other, without the GIL.
class Parser {
 public:
  explicit Parser(std::shared_ptr<IParser> parser) : parser_(std::move(parser)) {}

  // Runs `call(parser)` as work of the engine. A logger in Python may use the parser meanwhile.
  template <class Call> auto call(Call&& call) {
    return into_engine([&] {
      const std::lock_guard lock(busy_);
      return call(*parser_);
    });
  }

 private:
  const std::shared_ptr<IParser> parser_;
  std::recursive_mutex busy_;
};

// A method of the parser as a binding.
template <class R, class... Args> auto method(R (IParser::*function)(Args...) noexcept) {
  return [function](Parser& self, Args... args) {
    return self.call([&](IParser& parser) { return (parser.*function)(args...); });
  };
}
template <class R, class... Args> auto method(R (IParser::*function)(Args...) const noexcept) {
  return [function](Parser& self, Args... args) {
    return self.call([&](const IParser& parser) { return (parser.*function)(args...); });
  };
}

// The network's weights lie in the parser, so it lives as long as both of them; the parser's
// object, in turn, keeps the network.
void create_parser(nb::pointer_and_handle<Parser> self,
                   nb::handle_t<nvinfer1::INetworkDefinition> network, nvinfer1::ILogger& logger) {
  auto& target = nb::cast<nvinfer1::INetworkDefinition&>(network);
  const auto release = [](IParser* parser) {
    const Released released;
    delete parser;
  };
  const std::shared_ptr<IParser> parser(
      into_engine([&] { return nvonnxparser::createParser(target, logger); }), release);
  if (parser == nullptr) throw std::runtime_error("OnnxParser: the log says what is wrong");
  new (self.p) Parser(parser);
  keep_parent(self.h, network);
  nb::keep_alive_cb(network, new std::shared_ptr(parser), [](void* shared) noexcept {
    delete static_cast<std::shared_ptr<IParser>*>(shared);
  });
}

using Path = std::optional<std::string>;

const char* pointer_of(const Path& path) {
  return path ? path->c_str() : nullptr;
}

// A method that reads a model as a binding.
template <class R> auto reading(R (IParser::*function)(const void*, size_t, const char*) noexcept) {
  return [function](Parser& self, const Bytes& model, const Path& path) {
    return self.call([&](IParser& parser) {
      return (parser.*function)(model.data(), model.size(), pointer_of(path));
    });
  };
}

using SubGraph = std::pair<std::vector<size_t>, bool>;

std::pair<bool, std::vector<SubGraph>> supports_model(Parser& self, const Bytes& model,
                                                      const Path& path) {
  std::vector<SubGraph> parts;
  const bool supported = self.call([&](IParser& parser) {
    return parser.supportsModel(model.data(), model.size(), parts, pointer_of(path));
  });
  return {supported, std::move(parts)};
}

std::vector<int64_t> subgraph_nodes(Parser& self, int64_t index) {
  return self.call([&](IParser& parser) {
    int64_t count = 0;
    const int64_t* const nodes = parser.getSubgraphNodes(index, count);
    return nodes != nullptr ? std::vector<int64_t>(nodes, nodes + count) : std::vector<int64_t>();
  });
}

std::vector<std::string> used_libraries(Parser& self) {
  return self.call([](const IParser& parser) {
    int64_t count = 0;
    const char* const* const paths = parser.getUsedVCPluginLibraries(count);
    return std::vector<std::string>(paths, paths + count);
  });
}

// A copy: the parser forgets its errors when the next model is read.
struct ParserError {
  explicit ParserError(const IParserError& e)
      : code(e.code()),
        desc(e.desc()),
        file(e.file()),
        func(e.func()),
        line(e.line()),
        node(e.node()),
        node_name(e.nodeName()),
        node_operator(e.nodeOperator()),
        function_stack(e.localFunctionStack(),
                       e.localFunctionStack() + e.localFunctionStackSize()) {}

  nvonnxparser::ErrorCode code;
  std::string desc, file, func;
  int line, node;
  std::string node_name, node_operator;
  std::vector<std::string> function_stack;
};

std::string text_of(const ParserError& error) {
  std::string text;
  if (error.node >= 0)
    text = "node " + std::to_string(error.node) + " (" + error.node_name + ", "
           + error.node_operator + "): ";
  return text + nb::cast<std::string>(nb::cast(error.code).attr("name")) + ": " + error.desc;
}

template <class Source> std::optional<ParserError> error_of(const Source& parser, int index) {
  const IParserError* const error = parser.getError(index);
  return error != nullptr ? std::optional<ParserError>(*error) : std::nullopt;
}

// TensorRT's are methods, not properties.
template <auto field> auto get(const ParserError& error) {
  return error.*field;
}

void bind_error(nb::module_& m) {
  nb::class_<ParserError>(m, "ParserError", "One error of a parser.")
      .def("code", &get<&ParserError::code>)
      .def("desc", &get<&ParserError::desc>, "The text: where, why and what to do.")
      .def("file", &get<&ParserError::file>, "The library's source file.")
      .def("line", &get<&ParserError::line>)
      .def("func", &get<&ParserError::func>)
      .def("node", &get<&ParserError::node>, "The node's index in the model; -1 if about none.")
      .def("node_name", &get<&ParserError::node_name>)
      .def("node_operator", &get<&ParserError::node_operator>)
      .def("local_function_stack", &get<&ParserError::function_stack>,
           "The model's functions that the node lies in, outermost first.")
      .def("local_function_stack_size",
           [](const ParserError& error) { return error.function_stack.size(); })
      .def("__str__", &text_of)
      .def("__repr__", &text_of);
}

void bind_reading(nb::class_<Parser>& parser) {
  const auto model = nb::arg("model");
  const auto path = nb::arg("path") = nb::none();
  parser
      .def("parse", reading(&IParser::parse), model, path,
           "Reads a model into the network; `path` is where its external data lie. False on "
           "failure, with the errors kept.")
      .def(
          "parse_with_weight_descriptors",
          [](Parser& self, const Bytes& bytes) {
            return reading(&IParser::parse)(self, bytes, {});
          },
          model, "As parse().")
      .def(
          "parse_from_file",
          [](Parser& self, const char* file) {
            return self.call([&](IParser& engine) {
              return engine.parseFromFile(file,
                                          static_cast<int>(nvinfer1::ILogger::Severity::kVERBOSE));
            });
          },
          model, "Reads a model from a file; False on failure.")
      .def("supports_operator", method(&IParser::supportsOperator), nb::arg("op_name"),
           "Whether the parser itself supports an operator.")
      .def("supports_model", &supports_model, model, path,
           "Whether a model could be read, and its parts: (nodes, whether they could).")
      .def("supports_model_v2", reading(&IParser::supportsModelV2), model, path,
           "Whether a model could be read; the subgraphs tell of its parts.")
      .def_prop_ro("num_subgraphs", method(&IParser::getNbSubgraphs))
      .def("is_subgraph_supported", method(&IParser::isSubgraphSupported), nb::arg("index"))
      .def("get_subgraph_nodes", &subgraph_nodes, nb::arg("index"),
           "The nodes of a part; an empty list if there is no such part.")
      .def("load_model_proto", reading(&IParser::loadModelProto), model, path,
           "Takes a model, copied, without its weights yet; False on failure.")
      .def(
          "load_initializer",
          [](Parser& self, const char* name, Address data, size_t size) {
            return self.call(
                [&](IParser& engine) { return engine.loadInitializer(name, data.as(), size); });
          },
          nb::arg("name"), nb::arg("data"), nb::arg("size"),
          "Gives the weights of an initializer by address and size in bytes; they are not copied "
          "and must stay until the build. False if there is none of this name or size.")
      .def("parse_model_proto", method(&IParser::parseModelProto),
           "Reads the model taken before; False on failure.");
}

void bind_parser_refitter(nb::module_& m) {
  using Refitter = nvonnxparser::IParserRefitter;
  const auto model = nb::arg("model");
  const auto path = nb::arg("path") = nb::none();
  handle_class<Refitter>(m, "OnnxParserRefitter",
                         "Gives a refitter the weights of an ONNX model that has the layers of the "
                         "engine's.")
      .def(nb::new_([](nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger) {
             auto parser = into_engine(
                 [&] { return Owned(nvonnxparser::createParserRefitter(refitter, logger)); });
             if (parser.handle == nullptr) not_made("OnnxParserRefitter");
             return parser;
           }),
           nb::arg("refitter"), nb::arg("logger"), keeps<0, 2>(), keeps<0, 3>())
      .def(
          "refit_from_bytes",
          [](Refitter& self, const Bytes& bytes, const Path& where) {
            return into_engine(
                [&] { return self.refitFromBytes(bytes.data(), bytes.size(), pointer_of(where)); });
          },
          model, path, "Takes the weights of a model; False on failure, with the errors kept.")
      .def("refit_from_file", engine_call(&Refitter::refitFromFile), model,
           "Takes the weights of a model in a file; False on failure.")
      .def_prop_ro("num_errors", engine_call(&Refitter::getNbErrors))
      .def("get_error", &error_of<Refitter>, nb::arg("index"))
      .def("clear_errors", engine_call(&Refitter::clearErrors))
      .def(
          "load_model_proto",
          [](Refitter& self, const Bytes& bytes, const Path& where) {
            return into_engine(
                [&] { return self.loadModelProto(bytes.data(), bytes.size(), pointer_of(where)); });
          },
          model, path, "Takes a model, copied, without its weights yet; False on failure.")
      .def(
          "load_initializer",
          [](Refitter& self, const char* name, Address data, size_t size) {
            return into_engine([&] { return self.loadInitializer(name, data.as(), size); });
          },
          nb::arg("name"), nb::arg("data"), nb::arg("size"))
      .def("refit_model_proto", engine_call(&Refitter::refitModelProto));
}

}  // namespace

void bind_parser(nb::module_& m) {
  bind_error(m);
  bind_parser_refitter(m);
  auto parser = handle_class<Parser>(
      m, "OnnxParser", "Adds the layers of ONNX models to a network. Keeps network and logger.");
  parser.def("__init__", &create_parser, nb::arg("network"), nb::arg("logger"), keeps<1, 3>())
      .def_prop_ro("num_errors", method(&IParser::getNbErrors))
      .def(
          "get_error",
          [](Parser& self, int index) {
            return self.call([&](const IParser& engine) { return error_of(engine, index); });
          },
          nb::arg("index"), "Error `index`; None if there is none.")
      .def("clear_errors", method(&IParser::clearErrors))
      .def_prop_rw("flags", method(&IParser::getFlags), method(&IParser::setFlags),
                   "Bit n stands for value n of OnnxParserFlag.")
      .def("clear_flag", method(&IParser::clearFlag), nb::arg("flag"))
      .def("set_flag", method(&IParser::setFlag), nb::arg("flag"))
      .def("get_flag", method(&IParser::getFlag), nb::arg("flag"))
      .def(
          "get_layer_output_tensor",
          [](Parser& self, const char* name, int64_t i) {
            return self.call([&](IParser& engine) {
              return const_cast<nvinfer1::ITensor*>(engine.getLayerOutputTensor(name, i));
            });
          },
          nb::arg("name"), nb::arg("i"), nb::rv_policy::reference_internal,
          "Output `i` of the layer that a node became; None if there is none.")
      .def("get_used_vc_plugin_libraries", &used_libraries,
           "The plugin libraries that the network needs where it runs.")
      .def("set_builder_config", method(&IParser::setBuilderConfig), nb::arg("builder_config"),
           "Tells the configuration that the network will be built with.");
  bind_reading(parser);
  m.def("get_nv_onnx_parser_version", &getNvOnnxParserVersion, "The parser's version.");
}

}  // namespace tenon::python
