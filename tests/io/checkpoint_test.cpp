#include "lockstep/io/checkpoint.h"

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
 protected:
  void write(int64_t step) {
    write_checkpoint(folder_.path(), {step, {{"counters", {{"step", step}}}}, {{"a", text(step)}}});
  }
  static std::string text(int64_t step) { return "content of " + std::to_string(step); }
  fs::path at(int64_t step) const { return folder_.path() / checkpoint_name(step); }
  /// Step of the newest whole one, or -1.
  int64_t latest() const {
    const LatestCheckpoint latest = read_latest_checkpoint(folder_.path());
    if (!latest.checkpoint) return -1;
    EXPECT_EQ(latest.checkpoint->files.at("a"), text(latest.checkpoint->step));
    return latest.checkpoint->step;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  TemporaryFolder folder_;
};

TEST_F(Checkpoints, ComeBackAsTheyWere) {
  write(7);
  const Checkpoint checkpoint = read_checkpoint(at(7));
  EXPECT_EQ(checkpoint.step, 7);
  EXPECT_EQ(checkpoint.state, (Json{{"counters", {{"step", 7}}}}));
  EXPECT_EQ(checkpoint.files.at("a"), text(7));
  EXPECT_EQ(names(), std::vector<std::string>{"step-00000007"});
}

TEST_F(Checkpoints, AnyByteTurnedOverIsDamage) {
  write(1);
  write(2);
  for (const char* file : {"a", "state.json", "state.sha256"}) {
    const Bytes good = read_file(at(2) / file);
    for (size_t i = 0; i < good.size(); ++i) {
      Bytes bad = good;
      bad[i] ^= 1;
      write_file_atomically(at(2) / file, bad);
      ASSERT_EQ(latest(), 1) << file << " byte " << i;
    }
    write_file_atomically(at(2) / file, good);
    EXPECT_EQ(latest(), 2);
  }
}

TEST_F(Checkpoints, AMissingFileIsDamageAndAnUnreadableOneIsNot) {
  write(1);
  write(2);
  fs::rename(at(2) / "a", folder_.path() / "kept");
  EXPECT_EQ(latest(), 1);
  fs::create_symlink("a", at(2) / "a");  // ELOOP: nobody knows what is there
  expect_error(ErrorCode::kNotFound, "cannot be read", [&] { latest(); });
}

TEST_F(Checkpoints, WhatOnlyBearsTheNameIsPassedOver) {
  write(3);
  write_file_atomically(folder_.path() / "step-00000009", "");
  fs::create_symlink(at(3), folder_.path() / "step-00000010");
  fs::create_directory(folder_.path() / "step-99999999999999999999");
  fs::create_directory(folder_.path() / "step-abc");
  EXPECT_EQ(latest(), 3);
  fs::create_directory(at(11));
  EXPECT_EQ(latest(), 3);
  fs::remove(folder_.path() / "step-00000010");
  fs::copy(at(3), folder_.path() / "step-00000010", fs::copy_options::recursive);
  EXPECT_EQ(latest(), 3) << "a folder of another step's name";
}

TEST_F(Checkpoints, TheOneJustWrittenStays) {
  for (int64_t step : {1, 2, 3}) write(step);
  fs::create_directory(at(50));  // of an attempt before, damaged
  remove_old_checkpoints(folder_.path(), 3, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000003", "step-00000050"}));
  set_aside(at(50));
  EXPECT_EQ(names(), (std::vector<std::string>{"damaged-step-00000050", "step-00000003"}));
}

TEST_F(Checkpoints, OneOfTheSameStepIsReplaced) {
  write(4);
  write_file_atomically(at(4) / "a", "damaged");
  write(4);
  EXPECT_EQ(latest(), 4);
  EXPECT_EQ(names(), std::vector<std::string>{"step-00000004"});
  // As if the process had ended between the two renames.
  fs::rename(at(4), folder_.path() / "step-00000004.replaced");
  EXPECT_EQ(latest(), 4);
}

TEST_F(Checkpoints, AnotherFormatIsUnsupported) {
  write(5);
  Json state = parse_json(read_file(at(5) / "state.json"), "state");
  state["format"] = 2;
  const Bytes text = dump_json(state, 1);
  write_file_atomically(at(5) / "state.json", text);
  write_file_atomically(at(5) / "state.sha256", sha256_hex(text) + "  state.json\n");
  expect_error(ErrorCode::kUnsupported, "format 2", [&] { latest(); });
}

}  // namespace
}  // namespace lockstep
