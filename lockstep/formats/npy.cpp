#include "lockstep/formats/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <set>

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// Reads the Python dict literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3,
/// 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  void parse(NpyHeader& header) {
    expect('{');
    while (!accept('}')) {
      parse_entry(header);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    if (seen_.size() != 3) bad("descr, fortran_order or shape missing");
    skip_space();
    if (at_ != text_.size()) bad("nothing may follow the dictionary");
  }

 private:
  void parse_entry(NpyHeader& header) {
    const std::string key = quoted();
    expect(':');
    if (!seen_.insert(key).second) bad("the key \"" + key + "\" twice");
    if (key == "descr") {
      skip_space();
      if (text_.substr(at_).starts_with('['))
        unsupported(where_, "structured arrays are not supported");
      header.descriptor = quoted();
    } else if (key == "fortran_order") {
      header.is_fortran = boolean();
    } else if (key == "shape") {
      header.type.shape = Shape(tuple());
    } else {
      bad("an unknown key \"" + key + "\"");
    }
  }

  [[noreturn]] void bad(const std::string& what) const {
    fail(ErrorCode::kDataLoss, where_, "the .npy header must be NumPy's: {} (byte {})", what, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size()) bad("it ends early");
    if (text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(fmt::format("'{}' expected", c));
  }
  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') bad("a string expected");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) bad("a string without end");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    bad("True or False expected");
  }
  Dims tuple() {
    Dims dims;
    expect('(');
    while (!accept(')')) {
      int64_t extent = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || dims.size() >= 32)
        bad("a tuple of at most 32 extents expected");
      dims.push_back(extent);
      at_ = static_cast<size_t>(end - text_.data());
      accept('L');  // Python 2's long integers
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return dims;
  }

  std::string_view text_, where_;
  size_t at_ = 0;
  std::set<std::string> seen_;
};

std::optional<NpyElement> stored_element(std::string_view descriptor) {
  if (descriptor.size() < 3) return std::nullopt;
  NpyElement type{descriptor[1], 0, descriptor[0] == '>'};
  const auto [end, error] =
      std::from_chars(descriptor.data() + 2, descriptor.data() + descriptor.size(), type.bytes);
  const bool is_known = error == std::errc() && end == descriptor.data() + descriptor.size() &&
                        std::string_view("<>|=").find(descriptor[0]) != std::string_view::npos;
  return is_known ? std::optional(type) : std::nullopt;
}

std::optional<DType> delivered_type(const NpyElement& type) {
  switch (type.kind) {
    case 'b':
      return type.bytes == 1 ? std::optional(DType::kBool) : std::nullopt;
    case 'f':
      if (type.bytes == 2 || type.bytes == 4) return DType::kF32;
      return type.bytes == 8 ? std::optional(DType::kF64) : std::nullopt;
    case 'i':
      if (type.bytes == 1 || type.bytes == 2 || type.bytes == 4) return DType::kS32;
      return type.bytes == 8 ? std::optional(DType::kS64) : std::nullopt;
    case 'u':
      if (type.bytes == 1) return DType::kU8;
      if (type.bytes == 2) return DType::kU16;
      if (type.bytes == 4) return DType::kU32;
      return type.bytes == 8 ? std::optional(DType::kS64) : std::nullopt;
    default:
      return std::nullopt;
  }
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31,
                 mantissa = half & 1023;
  if (exponent == 0)
    return std::bit_cast<float>(sign |
                                std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

/// Element as stored, widened into `to`. False when `dtype` cannot hold it.
bool convert_element(const NpyElement& stored, const char* from, DType dtype, std::byte* to) {
  unsigned char raw[8] = {};
  std::memcpy(raw, from, stored.bytes);
  if (stored.is_big_endian) std::reverse(raw, raw + stored.bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, raw, 8);
  if (stored.kind == 'f' && stored.bytes == 2) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    std::memcpy(to, &value, 4);
  } else if (stored.kind == 'i' && stored.bytes < 4) {
    const int32_t value =
        stored.bytes == 1 ? static_cast<int8_t>(bits) : static_cast<int16_t>(bits);
    std::memcpy(to, &value, 4);
  } else if (dtype == DType::kBool) {
    const bool value = bits != 0;
    std::memcpy(to, &value, 1);
  } else {
    std::memcpy(to, &bits, byte_size(dtype));
  }
  return stored.kind != 'u' || dtype != DType::kS64 || bits <= INT64_MAX;
}

/// Bytes and strides of the shape can be computed: they fit, zero extents left out.
void check_size(const Shape& shape, std::string_view where) {
  constexpr uint64_t kMaxElements = uint64_t{1} << 56;
  uint64_t elements = 1;
  for (const int64_t extent : shape) {
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(extent, 1));
    if (factor > kMaxElements / elements)
      fail(ErrorCode::kDataLoss, where, "an array of {} is larger than any file", shape.str());
    elements *= factor;
  }
}

/// Linear row-major position of the i-th element in column-major order.
int64_t row_major_position(const Shape& shape, const Dims& strides, int64_t i) {
  int64_t position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    position += i % shape[axis] * strides[static_cast<size_t>(axis)];
    i /= shape[axis];
  }
  return position;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, std::string_view where) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    fail(ErrorCode::kDataLoss, where, "must begin with NumPy's magic bytes");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    fail(ErrorCode::kDataLoss, where, ".npy version must be 1, 2 or 3: {}", version);
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) fail(ErrorCode::kDataLoss, where, "the .npy header ends early");
  const size_t length = version == 1 ? byte(8) | byte(9) << 8
                                     : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start)
    fail(ErrorCode::kDataLoss, where, "the .npy header claims {} bytes, {} are there", length,
         bytes.size() - start);
  NpyHeader header;
  header.data_offset = start + length;
  HeaderParser(bytes.substr(start, length), where).parse(header);
  if (header.descriptor.find('O') != std::string::npos)
    unsupported(where, "object arrays are pickled code, which is never run");
  const auto element = stored_element(header.descriptor);
  const auto dtype = element ? delivered_type(*element) : std::nullopt;
  if (!dtype)
    unsupported(where, "arrays of \"{}\" are not supported: use bool, integers or floats",
                header.descriptor);
  header.type.dtype = *dtype;
  header.element = *element;
  check_size(header.type.shape, where);
  return header;
}

NpyView::NpyView(std::string_view bytes, std::string where)
    : bytes_(bytes), where_(std::move(where)), header_(parse_npy_header(bytes, where_)) {
  const size_t needed = stored_bytes(header_.type.size()),
               there = bytes.size() - header_.data_offset;
  if (needed != there)
    fail(ErrorCode::kDataLoss, where_, "an array of {} {} needs {} bytes of data: {} are there",
         header_.descriptor, header_.type.shape.str(), needed, there);
}

void NpyView::read(int64_t first, int64_t count, std::byte* to) const {
  const NpyElement& stored = header_.element;
  const DType dtype = header_.type.dtype;
  const char* from = bytes_.data() + offset(first);
  const size_t element = byte_size(dtype);
  const bool is_checked = dtype == DType::kBool || (stored.kind == 'u' && stored.bytes == 8);
  if (!stored.is_big_endian && stored.bytes == element && !is_checked) {
    std::copy_n(from, stored_bytes(count), reinterpret_cast<char*>(to));
    return;
  }
  for (int64_t i = 0; i < count; ++i, from += stored.bytes, to += element)
    if (!convert_element(stored, from, dtype, to))
      unsupported(where_, "unsigned integers must be below 2^63: element {}", first + i);
}

HostTensor parse_npy(std::string_view bytes, std::string_view where) {
  const NpyView view(bytes, std::string(where));
  HostTensor tensor(view.header().type);
  if (!view.header().is_fortran) {
    view.read(0, tensor.size(), tensor.bytes());
    return tensor;
  }
  const size_t element = byte_size(tensor.dtype());
  const Dims strides = tensor.shape().strides();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t to = row_major_position(tensor.shape(), strides, i);
    view.read(i, 1, tensor.bytes() + static_cast<size_t>(to) * element);
  }
  return tensor;
}

Bytes write_npy(const HostTensor& tensor) {
  std::string shape = "(";
  for (int64_t extent : tensor.shape()) shape += fmt::format("{},", extent) + " ";
  while (shape.ends_with(' ')) shape.pop_back();
  if (tensor.shape().rank() > 1) shape.pop_back();  // (3,) keeps its comma, (3, 4) does not
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}",
                                   numpy_name(tensor.dtype()), shape);
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  Bytes bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  return bytes;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : zip_.members()) {
    if (!member.name.ends_with(".npy"))
      fail(ErrorCode::kDataLoss, where_, "members of an .npz must be .npy files: \"{}\"",
           member.name);
    names.push_back(member.name.substr(0, member.name.size() - 4));
  }
  return names;
}

HostTensor NpzFile::read(std::string_view name) const {
  const Bytes bytes = zip_.read(std::string(name) + ".npy");
  return parse_npy(bytes, fmt::format("{}: {}", where_, name));
}

Bytes write_npz(const std::vector<NamedTensor>& tensors) {
  ZipWriter zip;
  for (const NamedTensor& named : tensors) zip.add(named.name + ".npy", write_npy(named.tensor));
  return zip.finish();
}

}  // namespace lockstep
