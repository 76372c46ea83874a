// A source file as the tidy rules see it: its lines, the same lines with comments and literals blanked out, its include
// lines and its functions. A light reading of C++, not a parser: good enough to count lines and find words in code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mycel::tidy {

struct Include {
  std::string path;
  bool quoted = false;  // "x" rather than <x>
  size_t line = 0;      // from 1
};

struct Function {
  std::string name;
  size_t line = 0;   // from 1
  size_t lines = 0;  // from its head to its closing brace
};

struct SourceFile {
  std::string path;                // from the repository root, with '/'
  std::vector<std::string> lines;  // as they are
  std::vector<std::string> code;   // comments, literals and preprocessor lines blanked with spaces; for C-like files
  std::vector<Include> includes;   // for C-like files
  std::vector<Function> functions;

  bool IsHeader() const { return path.ends_with(".h"); }
  /// C, C++, CUDA or HIP text, .def tables included.
  bool IsCode() const;
  /// Unit tests beside the code and the suites of tests/.
  bool IsTest() const;
  std::string_view Folder() const;    // "core/base"
  std::string_view FileName() const;  // "env.cc"
  /// The n-th part of the path, or empty: Part(0) of core/base/env.cc is "core".
  std::string_view Part(size_t n) const;
};

using Tree = std::vector<SourceFile>;

/// Reads `text` as the contents of `path`.
SourceFile ReadSource(std::string path, std::string_view text);

/// All files of the repository that people write: the top-level folders (hidden ones and build* left out) and the
/// top-level files. Sorted by path.
Tree ReadTree(const std::string& root);

/// Where `word` stands in `text` with no identifier character on either side; npos when nowhere at or after `from`.
size_t FindWord(std::string_view text, std::string_view word, size_t from = 0);

}  // namespace mycel::tidy
