#!/usr/bin/env bash
# From a fresh clone to a trained Keras model: installs, builds, trains one epoch of Fashion-MNIST
# on every core, stopped on the way and gone on with, evaluates, and looks inside the file. Takes
# minutes, most of them the first build.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }
started=$SECONDS

step "1/5 Packages and build (a few minutes the first time)"
scripts/install_packages.sh
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --target lockstep_bin

out=build/quickstart
rm -rf "$out"
mkdir -p "$out"

train=(build/lockstep train zoo:mnist_cnn --data fashion-mnist --epochs 1 --batch-size 256
  --run "$out/run" --resume --save "$out/mnist.keras")
step "2/5 Training: one epoch of Fashion-MNIST, 60,000 images, every core"
echo "${train[*]}"
trained=$SECONDS
# Somebody stops it after 15 seconds. A kill -9 would do as well.
timeout --signal=TERM 15 "${train[@]}" || [ $? -eq 124 ]

step "3/5 The same command again goes on, bit for bit as if nothing had happened"
"${train[@]}"
echo "trained in $((SECONDS - trained)) s"

step "4/5 The test images, which it has not seen"
build/lockstep evaluate "$out/mnist.keras" --data fashion-mnist

step "5/5 The file itself: an ordinary Keras model"
build/lockstep inspect "$out/mnist.keras"

step "Done in $((SECONDS - started)) s. In Python: keras.models.load_model(\"$out/mnist.keras\")"
