// A step after the second takes no memory: operator new is counted while training runs, calls that
// come from inside the vendor's library excepted.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lockstep/data/loader.h"
#include "lockstep/lockstep.h"

namespace {

std::atomic<bool> is_counting{false};
std::atomic<int> allocations{0};

struct Range {
  uintptr_t begin = 0, end = 0;
};

/// Where the vendor's library lies in memory.
Range vendor_range() {
  Range range;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
        auto& range = *static_cast<Range*>(out);
        range.begin = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          range.end = std::max<uintptr_t>(
              range.end, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        return 1;
      },
      &range);
  return range;
}

void count() {
  if (!is_counting.load(std::memory_order_relaxed)) return;
  static const Range vendor = vendor_range();
  void* frames[48];
  const int depth = backtrace(frames, 48);
  for (int i = 0; i < depth; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(frames[i]);
    if (address >= vendor.begin && address < vendor.end) return;
  }
  ++allocations;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  count();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  count();
  const auto align = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace lockstep {
namespace {

/// Allocations of steps 3 to `steps` on `devices`, of a network with every kind of step.
int allocations_of(const Json& optimizer, const std::string& devices, int64_t batch) {
  const Tensor x = Input({6, 6, 2});
  Tensor h = Conv2D({.filters = 4, .kernel_size = 3, .kernel_regularizer = "l2"})(x);
  h = BatchNormalization({.synchronized = true})(h);
  h = Activation({.activation = "relu"})(h);
  h = Dropout({.rate = 0.3})(h);
  h = MaxPooling2D({})(h);
  h = Flatten(FlattenConfig{})(h);
  const Tensor y = Dense({.units = 5, .activation = "softmax", .kernel_constraint = "max_norm"})(h);
  Model model(x, y);
  Json config;
  config["optimizer"] = optimizer;
  config["loss"] = {{"class_name", "SparseCategoricalCrossentropy"},
                    {"config", {{"ignore_class", -1}}}};
  config["metrics"] = Json::array({"accuracy"});
  model.compile_from_config(config);
  HostTensor images(DType::kF32, {40 * batch, 6, 6, 2});
  HostTensor labels(DType::kS32, {40 * batch});
  for (size_t i = 0; i < images.data<float>().size(); ++i)
    images.data<float>()[i] = static_cast<float>(i % 17) / 17.0f;
  const DatasetPtr data = dataset(std::move(images), std::move(labels));
  const CompileConfig compile = model.compile_config();
  model.network()->initialize(1);
  Trainer trainer(model.network(), &compile, TrainableFlags(*model.network()),
                  {.devices = devices, .batch_size = batch, .tower_size = batch / 4});
  trainer.bind(StepKind::kTrain, bind_data(*data, *model.network()));
  Loader loader(data, trainer.wanted(StepKind::kTrain), {.batch_size = batch});
  MetricTotals totals;
  for (int i = 0; i < 4; ++i) trainer.train_step(*loader.next(), totals);
  allocations = 0;
  is_counting = true;
  while (const Batch* next = loader.next()) trainer.train_step(*next, totals);
  is_counting = false;
  return allocations;
}

class Allocation : public testing::TestWithParam<const char*> {};

TEST_P(Allocation, NoneInAStep) {
  const Json optimizer = Json::parse(GetParam());
  for (const char* devices : {"cpu:1", "cpu:3"})
    EXPECT_EQ(allocations_of(optimizer, devices, 16), 0) << devices;
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, Allocation,
    testing::Values(R"({"class_name": "Adam", "config": {"clipnorm": 0.5, "use_ema": true}})",
                    R"({"class_name": "SGD", "config": {"momentum": 0.9, "global_clipnorm": 0.5}})",
                    R"({"class_name": "RMSprop", "config": {"gradient_accumulation_steps": 3}})"));

TEST(Allocation, IsCounted) {
  is_counting = true;
  const auto before = allocations.load();
  auto memory = std::make_unique<std::vector<int>>(1000);
  is_counting = false;
  EXPECT_GE(allocations - before, 2) << memory->size();
}

}  // namespace
}  // namespace lockstep
