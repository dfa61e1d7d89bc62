/// Tests a kit plugin through the whole of both protocols: create from fields, serialise, make
/// again, clone, negotiate types, infer shapes, run, compare. A test writes tensors; this does the
/// rest.
///
///     EXPECT_EQ(PluginCase("Twice").attribute("factor", 3.f)
///                   .in("x", {2}, {1, 2}).out("y", {2}, {3, 6}).check(), "");
///
/// Needs no engine and no GPU: kernels run on the CPU, on the calling thread.
#pragma once

#include <NvInfer.h>

#include <cmath>
#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/plugin.h"

namespace tenon {
namespace kit {
namespace testing {

/// Shape expressions over plain numbers: what a shape rule gives for certain shapes.
class NumberBuilder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder {
 public:
  NumberBuilder() { mImpl = this; }
  const nvinfer1::IDimensionExpr* constant(int64_t value) override {
    numbers_.push_back(std::make_unique<Number>(value));
    return numbers_.back().get();
  }
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation operation,
                                            const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) override {
    using Op = nvinfer1::DimensionOperation;
    const int64_t a = first.getConstantValue(), b = second.getConstantValue();
    switch (operation) {
      case Op::kSUM:
        return constant(a + b);
      case Op::kPROD:
        return constant(a * b);
      case Op::kMAX:
        return constant(std::max(a, b));
      case Op::kMIN:
        return constant(std::min(a, b));
      case Op::kSUB:
        return constant(a - b);
      case Op::kEQUAL:
        return constant(a == b);
      case Op::kLESS:
        return constant(a < b);
      case Op::kFLOOR_DIV:
        return b == 0 ? nullptr : constant(a / b - (a % b != 0 && (a < 0) != (b < 0)));
      case Op::kCEIL_DIV:
        return b == 0 ? nullptr : constant(a / b + (a % b != 0 && (a < 0) == (b < 0)));
    }
    return nullptr;
  }
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t, const nvinfer1::IDimensionExpr&,
                                                    const nvinfer1::IDimensionExpr&) override {
    return nullptr;
  }

 private:
  class Number final : public nvinfer1::IDimensionExpr, public nvinfer1::apiv::VDimensionExpr {
   public:
    explicit Number(int64_t value) : value_(value) { mImpl = this; }
    bool isConstant() const override { return true; }
    int64_t getConstantValue() const override { return value_; }
    bool isSizeTensor() const override { return false; }

   private:
    int64_t value_;
  };
  std::vector<std::unique_ptr<Number>> numbers_;
};

class PluginCase {
 public:
  explicit PluginCase(std::string name, std::string version = "1", std::string name_space = "")
      : key_(name + "/" + version + "/" + name_space), name_(std::move(name)) {}

  PluginCase& attribute(const char* name, int32_t value) {
    return field(name, PluginFieldType::kINT32, 1, &value, sizeof(value));
  }
  PluginCase& attribute(const char* name, int64_t value) {
    return field(name, PluginFieldType::kINT64, 1, &value, sizeof(value));
  }
  PluginCase& attribute(const char* name, float value) {
    return field(name, PluginFieldType::kFLOAT32, 1, &value, sizeof(value));
  }
  PluginCase& attribute(const char* name, const char* value) {
    const std::string_view text = value;
    return field(name, PluginFieldType::kCHAR, text.size(), text.data(), text.size());
  }
  PluginCase& attribute(const char* name, const std::vector<int32_t>& v) {
    return field(name, PluginFieldType::kINT32, v.size(), v.data(), v.size() * sizeof(int32_t));
  }
  PluginCase& attribute(const char* name, const std::vector<float>& v) {
    return field(name, PluginFieldType::kFLOAT32, v.size(), v.data(), v.size() * sizeof(float));
  }

  /// Tensors of the type variable T: the case is repeated for each of its types.
  PluginCase& in(const char* name, std::vector<int64_t> dims, std::vector<double> values) {
    return add(in_, name, dims, std::move(values), DataType::kFLOAT, true);
  }
  PluginCase& out(const char* name, std::vector<int64_t> dims, std::vector<double> values) {
    return add(out_, name, dims, std::move(values), DataType::kFLOAT, true);
  }
  /// Tensors of a type of their own.
  PluginCase& in(const char* name, DataType type, std::vector<int64_t> dims,
                 std::vector<double> values) {
    return add(in_, name, dims, std::move(values), type, false);
  }
  PluginCase& out(const char* name, DataType type, std::vector<int64_t> dims,
                  std::vector<double> values) {
    return add(out_, name, dims, std::move(values), type, false);
  }
  /// |got - expected| <= tolerance * (1 + |expected|), for fp32; fp16 has its own.
  PluginCase& tolerance(double fp32, double fp16) {
    fp32_tolerance_ = fp32;
    fp16_tolerance_ = fp16;
    return *this;
  }

  /// "" when all is well, else the first difference or error.
  std::string check() {
    const auto found = entries().find(key_);
    if (found == entries().end()) return name_ + " is not registered";
    const Entry& entry = found->second;
    std::vector<PluginField> fields;
    for (const Field& f : fields_)
      fields.emplace_back(f.name, f.data.data(), f.type, static_cast<int32_t>(f.length));
    const PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
    last_error().clear();
    std::string why = check_v3(entry, collection);
    if (!why.empty()) return why;
    why = check_v2(entry, collection);
    return why.empty() ? why : "version 2: " + why;
  }

 private:
  struct Field {
    const char* name;
    PluginFieldType type;
    size_t length;
    std::string data;
  };
  struct Value {
    std::string name;
    nvinfer1::Dims dims;
    std::vector<double> data;
    DataType type;
    bool follows_t;
  };
  // The tensors of one run.
  struct Run {
    std::vector<PluginTensorDesc> descs;
    std::vector<std::vector<char>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };

  PluginCase& field(const char* name, PluginFieldType type, size_t length, const void* data,
                    size_t bytes) {
    fields_.push_back({name, type, length, std::string(static_cast<const char*>(data), bytes)});
    return *this;
  }
  PluginCase& add(std::vector<Value>& list, const char* name, const std::vector<int64_t>& dims,
                  std::vector<double> values, DataType type, bool follows_t) {
    Value value{name, {}, std::move(values), type, follows_t};
    value.dims.nbDims = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), value.dims.d);
    list.push_back(std::move(value));
    return *this;
  }

  template <class F> static void for_types(TypeMask types, const F& f) {
    for (int t = 0; t < 30; ++t)
      if (types >> t & 1) f(static_cast<DataType>(t));
  }

  std::string check_v3(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
    using Plugin = std::unique_ptr<nvinfer1::IPluginV3>;
    const Plugin fresh(
        creator.createPlugin(name_.c_str(), &fields, nvinfer1::TensorRTPhase::kBUILD));
    if (!fresh) return "create: " + last_error();
    auto* runtime = static_cast<nvinfer1::IPluginV3OneRuntime*>(
        fresh->getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    const Plugin again(creator.createPlugin(name_.c_str(), runtime->getFieldsToSerialize(),
                                            nvinfer1::TensorRTPhase::kRUNTIME));
    if (!again) return "create from serialised fields: " + last_error();
    const Plugin copy(fresh->clone()), attached(runtime->attachToContext(nullptr));
    std::string why;
    for (nvinfer1::IPluginV3* plugin : {fresh.get(), again.get(), copy.get(), attached.get()})
      for_types(entry.types, [&](DataType t) {
        if (why.empty()) why = run_v3(entry, *plugin, t);
      });
    return why;
  }

  std::string run_v3(const Entry& entry, nvinfer1::IPluginV3& plugin, DataType t) {
    auto& build = *static_cast<nvinfer1::IPluginV3OneBuild*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kBUILD));
    auto& runtime = *static_cast<nvinfer1::IPluginV3OneRuntime*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    Run run = make_run(t);
    const int n = static_cast<int>(in_.size()), m = static_cast<int>(out_.size());
    if (build.getNbOutputs() != m)
      return "it has " + std::to_string(build.getNbOutputs()) + " outputs";
    std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic;
    for (const PluginTensorDesc& d : run.descs) dynamic.push_back({d, d.dims, d.dims, d.dims});
    for (int i = 0; i < n + m; ++i)
      if (!build.supportsFormatCombination(i, dynamic.data(), n, m)) return refused(i, run);
    std::vector<DataType> in_types, out_types(m);
    for (int i = 0; i < n; ++i) in_types.push_back(run.descs[i].type);
    if (build.getOutputDataTypes(out_types.data(), m, in_types.data(), n) != 0)
      return "getOutputDataTypes failed";
    for (int i = 0; i < m; ++i)
      if (out_types[i] != run.descs[n + i].type) return out_[i].name + " has another type";
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder);
    std::vector<DimsExprs> out(m);
    if (build.getOutputShapes(in.data(), n, nullptr, 0, out.data(), m, builder) != 0)
      return "shapes: " + last_error();
    if (std::string why = compare_shapes(out); !why.empty()) return why;
    if (build.configurePlugin(dynamic.data(), n, dynamic.data() + n, m) != 0)
      return "configure: " + last_error();
    if (runtime.onShapeChange(run.descs.data(), n, run.descs.data() + n, m) != 0)
      return "shape change: " + last_error();
    return execute(run, t, build.getWorkspaceSize(dynamic.data(), n, dynamic.data() + n, m),
                   [&](void* workspace) {
                     return entry.run_v3(&plugin, run.descs.data(), run.descs.data() + n,
                                         run.inputs.data(), run.outputs.data(), workspace);
                   });
  }

  std::string check_v2(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreator*>(entry.v2);
    const auto destroy = [](nvinfer1::IPluginV2* p) { p->destroy(); };
    using Plugin = std::unique_ptr<nvinfer1::IPluginV2, decltype(destroy)>;
    const Plugin fresh(creator.createPlugin(name_.c_str(), &fields), destroy);
    if (!fresh) return "create: " + last_error();
    std::vector<char> blob(fresh->getSerializationSize());
    fresh->serialize(blob.data());
    const Plugin again(creator.deserializePlugin(name_.c_str(), blob.data(), blob.size()), destroy);
    if (!again) return "deserialise: " + last_error();
    for (size_t size = 0; size < blob.size(); ++size) {
      const Plugin damaged(creator.deserializePlugin(name_.c_str(), blob.data(), size), destroy);
      if (damaged) return "deserialise: takes a truncated blob";
    }
    const Plugin copy(fresh->clone(), destroy);
    std::string why;
    for (nvinfer1::IPluginV2* plugin : {fresh.get(), again.get(), copy.get()})
      for_types(entry.types, [&](DataType t) {
        if (why.empty())
          why = run_v2(entry, *static_cast<nvinfer1::IPluginV2DynamicExt*>(plugin), t);
      });
    return why;
  }

  std::string run_v2(const Entry& entry, nvinfer1::IPluginV2DynamicExt& plugin, DataType t) {
    Run run = make_run(t);
    const int n = static_cast<int>(in_.size()), m = static_cast<int>(out_.size());
    for (int i = 0; i < n + m; ++i)
      if (!plugin.supportsFormatCombination(i, run.descs.data(), n, m)) return refused(i, run);
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder);
    std::vector<DimsExprs> out;
    for (int i = 0; i < m; ++i) out.push_back(plugin.getOutputDimensions(i, in.data(), n, builder));
    if (std::string why = compare_shapes(out); !why.empty()) return why;
    const size_t workspace = plugin.getWorkspaceSize(run.descs.data(), n, run.descs.data() + n, m);
    return execute(run, t, workspace, [&](void* memory) {
      return entry.run_v2(static_cast<nvinfer1::IPluginV2*>(&plugin), run.descs.data(),
                          run.descs.data() + n, run.inputs.data(), run.outputs.data(), memory);
    });
  }

  Run make_run(DataType t) const {
    Run run;
    for (const auto* list : {&in_, &out_})
      for (const Value& v : *list) {
        const DataType type = v.follows_t ? t : v.type;
        run.descs.push_back({v.dims, type, nvinfer1::PluginFormat::kLINEAR, 1});
        auto& memory = run.memory.emplace_back(v.data.size() * size_of(type));
        if (list == &in_)
          for (size_t i = 0; i < v.data.size(); ++i)
            poke(type, memory.data() + i * size_of(type), v.data[i]);
      }
    for (size_t i = 0; i < run.memory.size(); ++i) {
      if (i < in_.size())
        run.inputs.push_back(run.memory[i].data());
      else
        run.outputs.push_back(run.memory[i].data());
    }
    return run;
  }

  std::vector<DimsExprs> expressions(NumberBuilder& builder) const {
    std::vector<DimsExprs> list;
    for (const Value& v : in_) {
      DimsExprs& e = list.emplace_back();
      e.nbDims = v.dims.nbDims;
      for (int d = 0; d < e.nbDims; ++d) e.d[d] = builder.constant(v.dims.d[d]);
    }
    return list;
  }

  std::string compare_shapes(const std::vector<DimsExprs>& out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      const nvinfer1::Dims& wanted = out_[i].dims;
      bool equal = out[i].nbDims == wanted.nbDims;
      for (int d = 0; equal && d < wanted.nbDims; ++d)
        equal = out[i].d[d] != nullptr && out[i].d[d]->getConstantValue() == wanted.d[d];
      if (!equal) return out_[i].name + " has another shape; " + last_error();
    }
    return "";
  }

  std::string refused(int position, const Run& run) const {
    return "type " + std::to_string(static_cast<int>(run.descs[position].type))
           + " refused at position " + std::to_string(position);
  }

  template <class F>
  std::string execute(Run& run, DataType t, size_t workspace_bytes, const F& call) {
    std::vector<std::max_align_t> workspace(workspace_bytes / sizeof(std::max_align_t) + 1);
    if (call(workspace.data()) != 0) return "run: " + last_error();
    for (size_t o = 0; o < out_.size(); ++o) {
      const DataType type = run.descs[in_.size() + o].type;
      const double tolerance = t == DataType::kHALF ? fp16_tolerance_ : fp32_tolerance_;
      for (size_t i = 0; i < out_[o].data.size(); ++i) {
        const double want = out_[o].data[i];
        const double got = peek(type, run.memory[in_.size() + o].data() + i * size_of(type));
        const bool both_nan = std::isnan(want) && std::isnan(got);
        if (!both_nan && !(std::fabs(got - want) <= tolerance * (1 + std::fabs(want)))) {
          std::ostringstream text;
          text << out_[o].name << "[" << i << "] = " << got << ", expected " << want
               << " (data type " << static_cast<int>(t) << ")";
          return text.str();
        }
      }
    }
    return "";
  }

  template <class F> static auto with_type(DataType type, const F& f) {
    switch (type) {
      case DataType::kHALF:
        return f(Half{});
      case DataType::kINT32:
        return f(int32_t{});
      case DataType::kINT64:
        return f(int64_t{});
      case DataType::kINT8:
        return f(int8_t{});
      case DataType::kUINT8:
        return f(uint8_t{});
      case DataType::kBOOL:
        return f(bool{});
      default:
        return f(float{});
    }
  }
  static size_t size_of(DataType type) {
    return with_type(type, [](auto e) { return sizeof(e); });
  }
  static void poke(DataType type, char* at, double value) {
    with_type(type, [&](auto e) {
      e = static_cast<decltype(e)>(value);
      std::memcpy(at, &e, sizeof(e));
    });
  }
  static double peek(DataType type, const char* at) {
    return with_type(type, [&](auto e) {
      std::memcpy(&e, at, sizeof(e));
      return static_cast<double>(e);
    });
  }

  std::string key_, name_;
  std::vector<Field> fields_;
  std::vector<Value> in_, out_;
  double fp32_tolerance_ = 1e-5, fp16_tolerance_ = 2e-3;
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
