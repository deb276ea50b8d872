// TensorBoard's event files of scalars: what its "Scalars" page draws, one curve a tag.
//
// A file is a row of TFRecords: length (8 bytes), masked CRC-32C of it, data, masked CRC-32C of the
// data; little-endian. The data is a protocol buffer `tensorflow.Event`: wall time, step, and a
// summary of tag and `simple_value`. Every TensorBoard reads that form, and shows it as it shows
// the tensors that Keras's callback writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/formats/files.h"

namespace lockstep {

/// Appends scalars to a file that TensorBoard may be reading meanwhile. One thread at a time.
class EventFile {
 public:
  /// A new file events.out.tfevents.<seconds>.<host>[.suffix] in `folder`, which is made when it is
  /// not there. The name is that of the first free second from now on. Throws InvalidArgument
  /// naming the path and the reason when folder or file cannot be made.
  static EventFile create(const std::filesystem::path& folder, const std::string& suffix = "");

  /// Goes on with a file that is there. A torn last record is cut off first, for nothing after it
  /// could be read. Throws NotFound without a file, DataLoss as `parse_events`.
  static EventFile append_to(const std::filesystem::path& path);

  /// `tag` is UTF-8: "epoch_loss". `wall_time`: seconds since 1970. Kept in memory until `flush`.
  void add_scalar(std::string_view tag, int64_t step, float value, double wall_time);

  /// Hands what was added to the system: it outlives this process, not a loss of power. Nothing
  /// else writes, the destructor neither. Throws NotFound when the file has gone, InvalidArgument
  /// when it cannot be written; then the file is as it was, and the next `flush` tries again.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit EventFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  Bytes pending_;  // whole records
};

struct ScalarEvent {
  std::string tag;
  int64_t step = 0;
  float value = 0;
  double wall_time = 0;
};

/// The scalars kept as `simple_value`, in the file's order; other content is passed over. A torn
/// last record (the writer was killed) is none. Throws DataLoss naming `where` and the byte when a
/// checksum is wrong or a record is no event.
std::vector<ScalarEvent> parse_events(std::string_view bytes, std::string_view where);

/// `parse_events` of a file. Throws NotFound too, and InvalidArgument for a file over 1 GiB.
std::vector<ScalarEvent> read_events(const std::filesystem::path& path);

/// `data` framed as a TFRecord.
Bytes event_record(std::string_view data);

/// CRC-32C (Castagnoli): of "123456789" 0xe3069283.
uint32_t crc32c(std::string_view bytes);

}  // namespace lockstep
