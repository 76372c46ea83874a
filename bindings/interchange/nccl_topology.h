// NCCL's and RCCL's topology files (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): the servers they describe.
//
//   <system version="1">
//     <cpu numaid="0" ...>                                       one a NUMA node; of several hosts by host_hash
//       <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
//         <pci busid="0000:1b:00.0" class="0x030200" ...>
//           <gpu dev="0" sm="90" rank="0">
//             <nvlink target="0000:05:00.0" count="5" tclass="0x068000"/>     AMD: <xgmi .../>
//         <pci busid="0000:18:00.0" class="0x020700" ...>
//           <nic><net name="mlx5_0" dev="0" speed="400000" port="1" .../></nic>
//
// What a topology does not need is passed over, attributes in silence and elements with a note, since every version of
// NCCL adds some. The reader trusts nothing: at most 16 MiB, 32 levels, 4096 GPUs. Errors read "FILE:LINE: <element>:
// attribute ...".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "transport/discover/machine.h"

namespace mycel {

struct NcclTopology {
  /// By lowest rank; the GPUs of each by rank, or by `dev` where the file gives no ranks.
  std::vector<Machine> servers;
  std::vector<std::string> notes;  // sentences
};

/// Speeds of NVLinks and xGMI links follow from the GPU's generation (`sm`, `gcn`) and are nominal. A file without
/// <gpu> (clouds give such to NCCL_TOPO_FILE) has its GPUs where the PCI class says so, and no links between them.
/// InvalidArgument: not such a file. InvalidUsage: built without pugixml. `file` is only for messages.
StatusOr<NcclTopology> ReadNcclTopology(std::string_view text, const std::string& file);

inline constexpr int64_t kNcclTopologyBytesMax = int64_t{16} << 20;

}  // namespace mycel
