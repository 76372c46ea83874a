#include "core/base/code_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace mycel {
namespace {

constexpr std::string_view kOwn = "mycel";
/// How the files of libraries begin whose results go into plans.
constexpr std::string_view kLibraries[] = {"libm.so", "libstdc++.so", "libc++.so", "libClp.so", "libCoinUtils.so"};

constexpr size_t Padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

std::string Hex(const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

/// The build id among the notes of a segment; empty when there is none.
std::string IdInNotes(const unsigned char* notes, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const size_t name = sizeof header;
    const size_t id = name + Padded(header.n_namesz);
    const size_t end = id + Padded(header.n_descsz);
    if (end > bytes) break;
    const bool gnu = header.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (gnu && header.n_type == NT_GNU_BUILD_ID) return Hex(notes + id, header.n_descsz);
    notes += end;
    bytes -= end;
  }
  return {};
}

struct Search {
  uintptr_t own = 0;  // an address in Mycel's own code
  std::vector<std::string> lines;
};

int VisitObject(dl_phdr_info* info, size_t /*size*/, void* data) {
  Search& search = *static_cast<Search*>(data);
  std::string id;
  bool own = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.own >= begin && search.own < begin + segment.p_memsz) own = true;
    if (segment.p_type != PT_NOTE || !id.empty()) continue;
    // The loader's own account of what it mapped.
    id = IdInNotes(reinterpret_cast<const unsigned char*>(begin), segment.p_memsz);
  }
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const std::string_view library : kLibraries) {
    if (!own && file.starts_with(library)) search.lines.push_back(std::string(library) + " " + id);
  }
  if (own && !id.empty()) search.lines.push_back(std::string(kOwn) + " " + id);
  return 0;
}

std::string ReadCodeId() {
  Search search;
  search.own = reinterpret_cast<uintptr_t>(&VisitObject);
  dl_iterate_phdr(&VisitObject, &search);
  std::sort(search.lines.begin(), search.lines.end());
  const bool known = std::any_of(search.lines.begin(), search.lines.end(),
                                 [](const std::string& line) { return line.starts_with(kOwn); });
  std::string text;
  for (const std::string& line : search.lines) text += (text.empty() ? "" : ", ") + line;
  return known ? text : std::string();
}

}  // namespace

const std::string& CodeId() {
  static const std::string id = ReadCodeId();
  return id;
}

}  // namespace mycel
