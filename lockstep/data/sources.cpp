#include "lockstep/data/sources.h"

#include <zlib.h>

#include <algorithm>

#include "lockstep/formats/npy.h"

namespace lockstep {
namespace {

constexpr uint64_t kMaxUnpacked = uint64_t{1} << 34;
const std::filesystem::path kFashionMnist = "/usr/share/datasets/fashion-mnist";

/// Closes zlib's state at the end of its scope.
struct Inflater {
  z_stream stream{};
  Inflater() { LOCKSTEP_CHECK(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK); }
  ~Inflater() { inflateEnd(&stream); }
};

Bytes gunzip(std::string_view packed, std::string_view where) {
  Inflater inflater;
  z_stream& s = inflater.stream;
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  s.avail_in = static_cast<uInt>(packed.size());
  const uint64_t limit = std::min(kMaxUnpacked, packed.size() * uint64_t{1100} + 1024);
  Bytes out;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t done = out.size();
    if (done >= limit) fail(ErrorCode::kDataLoss, where, "must unpack to at most {} bytes", limit);
    out.resize(std::max<size_t>(done * 2, 1 << 16));
    s.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    s.avail_out = static_cast<uInt>(out.size() - done);
    status = inflate(&s, Z_NO_FLUSH);
    out.resize(out.size() - s.avail_out);
    if (status == Z_OK && s.avail_in == 0 && s.avail_out > 0) break;
  }
  if (status != Z_STREAM_END) fail(ErrorCode::kDataLoss, where, "the gzip data is damaged or ends early");
  return out;
}

/// `folder`/`name`, or the same with .gz.
HostTensor read_idx(const std::filesystem::path& folder, const std::string& name) {
  const auto plain = folder / name, packed = folder / (name + ".gz");
  if (std::filesystem::exists(plain)) return parse_idx(read_file(plain), plain.string());
  if (std::filesystem::exists(packed)) return parse_idx(gunzip(read_file(packed), packed.string()), packed.string());
  fail(ErrorCode::kNotFound, folder.string(), "must hold {} or {}.gz", name, name);
}

struct NpzKey {
  Column::Role role;
  std::string name;
};

NpzKey parse_key(const std::string& key, const std::string& where) {
  const size_t slash = key.find('/');
  const std::string kind = key.substr(0, slash), name = slash == std::string::npos ? "" : key.substr(slash + 1);
  if (kind == "x") return {Column::Role::kInput, name};
  if (kind == "y") return {Column::Role::kTarget, name};
  if (kind == "sample_weight") return {Column::Role::kSampleWeight, name};
  invalid_argument(where, "keys must be x/<input>, y/<output>, sample_weight/<output>, or x, y, sample_weight: \"{}\"", key);
}

}  // namespace

HostTensor parse_idx(std::string_view bytes, std::string_view where) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0) fail(ErrorCode::kDataLoss, where, "must begin with IDX's two zero bytes");
  const uint32_t code = byte(2), rank = byte(3);
  if (code != 0x08) unsupported(where, "IDX files must hold unsigned bytes (type 0x08): type 0x{:02x}", code);
  if (rank < 1 || rank > 8 || bytes.size() < 4 + 4 * rank) fail(ErrorCode::kDataLoss, where, "an IDX header of rank 1 to 8 expected: rank {} in {} bytes", rank, bytes.size());
  const size_t data = 4 + 4 * rank;
  Shape shape;
  uint64_t size = 1;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const size_t at = 4 + 4 * axis;
    const uint32_t extent = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    shape.dims().push_back(extent);
    if (extent == 0 || size > bytes.size() / extent) size = 0;
    size *= extent;
  }
  if (size != bytes.size() - data)
    fail(ErrorCode::kDataLoss, where, "an IDX file of {} needs its product in bytes after the header: {} are there", shape.str(), bytes.size() - data);
  HostTensor tensor(DType::kU8, shape);
  std::memcpy(tensor.bytes(), bytes.data() + data, tensor.size_bytes());
  return tensor;
}

DatasetPtr open_idx_folder(const std::filesystem::path& folder, Part part) {
  if (!std::filesystem::is_directory(folder)) fail(ErrorCode::kNotFound, folder.string(), "must be a folder of IDX files");
  const std::string prefix = part == Part::kTrain ? "train" : "t10k";
  HostTensor images = read_idx(folder, prefix + "-images-idx3-ubyte"), labels = read_idx(folder, prefix + "-labels-idx1-ubyte");
  Dims dims = images.shape().dims();
  if (dims.size() == 3) dims.push_back(1);
  images = images.reshaped(Shape(dims));
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, 255.0f}, std::move(images)}, {{Column::Role::kTarget, "", {}, {}}, std::move(labels)}});
}

DatasetPtr open_npz(const std::filesystem::path& path) {
  const NpzFile file(read_file(path), path.string());
  std::vector<ArrayDataset::Array> arrays;
  for (const std::string& key : file.names()) {
    const NpzKey parsed = parse_key(key, path.string());
    arrays.push_back({{parsed.role, parsed.name, {}, {}}, file.read(key)});
  }
  const bool has_input = std::any_of(arrays.begin(), arrays.end(), [](const auto& a) { return a.column.role == Column::Role::kInput; });
  if (!has_input) invalid_argument(path.string(), "a key x or x/<input> must be there: {} other keys", arrays.size());
  return with_context(path.string(), [&] { return std::make_shared<ArrayDataset>(std::move(arrays)); });
}

DatasetPtr open_source(const std::string& spec, Part part) {
  if (spec == "fashion-mnist") {
    if (!std::filesystem::exists(kFashionMnist))
      fail(ErrorCode::kNotFound, "fashion-mnist", "{} must be there. Install Debian's package dataset-fashion-mnist", kFashionMnist.string());
    return open_idx_folder(kFashionMnist, part);
  }
  if (spec.starts_with("idx:")) return open_idx_folder(spec.substr(4), part);
  if (spec.starts_with("images:")) unsupported(spec, "image folders are not supported yet: use .npz");
  if (spec.ends_with(".npz")) return open_npz(spec);
  invalid_argument("data", "a source is fashion-mnist, idx:DIR or FILE.npz: \"{}\"", spec);
}

}  // namespace lockstep
