// Datasets named on the command line: fashion-mnist, idx:DIR, npy:DIR, FILE.npz.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/data/dataset.h"

namespace lockstep {

/// Which half of a source that has two (fashion-mnist, idx:DIR). The others have one.
enum class Part { kTrain, kTest };

/// fashion-mnist | idx:DIR | npy:DIR | FILE.npz | images:DIR (refused). Throws NotFound naming what
/// is missing and where it comes from, DataLoss for damaged files, InvalidArgument for an unknown
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

/// Data larger than memory: a folder with x.npy, y.npy and sample_weight.npy, or x/<input>.npy,
/// y/<output>.npy and sample_weight/<output>.npy, [samples, ...] each, of any type that `parse_npy`
/// reads. Files of other kinds are passed over.
///
/// The files are mapped and their rows converted when they are read, to the same values as
/// `open_npz` gives; about 32 MiB a file count as the process's memory. A file must not shrink
/// while the dataset lives: that ends the process with SIGBUS (formats/mapped_file.h).
///
/// Throws NotFound without the folder; DataLoss when a file is not exactly as long as its header
/// says; Unsupported for an array in Fortran order, whose rows are scattered over the file;
/// InvalidArgument naming a .npy file that is none of these, and files whose numbers of samples
/// differ. A u8 element of 2^63 or more is found when its row is read: Unsupported.
DatasetPtr open_npy_folder(const std::filesystem::path& folder);

}  // namespace lockstep
