// Any bytes are an HDF5 file or refused, wherever the damage is. The length in the superblock is
// set right first: else nearly every input would fail there.
#include "lockstep/formats/hdf5.h"
#include "tests/fuzz/fuzz_refusal.h"

namespace {

using namespace lockstep;

constexpr auto kCodes = {ErrorCode::kDataLoss, ErrorCode::kUnsupported, ErrorCode::kNotFound};
constexpr int kMaxDepth = 4;

void set_length(Bytes& bytes) {
  if (bytes.size() < 96) return;
  const size_t at = bytes[8] == 0 ? 40 : bytes[8] == 1 ? 44 : 28;
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(bytes.size() >> 8 * i & 255);
}

void read_all(const Hdf5Reader& reader, const std::string& path, int depth) {
  answer_or_refuse(kCodes, [&] { reader.text_attribute(path, "name"); });
  answer_or_refuse(kCodes, [&] { reader.text_list_attribute(path, "layer_names"); });
  answer_or_refuse(kCodes, [&] { reader.read(path); });
  if (depth == kMaxDepth) return;
  answer_or_refuse(kCodes, [&] {
    const auto names = reader.list(path);
    for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i)
      read_all(reader, path.empty() ? names[i] : path + "/" + names[i], depth + 1);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(reinterpret_cast<const char*>(data), size);
  set_length(bytes);
  answer_or_refuse(kCodes, [&] { read_all(Hdf5Reader(std::move(bytes), "fuzz"), "", 0); });
  return 0;
}
