// The update on devices with a memory of their own: each updates the pieces it owns, slots never
// leave their owner, new weights are copied to all.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/towers/resident_variables.h"
#include "lockstep/train/update.h"

namespace lockstep {

/// The gradients of `layout` in pieces of at most 2^20 elements, cut at multiples of that inside
/// each variable; one with a constraint is never cut. Owners follow each other, with about equal
/// shares.
std::vector<SumPiece> cut_pieces(const StepLayout& layout, int devices);

class ResidentUpdate final : public Update, public ResidentPhases {
 public:
  /// `host` is the same variables in host memory, read when averages are applied.
  ResidentUpdate(const DeviceMemory& memory, int devices, const StepLayout& layout,
                 OptimizerPtr optimizer, VariableSpace& host, ResidentVariables& variables);
  ~ResidentUpdate() override;

  void set_scalars(const UpdateScalars& scalars) override { scalars_ = scalars; }
  bool is_whole() const override { return updating_ == 0; }
  int phase_count() const override { return 3; }  // prepare; apply and join; publish
  void run_phase(int phase, int device, std::span<const DeviceTensorPtr> pieces,
                 const DeviceTensorPtr& tail) override;

  float penalty() override;
  void apply_averages() override;
  std::vector<OptimizerVariable> save() override;
  void load(const std::vector<OptimizerVariable>& saved) override;

 private:
  struct Piece;
  struct DeviceState;
  struct Variant;

  bool needs_norms() const;
  bool is_update_step() const;
  Variant variant() const;
  const std::shared_ptr<DeviceProgram>& prepare_program(Piece& piece, const Variant& variant);
  const std::shared_ptr<DeviceProgram>& apply_program(Piece& piece, const Variant& variant);
  std::shared_ptr<DeviceProgram> make_prepare_program(const Piece& piece, const Variant& variant);
  std::shared_ptr<DeviceProgram> make_apply_program(const Piece& piece, const Variant& variant);
  void compile_publication();
  void compile_moving_averages();
  void prepare(int device, std::span<const DeviceTensorPtr> gradients);
  void apply(int device, const DeviceTensorPtr& tail);
  void publish(int device);
  void upload_tensors(int device);
  void download_tensors();
  float squared_norm(int variable);
  DeviceTensorPtr scalar(int device, float value);

  const DeviceMemory& memory_;
  const StepLayout& layout_;
  OptimizerPtr optimizer_;
  VariableSpace& host_;
  ResidentVariables& variables_;
  OptimizerTensors tensors_;  // as last saved or loaded
  std::vector<Piece> pieces_;
  std::vector<int> first_block_;  // of each variable
  std::vector<DeviceState> devices_;
  std::vector<float> squares_, penalties_;  // of each block of 4,096 elements
  std::shared_ptr<DeviceProgram> moving_, unpack_;
  std::vector<std::shared_ptr<DeviceProgram>> join_;  // of each owner
  UpdateScalars scalars_;
  std::atomic<int> updating_{0};  // devices that have begun and not ended
};

}  // namespace lockstep
