// What the tests with the fake plugin share.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "lockstep/backend/pjrt/client.h"
#include "tests/formats/format_test_util.h"
#include "tests/pjrt/fake_plugin.h"

namespace lockstep::pjrt {

/// An environment variable's value for one scope; null: not set.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~ScopedVariable() { set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// A copy of the fake plugin's file: a plugin that nobody loaded before.
class FakePlugin {
 public:
  FakePlugin() {
    folder_.emplace();
    const std::filesystem::path copy = *folder_ / "fake_plugin.so";
    std::filesystem::copy_file(LOCKSTEP_FAKE_PLUGIN, copy);
    open(copy);
  }
  /// The file itself, for processes that end in the test and tidy nothing up.
  explicit FakePlugin(const std::string& path) { open(path); }

  const std::string& path() const { return path_; }
  fake::Control* operator->() const { return control_; }
  /// Lets a loaded plugin's table follow its Control.
  void remake_table() { get_api_(); }
  std::shared_ptr<Plugin> load() const { return Plugin::load(path_); }
  std::shared_ptr<Client> client() const { return Client::create(load(), {}); }

  int64_t living(fake::Kind kind) const {
    return control_->created[kind] - control_->destroyed[kind];
  }
  /// Whatever was created is gone, once each.
  void expect_balance() const {
    constexpr const char* kNames[] = {"errors",
                                      "events",
                                      "clients",
                                      "buffers",
                                      "executables",
                                      "loaded executables",
                                      "serialized executables",
                                      "topologies"};
    for (size_t kind = 0; kind < fake::kKinds; ++kind)
      EXPECT_EQ(control_->created[kind], control_->destroyed[kind]) << kNames[kind];
    EXPECT_EQ(control_->misused, 0);
  }

 private:
  void open(const std::string& path) {
    path_ = path;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto get_control =
        reinterpret_cast<fake::Control* (*)()>(dlsym(library, "lockstep_fake_plugin"));
    control_ = get_control();
    get_api_ = reinterpret_cast<const void* (*)()>(dlsym(library, "GetPjrtApi"));
  }

  std::optional<TemporaryFolder> folder_;
  std::string path_;
  fake::Control* control_ = nullptr;
  const void* (*get_api_)() = nullptr;
};

/// The error that `body` throws.
template <class Body>
Error caught(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "test", "nothing was thrown");
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lockstep::pjrt
