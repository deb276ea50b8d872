// Threads of a team meet at every barrier, whatever happens to some of them.
#include "lockstep/towers/device_team.h"

#include <gtest/gtest.h>

#include "lockstep/backend/reference/reference_backend.h"

namespace lockstep {
namespace {

/// More devices than cores: the last begin when the first have failed already.
TEST(DeviceTeam, MeetsWhoeverFailsAndWhen) {
  const auto backend = make_reference_backend();
  DeviceTeam team(*backend, 16);
  for (int failing = 0; failing < team.size(); ++failing)
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int> met = 0;
      EXPECT_THROW(team.run([&](int device) {
        team.guard(device, [&] {
          if (device == failing) unsupported("device", "fails at once");
        });
        team.arrive();
        ++met;
        team.arrive();
      }),
                   Error);
      EXPECT_EQ(met, team.size());
    }
}

TEST(DeviceTeam, TellsTheErrorOfTheLowestDevice) {
  const auto backend = make_reference_backend();
  DeviceTeam team(*backend, 4);
  try {
    team.run([&](int device) {
      team.arrive();
      if (device > 0) unsupported("device", "{} fails", device);
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[device] 1 fails");
  }
}

}  // namespace
}  // namespace lockstep
