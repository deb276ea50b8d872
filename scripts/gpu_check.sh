#!/usr/bin/env bash
# Checks on a machine with GPUs what only they can show, and prints one table; 8 minutes at most.
#   scripts/gpu_check.sh [KIND]      cuda (the default), rocm, or xla_cpu to try the script itself
# Builds if needed, installs the kind's plugin if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-cuda}
steps=20
[ "$kind" = xla_cpu ] && steps=3 # the processor is slow at this
out=build/gpu_check
lockstep=build/lockstep
rows=()
failed=0

# note NAME RESULT SECONDS DETAIL
note() {
  rows+=("$(printf '%-44s %-6s %6s s  %s' "$1" "$2" "$3" "$4")")
  [ "$2" = ok ] || [ "$2" = "-" ] || failed=1
}

# check NAME COMMAND...: ok when the command succeeds; the last line it printed is the detail.
check() {
  local name=$1 started=$SECONDS result=ok
  shift
  timeout 150 bash -c 'set -euo pipefail; "$@"' check "$@" >"$out/log" 2>&1 || result=FAILED
  note "$name" "$result" $((SECONDS - started)) "$(tail -n 1 "$out/log" | cut -c1-100)"
}

if [ ! -x $lockstep ]; then
  scripts/install_packages.sh
  cmake --preset release --log-level=WARNING >/dev/null
fi
cmake --build --preset release --target lockstep_bin test_pjrt >/dev/null
if ! $lockstep devices | grep -Eq "^$kind +[1-9]"; then
  scripts/install_plugins.sh "$kind"
fi
count=$($lockstep devices | awk -v kind="$kind" '$1 == kind { print $2 }')
if [ "${count:-0}" -eq 0 ]; then
  $lockstep devices | grep "^$kind" >&2
  exit 5
fi
rm -rf "$out"
mkdir -p "$out"

train() { # DEVICES NAME OPTIONS...
  $lockstep train zoo:mnist_cnn --data fashion-mnist --batch-size 256 --tower-size 32 \
    --steps-per-epoch $steps --seed 7 --devices "$1" --save "$out/$2.keras" "${@:3}"
}

same() { # FILE FILE...
  for file in "${@:2}"; do
    cmp "$1" "$file"
  done
  echo "equal bits: $*"
}

agrees() { # losses on this kind and on the processor, step by step
  paste "$1" "$2" | awk '{ d = ($1 - $2) / $2; if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "largest relative difference of %d losses: %g\n", NR, worst; exit !(NR > 0 && worst < 1e-3) }'
}

resume() {
  # Stopped after some seconds, more than once if it is slow, then gone on with on one device twice.
  for _ in 1 2 3; do
    timeout --signal=KILL 8 $lockstep train zoo:mnist_cnn --data fashion-mnist --batch-size 256 \
      --tower-size 32 --steps-per-epoch $steps --seed 7 --epochs 3 --devices "$kind:0,0" --run "$out/run" \
      --resume --checkpoint-every 5 --save "$out/resumed.keras" || true
  done
  train "$kind:0,0" resumed --epochs 3 --run "$out/run" --resume --checkpoint-every 5
}

export -f train same agrees resume
export kind out lockstep steps
[ "$kind" = xla_cpu ] && one="xla_cpu:1" || one="$kind:0"
check "ops, forward and gradient" env LOCKSTEP_TEST_KIND="$kind" build/tests/test_pjrt \
  --gtest_brief=1 --gtest_filter='Ops/*'
check "seed network, $steps steps, one device" train "$one" one --losses "$out/one.txt"
check "the same again" train "$one" again
check "run to run" same "$out/one.keras" "$out/again.keras"
check "one device twice" train "$kind:0,0" two
check "one device three times" train "$kind:0,0,0" three
check "any number of devices" same "$out/one.keras" "$out/two.keras" "$out/three.keras"
for ((n = 2; n <= count && n <= 8; n *= 2)); do
  check "$n devices" train "$kind:0-$((n - 1))" "n$n"
  check "$n devices: bits" same "$out/one.keras" "$out/n$n.keras"
done
check "the processor, $steps steps" train cpu cpu --losses "$out/cpu.txt"
check "losses agree with the processor" agrees "$out/one.txt" "$out/cpu.txt"
check "three epochs" train "$one" whole --epochs 3
check "the same, killed and resumed" resume
check "resume: bits" same "$out/whole.keras" "$out/resumed.keras"

for batch in 256 2048; do
  check "bench, batch $batch" $lockstep bench zoo:mnist_cnn --batch-size $batch --devices "$one" --steps $((steps + 10))
done
peer='
import sys, time, torch, torch.nn as nn
if not torch.cuda.is_available(): sys.exit("no GPU for PyTorch")
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.SELU(), nn.Dropout(0.3), nn.Conv2d(16, 32, 3), nn.SELU(),
  nn.Dropout(0.3), nn.Conv2d(32, 64, 3), nn.SELU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(30976, 10)).cuda()
adam, loss = torch.optim.Adam(net.parameters()), nn.CrossEntropyLoss()
for batch in (256, 2048):
  x, y = torch.rand(batch, 1, 28, 28, device="cuda"), torch.randint(10, (batch,), device="cuda")
  for step in range(40):
    if step == 10: torch.cuda.synchronize(); start = time.time()
    adam.zero_grad(); loss(net(x), y).backward(); adam.step()
  torch.cuda.synchronize()
  print(f"batch {batch}: {30 * batch / (time.time() - start):.0f} samples/s", end="; ")
'
if python3 -c 'import torch' 2>/dev/null; then
  check "PyTorch beside it" python3 -c "$peer"
else
  note "PyTorch beside it" - 0 "not installed"
fi

printf '\n%s on %s\n' "$kind" "$($lockstep devices | grep "^$kind " | cut -c1-120)"
printf '%s\n' "${rows[@]}"
exit $failed
