// Datasets named on the command line: fashion-mnist, idx:DIR, FILE.npz.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/data/dataset.h"

namespace lockstep {

/// Which half of a source that has two (fashion-mnist, idx:DIR). An .npz has one.
enum class Part { kTrain, kTest };

/// fashion-mnist | idx:DIR | FILE.npz | images:DIR (refused). Throws NotFound naming what is
/// missing and where it comes from, DataLoss for damaged files, InvalidArgument for an unknown
/// spelling.
DatasetPtr open_source(const std::string& spec, Part part);

/// Fashion-MNIST as `open_idx_folder` delivers it: x ui8[28,28,1] / 255, y ui8[]. `folder` is where
/// Debian's package dataset-fashion-mnist puts it.
DatasetPtr open_fashion_mnist(
    Part part, const std::filesystem::path& folder = "/usr/share/datasets/fashion-mnist");

/// `folder` holds {train,t10k}-{images-idx3,labels-idx1}-ubyte, perhaps with .gz. Images of rank 3
/// get a channel axis; images kept as bytes are delivered as float(value) / 255. Labels are
/// integers.
DatasetPtr open_idx_folder(const std::filesystem::path& folder, Part part);

/// Arrays with the keys x/<input>, y/<output>, sample_weight/<output>, or x, y, sample_weight, of
/// any type that `parse_npy` reads. Throws InvalidArgument naming a key that is none of these, and
/// keys whose numbers of samples differ.
DatasetPtr open_npz(const std::filesystem::path& path);

}  // namespace lockstep
