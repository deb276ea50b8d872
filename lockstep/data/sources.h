// Datasets named on the command line: fashion-mnist, idx:DIR, FILE.npz.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lockstep/data/dataset.h"

namespace lockstep {

/// Which half of a source that has two (fashion-mnist, idx:DIR). An .npz has one.
enum class Part { kTrain, kTest };

/// fashion-mnist | idx:DIR | FILE.npz | images:DIR (refused for now). Throws NotFound naming what is
/// missing and where it comes from, DataLoss for damaged files, InvalidArgument for an unknown spelling.
DatasetPtr open_source(const std::string& spec, Part part);

/// Keys x/<input>, y/<output>, sample_weight/<output>, or x, y, sample_weight.
DatasetPtr open_npz(const std::filesystem::path& path);

/// Images as bytes delivered as value / 255 with a channel axis, labels as integers. `folder` holds
/// {train,t10k}-{images-idx3,labels-idx1}-ubyte, perhaps .gz.
DatasetPtr open_idx_folder(const std::filesystem::path& folder, Part part);

/// An IDX file's content: big-endian header (0, 0, type, rank, extents), then the elements.
/// Throws DataLoss naming `where` and the rule.
HostTensor parse_idx(std::string_view bytes, std::string_view where);

}  // namespace lockstep
