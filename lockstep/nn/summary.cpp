// Network::summary: the table Keras prints.
#include <algorithm>
#include <array>

#include "lockstep/nn/network.h"

namespace lockstep {
namespace {

using Cells = std::vector<std::string>;

std::string shape_text(const Shape& shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(extent < 0 ? "None" : fmt::format("{}", extent));
  return fmt::format("({}{})", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
}

std::string shapes_text(const std::vector<TensorSpec>& specs) {
  if (specs.size() == 1) return shape_text(specs[0].shape);
  std::vector<std::string> shapes;
  for (const TensorSpec& spec : specs) shapes.push_back(shape_text(spec.shape));
  return fmt::format("[{}]", fmt::join(shapes, ", "));
}

/// 1,234,567.
std::string with_commas(int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array kUnits{"B", "KB", "MB", "GB", "TB", "PB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.2f} {}", size, kUnits[unit]);
}

int64_t element_count(const std::vector<VariablePtr>& variables) {
  int64_t count = 0;
  for (const VariablePtr& variable : variables) count += variable->size();
  return count;
}

/// Columns on screen: UTF-8 continuation bytes take none.
size_t display_width(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

/// First `columns` columns of a text.
size_t bytes_of_columns(std::string_view text, size_t columns) {
  size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (begins && columns-- == 0) break;
  }
  return bytes;
}

/// Lines of at most `width` columns, broken at spaces where there are any.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (display_width(text) > width) {
    const size_t limit = bytes_of_columns(text, width);
    size_t cut = text.rfind(' ', limit);
    if (cut == std::string_view::npos || cut == 0) cut = limit;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

/// The box-drawing table: heavy lines around the head, light ones between rows.
class Table {
 public:
  Table(Cells head, std::vector<size_t> widths, size_t right_aligned)
      : widths_(std::move(widths)), right_aligned_(right_aligned) {
    rule("┏", "━", "┳", "┓");
    row(head, "┃");
    rule("┡", "━", "╇", "┩");
  }

  void add(const Cells& cells) {
    if (has_rows_) rule("├", "─", "┼", "┤");
    row(cells, "│");
    has_rows_ = true;
  }

  std::string finish() && {
    rule("└", "─", "┴", "┘");
    return std::move(text_);
  }

 private:
  void rule(const char* left, const char* line, const char* cross, const char* right) {
    text_ += left;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) text_ += cross;
      for (size_t column = 0; column < widths_[i] + 2; ++column) text_ += line;
    }
    text_ += right;
    text_ += '\n';
  }

  void row(const Cells& cells, const char* border) {
    std::vector<std::vector<std::string>> columns;
    size_t height = 0;
    for (size_t i = 0; i < cells.size(); ++i) {
      columns.push_back(wrapped(cells[i], widths_[i]));
      height = std::max(height, columns.back().size());
    }
    for (size_t line = 0; line < height; ++line) {
      for (size_t i = 0; i < columns.size(); ++i) {
        const std::string cell = line < columns[i].size() ? columns[i][line] : "";
        const std::string space(widths_[i] - display_width(cell), ' ');
        text_ += fmt::format("{} {} ", border, i == right_aligned_ ? space + cell : cell + space);
      }
      text_ += border;
      text_ += '\n';
    }
  }

  std::vector<size_t> widths_;
  size_t right_aligned_;
  bool has_rows_ = false;
  std::string text_;
};

/// Widths of the cells' texts in a table of `width` columns. What borders and padding take, Keras's
/// table (rich) takes from all cells alike, and the odd column from the last but one.
std::vector<size_t> column_widths(const std::vector<double>& ends, int width) {
  std::vector<size_t> widths;
  int begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const int end = static_cast<int>(ends[i] * width);
    const int taken = i + 2 == ends.size() ? 4 : 3;
    widths.push_back(static_cast<size_t>(std::max(end - begin - taken, 4)));
    begin = end;
  }
  return widths;
}

/// Each call takes the result of the one before it, and no layer is called twice.
bool is_chain(const Network& network) {
  if (network.kind() == Network::Kind::kSequential) return true;
  if (network.inputs().size() != 1) return false;
  const LayerCall* last = network.inputs()[0].producer.get();
  for (const auto& call : network.calls()) {
    if (call->inputs.size() != 1 || call->inputs[0].producer.get() != last) return false;
    if (network.node_index(*call) != 0) return false;
    last = call.get();
  }
  return true;
}

/// "dense[0][0], dense_1[0][0]".
std::string connections(const Network& network, const Layer& layer) {
  std::vector<std::string> sources;
  for (const auto& call : network.calls()) {
    if (call->layer.get() != &layer) continue;
    for (const Tensor& input : call->inputs)
      sources.push_back(fmt::format("{}[{}][{}]", input.producer->layer->name(),
                                    network.node_index(*input.producer), input.index));
  }
  return sources.empty() ? "-" : fmt::format("{}", fmt::join(sources, ", "));
}

/// Of the layer's last call in this network, as in Keras.
std::string output_shape(const Network& network, const Layer& layer) {
  std::string text = "?";
  for (const Tensor& input : network.inputs())
    if (input.producer->layer.get() == &layer) text = shapes_text(input.producer->outputs);
  for (const auto& call : network.calls())
    if (call->layer.get() == &layer) text = shapes_text(call->outputs);
  return text;
}

std::string count_line(std::string_view what, const std::vector<VariablePtr>& variables) {
  int64_t count = 0, bytes = 0;
  for (const VariablePtr& variable : variables) {
    count += variable->size();
    bytes += variable->size() * static_cast<int64_t>(byte_size(variable->dtype));
  }
  return fmt::format(" {} params: {} ({})\n", what, with_commas(count), bytes_text(bytes));
}

}  // namespace

std::string Network::summary(int width) const {
  const bool chain = is_chain(*this);
  Cells head{"Layer (type)", "Output Shape", "Param #"};
  if (!chain) head.push_back("Connected to");
  const auto ends = chain ? std::vector{0.45, 0.80, 1.0} : std::vector{0.30, 0.56, 0.74, 1.0};
  Table table(head, column_widths(ends, width), /*right_aligned=*/2);
  for (const LayerPtr& layer : layers_) {
    Cells cells{fmt::format("{} ({})", layer->name(), layer->class_name()),
                output_shape(*this, *layer), with_commas(element_count(layer->all_variables()))};
    if (!chain) cells.push_back(connections(*this, *layer));
    table.add(cells);
  }
  const std::vector<VariablePtr> all = all_variables(), trainable = trainable_variables();
  std::vector<VariablePtr> others;
  for (const VariablePtr& variable : all)
    if (std::find(trainable.begin(), trainable.end(), variable) == trainable.end())
      others.push_back(variable);
  return fmt::format("Model: \"{}\"\n{}{}{}{}", name(), std::move(table).finish(),
                     count_line("Total", all), count_line("Trainable", trainable),
                     count_line("Non-trainable", others));
}

}  // namespace lockstep
