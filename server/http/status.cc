#include "status.h"

#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <istream>
#include <map>
#include <utility>
#include <vector>

#include "guard.h"

namespace tenon::server {
namespace {

using session::Error;
using Labels = std::map<std::string, std::string>;

struct Bucket {
  double bound = 0, up_to = 0;
};

// Of a version of a model.
struct StatusRow {
  std::string state = "READY";
  std::map<std::string, double> values;  // by the name of the metric
  std::vector<Bucket> times;             // ascending

  double value(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? 0 : found->second;
  }
};

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double status_number(std::string_view text) {
  double value = NAN;
  if (text == "+Inf") return INFINITY;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// `key="value",...`, with \\, \" and \n.
Labels labels_of(std::string_view text) {
  Labels labels;
  for (size_t at = 0; at < text.size();) {
    const size_t equals = text.find("=\"", at);
    if (equals == std::string_view::npos) break;
    std::string& value = labels[std::string(text.substr(at, equals - at))];
    for (at = equals + 2; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    at += 2;  // the quote and the comma
  }
  return labels;
}

// Where the labels end: a brace in a value does not.
size_t end_of_labels(std::string_view line, size_t at) {
  bool is_quoted = false;
  for (; at < line.size(); ++at) {
    if (is_quoted && line[at] == '\\')
      ++at;
    else if (line[at] == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && line[at] == '}')
      break;
  }
  return at;
}

void take_line(std::string_view line,
               std::map<std::pair<std::string, std::string>, StatusRow>& rows) {
  const size_t open = line.find('{');
  if (line.starts_with('#') || open == std::string_view::npos) return;
  const size_t close = end_of_labels(line, open);
  if (close + 2 > line.size()) return;
  const std::string name(line.substr(0, open));
  Labels labels = labels_of(line.substr(open + 1, close - open - 1));
  if (!labels.contains("model")) return;
  StatusRow& row = rows[{labels["model"], labels["version"]}];
  const double value = status_number(line.substr(close + 2));
  if (name == "tenon_model_state")
    row.state = labels["state"];
  else if (name == "tenon_job_seconds_bucket")
    row.times.push_back({status_number(labels["le"]), value});
  else
    row.values[name] = value;
}

// Of the requests' times, the bound of the bucket in which that part ends.
std::string time_text(const std::vector<Bucket>& times, double part) {
  if (times.empty() || times.back().up_to == 0) return "-";
  for (const Bucket& bucket : times)
    if (bucket.up_to >= part * times.back().up_to) return fixed(bucket.bound * 1e3, 2);
  return "-";
}

std::vector<std::string> cells_of(const std::pair<std::string, std::string>& model,
                                  const StatusRow& row) {
  const double batches = row.value("nv_inference_exec_count");
  return {model.first,
          model.second,
          row.state,
          fixed(row.value("nv_inference_request_success"), 0),
          fixed(row.value("nv_inference_request_failure"), 0),
          fixed(row.value("nv_inference_pending_request_count"), 0),
          batches > 0 ? fixed(row.value("nv_inference_count") / batches, 1) : "-",
          time_text(row.times, 0.5),
          time_text(row.times, 0.99)};
}

}  // namespace

std::string status_table(std::string_view metrics) {
  std::map<std::pair<std::string, std::string>, StatusRow> rows;
  for (size_t begin = 0; begin < metrics.size();) {
    const size_t end = std::min(metrics.find('\n', begin), metrics.size());
    take_line(metrics.substr(begin, end - begin), rows);
    begin = end + 1;
  }
  std::vector<std::vector<std::string>> table = {{"model", "version", "state", "answered", "failed",
                                                  "waiting", "batch", "median ms", "99 % ms"}};
  for (const auto& [model, row] : rows) table.push_back(cells_of(model, row));
  std::vector<size_t> widths(table[0].size());
  for (const auto& cells : table)
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  std::string text;
  for (const auto& cells : table) {
    for (size_t i = 0; i < cells.size(); ++i) {  // names to the left, numbers to the right
      const std::string space(widths[i] - cells[i].size(), ' ');
      text += (i < 3 ? cells[i] + space : space + cells[i]) + "  ";
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

session::Result<std::string> fetch_metrics(const std::string& address, uint16_t port) noexcept {
  return session::guard([&] {
    constexpr size_t kMost = size_t{64} << 20;
    const std::string host = address.empty() || address == "0.0.0.0" ? "127.0.0.1" : address;
    const std::string where = host + ":" + std::to_string(port);
    boost::asio::ip::tcp::iostream stream;
    stream.expires_after(std::chrono::seconds(10));
    stream.connect(host, std::to_string(port));
    if (!stream)
      throw Error{where + ": " + stream.error().message()
                  + "; expected a server's metrics: say --metrics-port and --metrics-address"};
    stream << "GET /metrics HTTP/1.0\r\nHost: " << where << "\r\n\r\n" << std::flush;
    std::string text;
    for (char part[4096];
         text.size() < kMost && (stream.read(part, sizeof part), stream.gcount() > 0);)
      text.append(part, static_cast<size_t>(stream.gcount()));
    const size_t head = text.find("\r\n\r\n");
    if (!text.starts_with("HTTP/1.") || head == std::string::npos
        || text.find(" 200 ") != text.find(' '))
      throw Error{where + ": no server's metrics"};
    return text.substr(head + 4);
  });
}

}  // namespace tenon::server
