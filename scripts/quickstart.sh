#!/usr/bin/env bash
# From a fresh clone to a trained Keras model: installs, builds, trains one epoch of Fashion-MNIST
# on every core, evaluates, predicts and looks inside the file. Takes minutes, most of them the first build.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }
started=$SECONDS

step "1/4 Packages and build (a few minutes the first time)"
scripts/install_packages.sh
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --target lockstep_bin

out=build/quickstart
rm -rf "$out"
mkdir -p "$out"

step "2/4 Training: one epoch of Fashion-MNIST, 60,000 images, every core"
trained=$SECONDS
build/lockstep train zoo:mnist_cnn --data fashion-mnist --epochs 1 --batch-size 256 \
  --devices cpu --save "$out/mnist.keras" --run "$out/run"
echo "trained in $((SECONDS - trained)) s"

step "3/4 The test images, which it has not seen"
build/lockstep evaluate "$out/mnist.keras" --data fashion-mnist

step "4/4 Predictions for them, and the file itself: an ordinary Keras model"
build/lockstep predict "$out/mnist.keras" --data fashion-mnist --out "$out/predictions.npz"
build/lockstep inspect "$out/mnist.keras"

step "Done in $((SECONDS - started)) s. In Python: keras.models.load_model(\"$out/mnist.keras\")"
