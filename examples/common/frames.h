// Pictures of a file or of a folder, or frames of a video that come through a pipe, one after the
// other, and where what becomes of them goes; for the examples.
#ifndef EXAMPLES_COMMON_FRAMES_H
#define EXAMPLES_COMMON_FRAMES_H

#include <tenon/picture.h>
#include <tenon/serve/preprocess.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/engine_pipeline.h"

namespace examples {

/// A picture, which is read when it is asked for, or a frame of a video.
class Frame {
 public:
  explicit Frame(std::string file) : name(std::move(file)) {}
  /// Raw bytes of `width` times `height` pixels of 24 bits (RGB), or of NV12.
  Frame(int64_t number, bool is_nv12, int width, int height, std::vector<uint8_t> bytes)
      : name("frame_" + std::to_string(number)) {
    if (is_nv12) nv12_ = std::move(bytes);
    picture_ = {width, height, is_nv12 ? std::vector<uint8_t>() : std::move(bytes)};
  }

  /// The pixels, RGB or NV12, which stay the frame's. Throws when the file cannot be read.
  tenon::serve::Image image() {
    if (!nv12_.empty())
      return tenon::serve::Image::nv12(nv12_.data(), picture_.width, picture_.height);
    if (picture_.pixels.empty()) picture_ = tenon::read_picture(name);
    return view(picture_);
  }
  /// The same in RGB, to draw into.
  tenon::Picture& picture() {
    const tenon::serve::Image pixels = image();
    if (pixels.format == tenon::serve::PixelFormat::kNV12) {
      picture_ = tenon::grey_picture(picture_.width, picture_.height, 0);
      value_of(convert_color(pixels, tenon::serve::PixelFormat::kRGB, picture_.pixels.data()));
      nv12_.clear();
    }
    return picture_;
  }

  std::string name;  ///< the file, or which frame it is

 private:
  tenon::Picture picture_;
  std::vector<uint8_t> nv12_;
};

/// Where frames come from: "-" for raw frames on the standard input, a folder, or a picture.
class Source {
 public:
  /// @param format of raw frames: "1920x1080" for rgb24, or "1920x1080:nv12", as ffmpeg writes
  /// them. Throws for another format, and for a file or folder that is not there.
  Source(const std::string& from, const std::string& format) : is_pipe_(from == "-") {
    if (is_pipe_)
      set_format(format);
    else if (std::filesystem::is_directory(from))
      list_pictures(from);
    else if (std::filesystem::exists(from))
      files_.push_back(from);
    else
      throw std::runtime_error(from + ": there is no such file or folder");
  }

  /// Whether the frames are the pictures of that folder.
  bool is_folder(const std::string& folder) const {
    return !files_.empty()
           && std::filesystem::equivalent(folder,
                                          std::filesystem::absolute(files_[0]).parent_path());
  }
  bool is_one_picture() const { return files_.size() == 1 && !is_pipe_; }
  /// Whether that file is one that is read.
  bool has_file(const std::string& path) const {
    std::error_code none;  // a file that is not there yet
    return std::any_of(files_.begin(), files_.end(), [&](const auto& file) {
      return std::filesystem::equivalent(path, file, none);
    });
  }
  /// Calls `take(Frame)` for each. An error when the input ends within a frame.
  template <class Take> tenon::serve::Result<void> for_each(const Take& take) {
    for (const std::string& file : files_) take(Frame(file));
    if (!is_pipe_) return {};
    const auto pixels = static_cast<size_t>(width_) * static_cast<size_t>(height_);
    std::vector<uint8_t> bytes(is_nv12_ ? pixels / 2 * 3 : pixels * 3);
    for (int64_t number = 0;; ++number) {
      const size_t count = std::fread(bytes.data(), 1, bytes.size(), stdin);
      if (count == 0) return {};
      if (count < bytes.size())
        return tenon::serve::Error{"the input ends within frame " + std::to_string(number)
                                   + ": it has " + std::to_string(count) + " of "
                                   + std::to_string(bytes.size()) + " bytes"};
      take(Frame(number, is_nv12_, width_, height_, bytes));
    }
  }

 private:
  void list_pictures(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (tenon::is_picture(entry.path().string())) files_.push_back(entry.path().string());
    if (files_.empty())
      throw std::runtime_error(folder + ": the folder has no .jpg, .jpeg or .png pictures");
    std::sort(files_.begin(), files_.end());
  }
  void set_format(const std::string& format) {
    char name[8] = "rgb24", rest = 0;
    const int read = std::sscanf(format.c_str(), "%5dx%5d:%7s%c", &width_, &height_, name, &rest);
    is_nv12_ = std::string(name) == "nv12";
    if ((read != 2 && read != 3) || width_ < 1 || height_ < 1
        || (!is_nv12_ && std::string(name) != "rgb24")
        || (is_nv12_ && (width_ % 2 != 0 || height_ % 2 != 0)))
      throw std::runtime_error(
          "raw frames need a format as 1920x1080:nv12 or 1920x1080:rgb24, with "
          "even extents for nv12; found '"
          + format + "'");
  }

  std::vector<std::string> files_;
  bool is_pipe_, is_nv12_ = false;
  int width_ = 0, height_ = 0;
};

/// Where frames go: "-" for raw frames of rgb24 on the standard output, a folder that is there, or
/// a picture.
class Sink {
 public:
  /// Throws when not all frames of the source can go there.
  Sink(std::string to, const Source& source) : to_(std::move(to)) {
    if (is_pipe()) return;
    if (std::filesystem::is_directory(to_)) {
      if (source.is_folder(to_)) throw std::runtime_error(to_ + ": has the pictures that are read");
      return;
    }
    if (!source.is_one_picture())
      throw std::runtime_error(to_ + ": expected a folder that is there, or - for a pipe");
    if (source.has_file(to_)) throw std::runtime_error(to_ + ": is the picture that is read");
    if (!tenon::is_picture(to_))
      throw std::runtime_error(to_ + ": expected a folder that is there, - for a pipe, or a name with "
                               "the ending .png, .jpg or .jpeg");
  }

  bool is_pipe() const { return to_ == "-"; }
  /// Writes the file of a frame; by several threads at a time.
  void write_file(Frame& frame) const {
    std::filesystem::path path(to_);
    if (std::filesystem::is_directory(path)) {
      path /= std::filesystem::path(frame.name).filename();
      if (!tenon::is_picture(frame.name)) path += ".jpg";
    }
    tenon::write_picture(path.string(), frame.picture());
  }
  /// Whether the standard output took the frame.
  bool write_raw(Frame& frame) const {
    const auto& pixels = frame.picture().pixels;
    return std::fwrite(pixels.data(), 1, pixels.size(), stdout) == pixels.size();
  }

 private:
  std::string to_;
};

/// Counts frames, and prints what was found in them.
class Tally {
 public:
  Tally(std::string program, const Sink& sink) : program_(std::move(program)), sink_(sink) {}

  /// Called once for each frame, in their order. A job has a `frame`, and the text `found`.
  template <class Job> void take(tenon::serve::Answer<Job> answer) {
    ++frames_;
    if (answer) {
      std::fputs(answer->found.c_str(), text_);
      if (!sink_.is_pipe() || sink_.write_raw(answer->frame)) return;
    }
    ++failures_;
    std::fprintf(
        stderr, "%s: %s\n", program_.c_str(),
        answer ? "the standard output takes no more frames" : answer.error().text().c_str());
  }
  /// Prints how many frames there were in a second, and gives what the program returns.
  /// @param all what Source::for_each() said.
  int finish(const tenon::serve::Result<void>& all) const {
    const std::chrono::duration<double> passed = tenon::serve::Clock::now() - begin_;
    std::fprintf(text_, "%d frames, %.1f frames/s\n", frames_, frames_ / passed.count());
    if (!all) std::fprintf(stderr, "%s: %s\n", program_.c_str(), all.error().c_str());
    return all && failures_ == 0 ? 0 : 1;
  }

 private:
  const std::string program_;
  const Sink& sink_;
  std::FILE* const text_ = sink_.is_pipe() ? stderr : stdout;  // beside the frames
  const tenon::serve::Clock::time_point begin_ = tenon::serve::Clock::now();
  int frames_ = 0, failures_ = 0;
};

}  // namespace examples

#endif  // EXAMPLES_COMMON_FRAMES_H
