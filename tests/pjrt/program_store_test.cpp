// Programs kept in a folder: loaded where they are whole and belong here, compiled anew where not.
#include "lockstep/backend/pjrt/program_store.h"

#include <fstream>

#include "tests/pjrt/fake_plugin_test_util.h"

namespace lockstep::pjrt {
namespace {

using abi::Function;

class Store : public testing::Test {
 protected:
  /// Outputs of the program, as the store gives it.
  size_t get(const std::string& text, const ProgramOptions& options = {}) {
    return ProgramStore(folder_ / "programs").get(*client_, text, options, "tower")->output_count();
  }
  int64_t compiled() { return fake_->calls_of(Function::kClientCompile); }
  std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "programs", none))
      found.push_back(entry.path());
    return found;
  }

  FakePlugin fake_;
  const TemporaryFolder folder_;
  std::shared_ptr<Client> client_ = fake_.client();
};

TEST_F(Store, CompilesOnceAndLoadsEverAfter) {
  EXPECT_EQ(get("copy copy"), 2);
  EXPECT_EQ(get("copy copy"), 2);
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(files().size(), 1);
}

TEST_F(Store, TellsTextsAndOptionsApart) {
  EXPECT_EQ(get("copy"), 1);
  EXPECT_EQ(get("copy copy"), 2);
  EXPECT_EQ(get("copy", {.replicas = 1, .is_portable = true, .flags = {{"fast", true}}}), 1);
  EXPECT_EQ(compiled(), 3);
  EXPECT_EQ(files().size(), 3);
}

TEST_F(Store, CompilesAgainWhatIsDamaged) {
  get("copy copy");
  for (const uintmax_t size : {uintmax_t{0}, uintmax_t{20}}) {
    std::filesystem::resize_file(files()[0], size);
    const int64_t before = compiled();
    EXPECT_EQ(get("copy copy"), 2);
    EXPECT_EQ(compiled(), before + 1);
    EXPECT_EQ(get("copy copy"), 2);
    EXPECT_EQ(compiled(), before + 1);
  }
}

TEST_F(Store, CompilesAgainWhatHasOneOtherByte) {
  get("copy copy");
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(files()[0]));
  for (const std::streamoff from_end : {1, 5, 12}) {
    std::fstream file(files()[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(size - from_end);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(size - from_end);
    file.put(byte);
    file.close();
    const int64_t before = compiled();
    EXPECT_EQ(get("copy copy"), 2);
    EXPECT_EQ(compiled(), before + 1) << from_end;
  }
}

TEST_F(Store, CompilesAgainWhatThePluginRefuses) {
  get("copy");
  fake_->fault(Function::kExecutableDeserializeAndLoad).code = abi::kInvalidArgument;
  EXPECT_EQ(get("copy"), 1);
  EXPECT_EQ(compiled(), 2);
}

TEST_F(Store, GoesOnWhereNothingCanBeKept) {
  fake_->fault(Function::kExecutableSerialize).code = abi::kUnimplemented;
  EXPECT_EQ(get("copy"), 1);
  EXPECT_TRUE(files().empty());
  fake_->fault(Function::kExecutableSerialize).code = abi::kOk;
  std::ofstream(folder_ / "programs") << "a file in the folder's place";
  EXPECT_EQ(get("copy"), 1);
}

TEST_F(Store, ThrowsTheCompilersOwnError) {
  EXPECT_THROW(get("gibberish"), Error);
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace lockstep::pjrt
