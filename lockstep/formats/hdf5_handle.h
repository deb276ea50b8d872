// What reading and writing HDF5 share: the lock, identifiers that close themselves, h5py's bool.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace lockstep {

/// Held during every call of libhdf5, whose state is one for the process; also silences its own
/// error printing.
std::unique_lock<std::mutex> hdf5_lock();

/// A name no other image has: libhdf5 takes two open images of one name for the same file, and
/// would answer for the second with the content of the first.
std::string hdf5_image_name();

/// An HDF5 identifier and the function that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: stands for the identifier in C calls
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// h5py's spelling of bool: an enumeration of one byte, FALSE = 0 and TRUE = 1.
Handle hdf5_bool_type();

}  // namespace lockstep
