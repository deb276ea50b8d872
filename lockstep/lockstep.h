// The public API: models, layers, data, training and files. Namespace `lockstep`.
#pragma once

#include "lockstep/backend/devices.h"
#include "lockstep/base/error.h"
#include "lockstep/data/batches.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/sources.h"
#include "lockstep/nn/layers/activations.h"
#include "lockstep/nn/layers/convolution.h"
#include "lockstep/nn/layers/dense.h"
#include "lockstep/nn/layers/input.h"
#include "lockstep/nn/layers/merging.h"
#include "lockstep/nn/layers/normalization.h"
#include "lockstep/nn/layers/pooling.h"
#include "lockstep/nn/layers/regularization.h"
#include "lockstep/nn/layers/reshaping.h"
#include "lockstep/nn/layers/upsampling.h"
#include "lockstep/nn/loss.h"
#include "lockstep/nn/metric.h"
#include "lockstep/nn/optimizer.h"
#include "lockstep/nn/schedule.h"
#include "lockstep/train/callbacks.h"
#include "lockstep/train/gan.h"
#include "lockstep/train/model.h"
#include "lockstep/train/run.h"

// tools/check_house.py holds these to the version of CMakeLists.txt.
#define LOCKSTEP_VERSION_MAJOR 0
#define LOCKSTEP_VERSION_MINOR 1
#define LOCKSTEP_VERSION_PATCH 0
