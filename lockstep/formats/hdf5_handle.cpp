#include "lockstep/formats/hdf5_handle.h"

#include <atomic>
#include <cstdint>

namespace lockstep {

std::unique_lock<std::mutex> hdf5_lock() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return lock;
}

std::string hdf5_image_name() {
  static std::atomic<uint64_t> count{0};
  return "lockstep-image-" + std::to_string(count++);
}

Handle hdf5_bool_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const signed char no = 0, yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

}  // namespace lockstep
