// A .keras file that cannot be written leaves nothing behind and the old file as it was.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

class WriteFailure : public KerasFileTest {
 protected:
  void expect_failure(const std::filesystem::path& path, const std::string& part) {
    try {
      write_keras_file(path, *network_, &compile_config(), &state_);
      ADD_FAILURE() << path << " was written";
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  static std::vector<std::string> files_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

/// Root may write anywhere: be somebody else for a while.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_(geteuid()) {
    if (was_ == 0) is_ordinary_ = seteuid(65534) == 0;
  }
  ~OrdinaryUser() { EXPECT_EQ(seteuid(was_), 0); }
  bool is_ordinary() const { return is_ordinary_; }

 private:
  uid_t was_;
  bool is_ordinary_ = true;
};

TEST_F(WriteFailure, AFolderWithoutPermission) {
  const auto shut = folder_ / "shut";
  std::filesystem::create_directory(shut);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(shut.c_str(), 0555), 0);
  {
    const OrdinaryUser user;
    if (!user.is_ordinary()) GTEST_SKIP() << "runs as root and cannot be anybody else";
    expect_failure(shut / "m.keras", "shut");
  }
  EXPECT_TRUE(files_in(shut).empty());
}

TEST_F(WriteFailure, AnOldFileWithoutPermissionStays) {
  const auto shut = folder_ / "shut";
  std::filesystem::create_directory(shut);
  std::ofstream(shut / "m.keras") << "old";
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(shut.c_str(), 0555), 0);
  {
    const OrdinaryUser user;
    if (!user.is_ordinary()) GTEST_SKIP() << "runs as root and cannot be anybody else";
    expect_failure(shut / "m.keras", "m.keras");
  }
  EXPECT_EQ(read_file(shut / "m.keras"), "old");
  EXPECT_EQ(files_in(shut), std::vector<std::string>{"m.keras"});
}

TEST_F(WriteFailure, AFolderThatIsNotThere) {
  expect_failure(folder_ / "none/m.keras", "none/m.keras");
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(WriteFailure, AFolderThatIsAFile) {
  const auto file = file_of("text", "plain");
  expect_failure(file / "m.keras", "plain/m.keras");
  EXPECT_EQ(read_file(file), "text");
}

TEST_F(WriteFailure, APathThatIsAFolder) {
  std::filesystem::create_directories(folder_ / "m.keras/inside");
  expect_failure(folder_ / "m.keras", "m.keras");
  EXPECT_EQ(files_in(folder_.path()), std::vector<std::string>{"m.keras"});
  EXPECT_EQ(files_in(folder_ / "m.keras"), std::vector<std::string>{"inside"});
}

TEST_F(WriteFailure, ANameThatIsTooLong) {
  expect_failure(folder_.path() / (std::string(300, 'a') + ".keras"), "aaa.keras");
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(WriteFailure, TheNewFileReplacesTheOld) {
  file_of("old");
  write_keras_file(folder_ / "m.keras", *network_, nullptr, nullptr);
  EXPECT_TRUE(
      same_bits(weights_of(*read_keras_file(folder_ / "m.keras").network), weights_of(*network_)));
  EXPECT_EQ(files_in(folder_.path()), std::vector<std::string>{"m.keras"});
}

}  // namespace
}  // namespace lockstep
